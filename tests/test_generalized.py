"""The experiment on seven databases: kernel passes against the plain expansion, protocol, and verdicts."""

import numpy as np
import pandas as pd
import pytest

import oracles
from pa_lab.study import generalized as gen
from pa_lab.study.published import load_table


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(40) > 0, 1, -1)


@pytest.mark.parametrize("method", gen.METHODS)
def test_batches_of_one_are_kernel_pa_with_a_constant(toy, method):
    X, y = toy
    train, test = gen.splits(40, 1)[0]

    def k(a, b):
        return np.exp(-np.sum((a - b) ** 2) / (2 * 1.5**2)) + 1

    plain = oracles.pa_kernel(k, X[train], y[train], gen.METHODS[method], 0.7)
    K = gen.rbf(gen.pdist(X, "sqeuclidean"), 1.5)
    trace, w = gen.kernel_pass(K, y, train, method, 0.7, 1)
    np.testing.assert_allclose(trace[:, 0], plain["scores"], atol=1e-10)
    scores = [sum(a * k(X[train[i]], X[j]) for i, a in zip(plain["support"], plain["coef"], strict=True)) for j in test]
    np.testing.assert_allclose(gen.predict(K, test, w), scores, atol=1e-10)


def test_error_path_follows_the_hypothesis_in_force(toy):
    X, y = toy
    train, test = gen.splits(40, 1)[0]
    K = gen.rbf(gen.pdist(X, "sqeuclidean"), 1.0)
    trace, _ = gen.kernel_pass(K, y, train, "BPAI", 1.0, 4)
    path = gen.error_path(K, y, y, train, test, trace[:, 1], 4)
    for seen in (1, 3, 4, 7, 13, 29, 30):
        learnt = 30 if seen == 30 else seen // 4 * 4
        w = gen.kernel_pass(K, y, train[:learnt], "BPAI", 1.0, 4)[1] if learnt else np.zeros(41)
        assert path[seen - 1] == pytest.approx(gen.wrong(gen.predict(K, test, w), y[test]).mean())


def test_a_pass_over_no_row_is_refused():
    with pytest.raises(ValueError, match="order must name at least one row"):
        gen.kernel_pass(np.eye(2), np.array([1, -1]), np.array([], int), "BPAI", 1.0, 1)


def test_protocol_tunes_and_tries(toy):
    X, y = toy
    subsamples = [rows for rows, _ in gen.splits(40, 2, seed=1)]
    best = gen.tune(X, y, subsamples, methods=("BPAI",), batches=(2,), Cs=[0.01, 1.0], sigmas=[0.1, 1.0])
    errors = {}
    for C in (0.01, 1.0):
        for sigma in (0.1, 1.0):
            K = gen.rbf(gen.pdist(X, "sqeuclidean"), sigma)
            runs = [
                gen.wrong(gen.kernel_pass(K, y, rows, "BPAI", C, 2)[0][:, 0], y[rows]).mean() for rows in subsamples
            ]
            errors[C, sigma] = np.mean(runs)
    assert best.error[0] == pytest.approx(min(errors.values()))
    assert errors[best.C[0], best.sigma[0]] == pytest.approx(min(errors.values()))
    runs = gen.trials(X, y, best, gen.splits(40, 3), flips=(0.0, 0.2), paths=True)
    assert len(runs) == 6
    assert (runs.curve.map(len) == 30).all()
    assert not np.array_equal(*runs[runs.trial == 0].curve)


@pytest.mark.parametrize("how", gen.SCALINGS)
def test_scalings(how):
    X = np.array([[0.0, 1.0, 7.0], [4.0, 3.0, 7.0], [8.0, 2.0, 7.0]])
    Z = gen.scaled(X, how)
    expected = {"none": X[:, 0], "unit": [0, 0.5, 1], "standard": [-(1.5**0.5), 0, 1.5**0.5]}[how]
    np.testing.assert_allclose(Z[:, 0], expected)


def test_cells_are_marked_by_overlap():
    table = load_table("perez_suay_table2")
    ours = pd.DataFrame({"database": ["breast", "sonar"], "method": "BPAI", "B": 1, "test": [0.06, 0.30],
                         "test_high": [0.07, 0.31]})  # fmt: skip
    cells = gen.against_published(ours, table)
    assert cells.overlap.tolist() == [True, False]
    assert cells.theirs.tolist() == [6.56, 16.47]


def test_claims_are_computed_from_the_runs():
    """Errors made to fall with B, alike in BPAII and BPALS, and equal in test."""
    rng, rows = np.random.default_rng(0), []
    for trial in range(10):
        for method in gen.METHODS:
            for B in gen.BATCHES:
                online = 0.3 - 0.02 * np.log2(min(B, 8)) + (0.05 if method == "BPAI" else 0) + 1e-4 * rng.random()
                rows.append({"database": "a", "trial": trial, "method": method, "B": B, "online": online,
                             "test": 0.2 + 1e-2 * rng.random()})  # fmt: skip
    runs = pd.DataFrame(rows)
    table = gen.claims(runs, {"a": (75, 25)}).set_index("claim")
    assert table.of.tolist() == [3, 3, 8, 36]
    assert table.verdict.tolist() == ["holds"] + ["not shown to differ"] * 3
    flat = gen.claims(runs.assign(online=0.3 + 1e-3 * rng.random(len(runs))), {"a": (75, 25)})
    assert flat.verdict[0] == "does not hold"
    apart = gen.claims(runs.assign(test=runs.test + 0.1 * runs.B), {"a": (75, 25)})
    assert apart.verdict[3] == "refuted"
