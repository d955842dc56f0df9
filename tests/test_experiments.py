"""`pa_lab.study`: scores, statistics and sweeps against independent computations."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import Bunch

from pa_lab import PAClassifier
from pa_lab.study import experiments
from pa_lab.study.experiments import flip_labels, grid, sweep
from pa_lab.study.standin import misfire_blocks


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(400) < 0.3, 1, -1)
    return rng.standard_normal((400, 4)) + 0.6 * y[:, None], y


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", [SVC(kernel="linear"), LinearSVC(), PAClassifier()])
def test_decisions_from_the_weights_are_the_models_own(rows, model, as_rows):
    X, y = as_rows(rows[0]), rows[1]
    fitted = clone(model).fit(X, y)
    np.testing.assert_allclose(experiments.decision_values(fitted, X), fitted.decision_function(X), atol=1e-9)


# ---------------------------------------------------------------- label noise


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=80), st.floats(0, 1), st.sampled_from([None, -1, 1]))
def test_flips_touch_the_right_rows_and_as_many_as_asked(labels, rate, among):
    y = np.array(labels)
    before = y.copy()
    flipped = flip_labels(y, rate, np.random.default_rng(0), among)
    changed = flipped != y
    candidates = np.ones(len(y), bool) if among is None else y == among
    assert (y == before).all(), "the input was changed"
    assert set(np.abs(flipped)) == {1}
    assert changed.sum() == round(rate * candidates.sum())
    assert not (changed & ~candidates).any()
    assert (flipped == flip_labels(y, rate, np.random.default_rng(0), among)).all(), "the draw is not the seed's alone"


def test_rows_are_flipped_in_proportion_to_their_weights():
    y, weight = np.tile([1, -1], 2), np.array([3.0, 5.0, 1.0, 0.0])
    either = [flip_labels(y, 0.25, np.random.default_rng(seed), weight=weight) != y for seed in range(2000)]
    assert np.abs(np.mean(either, axis=0) - weight / 9).max() < 0.05
    positive = [flip_labels(y, 0.5, np.random.default_rng(seed), 1, weight) != y for seed in range(2000)]
    assert np.abs(np.mean(positive, axis=0) - np.array([3, 0, 1, 0]) / 4).max() < 0.05


# ---------------------------------------------------------------- tuning and repetition

VALUES = [2.0**k for k in range(-6, 3, 2)]


def test_tuned_fits_are_fits_scored_on_the_other_rows(rows):
    X, y = rows
    fits = experiments.tuned_fits(LinearSVC(), [{"C": C} for C in VALUES], X[:300], y[:300], X[300:], y[300:])
    assert fits.C.tolist() == VALUES
    for C, fit in zip(VALUES, fits.itertuples(), strict=True):
        decision = LinearSVC(C=C).fit(X[:300], y[:300]).decision_function(X[300:])
        assert fit.auc == pytest.approx(sk.roc_auc_score(y[300:], decision))
        assert fit.f1 == pytest.approx(sk.f1_score(y[300:], np.where(decision > fit.threshold, 1, -1)))
        assert fit.f1 >= max(sk.f1_score(y[300:], np.where(decision >= cut, 1, -1)) for cut in decision)


def test_a_set_without_a_test_part_is_split_and_standardised_by_its_training_rows(rows):
    X, y = rows
    parts = experiments.train_and_test(Bunch(X=3 + 2 * X, y=y))
    assert [len(part) for part in parts] == [300, 300, 100, 100]
    assert parts[0].mean(axis=0) == pytest.approx(0) and parts[0].std(axis=0) == pytest.approx(1)
    whole = np.sort(np.concatenate([parts[0], parts[2]]), axis=0)
    shape = np.sort(X, axis=0)
    assert (whole - whole[0]) / (whole[-1] - whole[0]) == pytest.approx((shape - shape[0]) / (shape[-1] - shape[0]))


def test_a_test_part_that_is_there_is_only_shortened(rows):
    X, y = rows
    data = Bunch(X_train=X[:300], y_train=y[:300], X_test=X[300:], y_test=y[300:])
    X_train, y_train, X_test, y_test = experiments.train_and_test(data, most=30)
    assert X_train is data.X_train and y_train is data.y_train
    found = [int(np.flatnonzero((data.X_test == row).all(axis=1))[0]) for row in X_test]
    assert len(set(found)) == 30 and (data.y_test[found] == y_test).all()
    assert len(experiments.draw(X, y, 1000, seed=0)[1]) == 400


def test_the_second_drive_tests_on_training_rows_that_are_not_learnt(rows):
    X, y = rows
    data = Bunch(X_train=X[:300], y_train=y[:300], X_test=X[300:], y_test=y[300:], name="any")
    drives = experiments.both_drives(data, seed=3)
    assert drives["test drive"] is data
    drive = drives["training drive"]
    where = [
        [int(np.flatnonzero((data.X_train == x).all(axis=1))[0]) for x in drive[f"X_{p}"]] for p in ("train", "test")
    ]
    assert [len(part) for part in where] == [240, 60] and sorted(where[0] + where[1]) == list(range(300))
    assert where[0] == sorted(where[0]) and drive.name == "any"
    for part, found in zip(("train", "test"), where, strict=True):
        assert (drive[f"y_{part}"] == y[found]).all()


def test_progressive_counts_are_those_of_one_fit(rows):
    X, y = rows
    frame = experiments.progressive(PAClassifier(), X, y, every=150)
    model = PAClassifier().fit(X, y)
    assert frame.seen.tolist() == [150, 300, 400]
    assert frame.iloc[-1].tolist() == [400, model.n_mistakes_, model.n_updates_, 400]


# ---------------------------------------------------------------- sweeps, also over a cluster


def one(C, seed, X, y):
    order = np.random.default_rng(seed).permutation(len(y))
    model = PAClassifier(C=C).fit(X[order], y[order])
    return [{"updates": model.n_updates_, "weight": w} for w in model.coef_[0]]


def a_sweep(rows, n_jobs):
    return sweep(one, grid(C=[0.1, 1.0], seed=range(3)), n_jobs, X=rows[0], y=rows[1])


def test_a_sweep_does_not_depend_on_the_number_of_processes(rows):
    pd.testing.assert_frame_equal(a_sweep(rows, 1), a_sweep(rows, 2), check_exact=True)
    assert a_sweep(rows, 1)[["C", "seed"]].drop_duplicates().values.tolist() == [
        [C, s] for C in (0.1, 1.0) for s in range(3)
    ]


@pytest.mark.parametrize("as_list", [False, True])
def test_a_result_may_not_overwrite_its_setting(as_list):
    def run(C):
        return [{"C": 2 * C}] if as_list else {"C": 2 * C}

    with pytest.raises(ValueError, match=r"run must not overwrite its setting: for {'C': 1.0} it returned C = 2.0"):
        sweep(run, grid(C=[1.0]), n_jobs=1)
    assert sweep(lambda C: {"C": C, "f1": 0.5}, grid(C=[1.0]), n_jobs=1).to_dict("records") == [{"C": 1.0, "f1": 0.5}]


# ---------------------------------------------------------------- against published runs, and at scale


def memory_of_a_stream(rows):
    """The most memory, in MB, that this process held while it learned a generated stream."""
    model = PAClassifier()
    for X, y in misfire_blocks(rows, block_rows=50_000):
        model.partial_fit(X, y, classes=[-1, 1])
    return experiments.peak_memory()


def test_a_stream_is_learned_in_constant_memory():
    few, many = (experiments.in_new_process(memory_of_a_stream, rows) for rows in (100_000, 1_000_000))
    assert many - few < 30  # the rows of the difference would take 158 MB


@given(st.integers(0, 2**32 - 1), st.floats(-8, 8))
def test_inner_products_of_dyadic_rows_are_exact(seed, power):
    X = np.random.default_rng(seed).normal(size=(5, 40)) * 10**power
    rows = experiments.dyadic(X)
    np.testing.assert_allclose(rows, X, atol=1e-7 * abs(X).max())
    exact = [[sum(Fraction(a) * Fraction(b) for a, b in zip(x, z, strict=True)) for z in rows] for x in rows]
    for order in (np.arange(40), np.random.default_rng(seed).permutation(40)):
        assert all(
            sum(x[order] * z[order]) == e
            for x, line in zip(rows, exact, strict=True)
            for z, e in zip(rows, line, strict=True)
        )


def test_a_slow_fit_does_not_depend_on_the_processor(tmp_path, monkeypatch):
    """The same bits whichever code BLAS picks: sums over dense rows would differ."""
    script = (
        "import numpy as np; from sklearn.svm import SVC; from pa_lab.study import experiments, metrics, statistics;"
        "rng = np.random.default_rng(0); X = rng.normal(size=(400, 30)); y = np.sign(X[:, 0] + rng.normal(size=400));"
        "print(experiments.cached_fit(SVC(kernel='linear'), X, y)[0].dual_coef_.tobytes().hex())"
    )
    said = set()
    for core in ("Prescott", "Haswell"):
        env = os.environ | {"PA_LAB_CACHE": str(tmp_path / core), "OPENBLAS_CORETYPE": core}
        said.add(
            subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
        )
    assert len(said) == 1 and len(said.pop()) > 100


def test_a_campaign_is_stored_checked_and_run_anew_where_its_settings_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments.store, "ROOT", tmp_path)
    calls = []

    def run(seed, factor=2.0):
        calls.append(seed)
        return {"value": factor * seed, "word": f"s{seed}", "seconds": float(len(calls))}

    def campaign(**options):
        calls.clear()
        return experiments.campaign("04_test", run, grid(seed=range(1, options.pop("n", 3) + 1)), **options)

    with pytest.raises(FileNotFoundError, match="make campaign NAME=04_test"):
        campaign()
    monkeypatch.setenv("PA_LAB_CAMPAIGN", "04_test")
    monkeypatch.setattr(
        experiments, "Parallel", lambda n_jobs, return_as: lambda jobs: (f(*a, **k) for f, a, k in jobs)
    )
    assert campaign()["value"].tolist() == [2.0, 4.0, 6.0] and calls == [1, 2, 3]
    monkeypatch.delenv("PA_LAB_CAMPAIGN")
    assert campaign()["word"].tolist() == ["s1", "s2", "s3"] and calls == [1]
    assert len(campaign(n=2)) == 2 and calls == [1, 2]
    with pytest.raises(ValueError, match=r"value of .* is"):
        campaign(factor=3.0)
