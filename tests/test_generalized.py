"""The experiment on seven databases: kernel passes against the plain expansion, protocol, and verdicts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

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

    k = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / (2 * 1.5**2)) + 1
    plain = oracles.pa_kernel(k[np.ix_(train, train)], y[train], gen.METHODS[method], 0.7)
    K = gen.rbf(gen.pdist(X, "sqeuclidean"), 1.5)
    trace, w = gen.kernel_pass(K, y, train, method, 0.7, 1)
    np.testing.assert_allclose(trace[:, 0], plain["scores"], atol=1e-10)
    scores = k[np.ix_(test, train[plain["support"]])] @ plain["coef"]
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
    data = {"toy": Bunch(X=X, y=y, subsamples=subsamples, parts=gen.splits(40, 3))}
    best = gen.tune(data, methods=("BPAI",), batches=(2,), Cs=[0.01, 1.0], sigmas=[0.1, 1.0])
    assert best[["database", "method", "B"]].values.tolist() == [["toy", "BPAI", 2]]
    errors = {}
    for C in (0.01, 1.0):
        for sigma in (0.1, 1.0):
            K = gen.rbf(gen.pdist(X, "sqeuclidean"), sigma)
            runs = [
                gen.wrong(gen.kernel_pass(K, y, rows, "BPAI", C, 2)[0][:, 0], y[rows]).mean() for rows in subsamples
            ]
            errors[C, sigma] = np.mean(runs)
    assert errors[best.C[0], best.sigma[0]] == pytest.approx(min(errors.values()))
    runs = gen.trials(data, pd.concat([best, best]), flips=(0.0, 0.2), paths=True)
    assert len(runs) == 6  # a setting that comes twice is run once
    assert (runs.curve.map(len) == 30).all()
    assert not np.array_equal(*runs[runs.trial == 0].curve)


def test_a_trial_is_a_pass_over_its_own_rows_of_its_own_database(toy):
    X, y = toy
    parts = gen.splits(40, 2)
    data = {"first": Bunch(X=X, y=y, parts=parts), "second": Bunch(X=2 * X, y=-y, parts=parts[::-1])}
    about = {"method": "BPAI", "B": 4, "C": 0.5, "sigma": 1.0}
    runs = gen.trials(data, pd.DataFrame([{"database": name} | about for name in data]))
    for name, found in runs.groupby("database"):
        K = gen.rbf(gen.pdist(data[name].X, "sqeuclidean"), 1.0)
        for run, (train, test) in zip(found.itertuples(), data[name].parts, strict=True):
            trace, w = gen.kernel_pass(K, data[name].y, train, "BPAI", 0.5, 4)
            assert run.online == gen.wrong(trace[:, 0], data[name].y[train]).mean()
            assert run.test == gen.wrong(gen.predict(K, test, w), data[name].y[test]).mean()


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


def test_stream_errors_count_the_mistakes_along_each_order(toy):
    X, y = toy
    orders = [np.arange(40), np.arange(40)[::-1]]
    runs = gen.stream_errors({"plain": X, "tenfold": 10 * X}, y, orders, batches=[1, 8], Cs=[0.1, 1.0])
    assert len(runs) == 2 * 2 * 3 * 2 * 2
    runs = runs[runs.kind == "plain"]
    one = runs[(runs.order == 1) & (runs.method == "BPAI") & (runs.B == 1) & (runs.C == 1.0)].online.item()
    constant = np.column_stack([X, np.ones(40)])[::-1]
    w, mistakes = np.zeros(4), 0
    for x, label in zip(constant, y[::-1], strict=True):
        p = w @ x
        mistakes += (p > 0) != (label > 0)
        w += min(1.0, max(0.0, 1 - label * p) / (x @ x)) * label * x
    assert one == pytest.approx(100 * mistakes / 40)
