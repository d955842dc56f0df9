"""Streams in their own order of time: what was known when, what is remembered, and what a late label is."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from pa_lab import KernelPAClassifier, PAClassifier
from pa_lab.study import store, streams, tuning
from pa_lab.study.experiments import progressive
from pa_lab.study.standin import drifting

PROJECT = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("PA_LAB_DATA") or PROJECT.parent / "shared" / "data")
REAL = (REAL if REAL.exists() else PROJECT / REAL).resolve()
needs_data = pytest.mark.skipif(not (REAL / "streams").exists(), reason="no streams: set PA_LAB_DATA")


@pytest.fixture
def stream():
    X, y = drifting(3000, 4, share=0.4, seed=2)
    return np.column_stack([X, np.ones(len(y))]), y


def test_a_block_is_scored_before_it_is_learned(stream):
    X, y = stream
    decision = progressive(PAClassifier(C=0.1), X, y, every=700, arrives=np.arange(len(y)))
    assert not decision[:700].any()
    for start in (700, 1400, 2100, 2800):
        model = PAClassifier(C=0.1).fit(X[:start], y[:start])
        np.testing.assert_allclose(decision[start : start + 700], model.decision_function(X[start : start + 700]))


def test_a_model_without_decision_function_is_scored_by_its_probabilities(stream):
    X, y = sparse.csr_matrix(np.abs(stream[0])), stream[1]
    decision = progressive(MultinomialNB(), X, y, every=1000, arrives=np.arange(len(y)))
    model = MultinomialNB().fit(X[:2000], y[:2000])
    assert np.array_equal(decision[2000:] > 0, model.predict(X[2000:]) == 1)


def test_late_labels_are_learnt_in_the_order_in_which_they_arrive(stream):
    """Against a loop over rows, with several rows at one time and some labels overtaking others."""
    X, y = stream[0][:200], stream[1][:200]
    times = np.arange(200) // 3
    arrives = times + np.random.default_rng(1).integers(0, 40, 200)
    decision = progressive(PAClassifier(C=0.1), X, y, every=1, arrives=arrives, times=times)
    model, order, done = PAClassifier(C=0.1), np.argsort(arrives, kind="stable"), 0
    for t in range(200):
        while arrives[order[done]] < times[t]:
            model.partial_fit(X[[order[done]]], y[[order[done]]], classes=[-1, 1])
            done += 1
        assert decision[t] == pytest.approx(model.decision_function(X[[t]])[0] if done else 0.0, abs=1e-12)
    assert 100 < done < 200
    with pytest.raises(ValueError, match="no label may arrive before its row"):
        progressive(PAClassifier(), X, y, arrives=times - 1, times=times)


def test_weights_before_a_row_are_those_of_the_rows_until_then(stream):
    X, y = stream
    W = streams.weights_before(0.05, X, y)
    assert W.shape == X.shape and not W[0].any()
    for t in (1, 2, 50, 2999):
        model = PAClassifier(C=0.05, fit_intercept=False).fit(X[:t], y[:t]) if len(set(y[:t])) > 1 else None
        if model:
            np.testing.assert_allclose(W[t], model.coef_[0], atol=1e-12)


@pytest.mark.parametrize("delay", [0, 3])
def test_late_weights_have_seen_no_label_of_the_last_rows(stream, delay):
    X, y = stream
    t = 1500
    changed = y.copy()
    changed[t - delay :] *= -1
    first, second = (streams.late(streams.weights_before(0.1, X, labels), delay)[t] for labels in (y, changed))
    assert np.array_equal(first, second)
    assert not np.array_equal(*(streams.late(streams.weights_before(0.1, X, v), delay)[t + 1] for v in (y, changed)))


def test_votes_are_those_of_the_last_rows():
    labels = np.random.default_rng(0).choice([-1, 1], 50)
    expected = [labels[max(0, t - 6) : t + 1].sum() for t in range(50)]
    assert streams.votes(labels, 7).tolist() == expected


def test_errors_are_counted_where_they_are_said_to_be():
    y, decision = np.ones(1000), np.ones(1000)
    decision[:100] = -1  # no part of either
    decision[150:160] = -1
    decision[500:540] = 0  # a score of 0 counts as -1
    assert streams.errors(decision, y) == {"early": 10.0, "error": 5.0}
    blocks = streams.by_block(decision, y, rows=300)
    np.testing.assert_allclose(blocks, [0, 40 / 3])


def test_a_large_cap_forgets_faster(stream):
    X, y = stream
    lives = [streams.half_life(streams.weights_before(C, X, y), X, y) for C in (0.02, 0.2, 10.0)]
    assert lives[0] > lives[1] >= lives[2] >= 1
    assert np.isnan(streams.half_life(np.zeros_like(X), X, y))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_refitted_model_knows_the_last_rows_whose_labels_have_come(stream, form):
    (X, y), passes = stream, {"C": 0.1, "max_iter": 3, "shuffle": True, "random_state": 0}
    for model in (LogisticRegression(C=10.0, solver="newton-cholesky"), PAClassifier(**passes)):
        refitted = streams.Refitted(model, window=400, every=50)
        decision = progressive(refitted, form(X), y, 50, np.arange(len(y)) + 30)
        for start in (100, 1050):  # it starts with what there is
            last = slice(max(0, start - 30 - 400), start - 30)
            expected = clone(model).fit(form(X[last]), y[last]).decision_function(X[start : start + 50])
            np.testing.assert_allclose(decision[start : start + 50], expected, rtol=1e-6)
        assert np.array_equal(refitted.predict(X[:9]) > 0, refitted.decision_function(X[:9]) > 0)
    alone = streams.Refitted(PAClassifier()).partial_fit(X[:20], np.ones(20, int))
    assert (alone.predict(X[:3]) == 1).all() and not alone.decision_function(X[:3]).any()
    with pytest.raises(ValueError, match="inconsistent"):
        alone.partial_fit(X[:20], np.ones(19, int))


def test_every_learner_has_a_score_and_every_choice_where_its_setting_is_chosen():
    """A kernel learner learns from the first label on; far from its vectors its score is 0."""
    for name in ("ijcnn1", "electricity", "newswire"):
        tried = pd.concat([store.load_campaign(f"09_{part}{name}") for part in ("", "more_")])
        kernel = tried["learner"].str.startswith("kernel")
        picked = tuning.best(tried, ["case", "learner"], "early")
        assert not tried[~kernel]["silent"].any() and (picked["silent"] < 0.1).all()
        rows, learners = tried.groupby(["case", "delay"]), tried["learner"].nunique()
        assert (rows["share"].nunique() == 1).all()  # the same rows for each
        assert (rows["learner"].nunique() == learners).all() and learners >= 14
        weighted = tried[tried["learner"].isin(["PA, last", "PA, mean", "PA, half-life", "SGD", "SGD, mean"])]
        assert (weighted.groupby(["case", "learner"])["r"].nunique() == 2).all()  # both weights of the rare class
        neighbours = tried[tried["learner"].isin(["AROW", "SCW-I", "CW", "NHERD", "ALMA"])]
        assert (neighbours.groupby(["case", "learner"])["average"].nunique() == 2).all()  # last and mean weights
    for name in ("electricity", "newswire"):
        sooner = store.load_campaign(f"09_sooner_{name}")
        assert not sooner["silent"].any() and (sooner.groupby(["case", "delay"])["share"].nunique() == 1).all()


def test_a_row_is_scaled_by_the_rows_before_it_alone():
    """Against a loop over rows, with columns far from 0, one that is constant at first, and an outlier."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1, 1e-3, 10, 1] + [0, 0.1, 1e3, -0.1]
    X[:200, 3], X[50, 0] = 0.3, 1e3
    found = streams.scaled_so_far(X, cut=3.0)
    for t, row in enumerate(X):
        for j, value in enumerate(row):
            before = X[:t, j]
            if len(set(before)) < 2:
                assert found[t, j] == 0  # it has not varied yet
            else:
                score = (value - before.mean()) / before.std()
                assert found[t, j] == pytest.approx(min(max(score, -3), 3), rel=1e-6, abs=1e-9)
    assert np.abs(found).max() == 3 and np.abs(streams.scaled_so_far(X)).max() == 5
    assert np.array_equal(streams.scaled_so_far(X[:250], cut=3.0), found[:250])


@needs_data
@pytest.mark.parametrize(("name", "no_change"), [("electricity", 14.67), ("weather", 31.97)])
def test_prepared_streams(name, no_change, monkeypatch):
    monkeypatch.setenv("PA_LAB_DATA", str(REAL))
    X, y = streams.prepared(name)
    assert (X[:, -1] == 1).all() and np.abs(X).max() <= 5 and set(y) == {-1, 1}
    assert 100 * np.mean(y[1:] != y[:-1]) == pytest.approx(no_change, abs=0.01)  # as published for Electricity
    if name == "weather":
        assert (np.abs(X[:365, :-1].mean(axis=0)) < 0.01).all()
    else:
        assert not X[:17_000, 3:6].any() and (np.abs(np.log2(X[17_500:, :-1].std(axis=0))) < 1).all()
        unscaled, same = streams.prepared("electricity, unscaled")
        assert unscaled.min() == 0 and unscaled.max() == 1 and np.array_equal(y, same)


def test_reading_the_newswire_is_measured(monkeypatch):
    monkeypatch.setenv("PA_LAB_STAND_IN", "1")
    monkeypatch.setenv("PA_LAB_STAND_IN_ROWS", "450")
    monkeypatch.setattr(store, "mark_stand_in", lambda: None)
    models = {"PA-I": PAClassifier(), "naive Bayes": MultinomialNB()}
    with pytest.warns(UserWarning, match="STAND-IN"):
        cost = streams.reading_cost(models, block=100)
    assert len(cost) == 4 and list(cost) == ["hashing", "PA-I", "naive Bayes", "peak_mb"]
    assert (cost >= 0).all(axis=None) and cost["peak_mb"].is_monotonic_increasing
    assert models["PA-I"].n_seen_ == 400


@pytest.mark.parametrize("weights, rows", [("last", 1), ("last 100", 100), ("average", 3000)])
@pytest.mark.parametrize("delay", [0, 5])
def test_a_row_is_decided_by_the_mean_of_the_weights_before_it(stream, weights, rows, delay):
    X, y = stream
    found = streams.decisions(X, y, 0.1, weights, delay)
    W = streams.weights_before(0.1, X, y)
    for t in (150, 999, 2999):
        last = t - delay
        w = W[max(0, last + 1 - rows) : last + 1].mean(axis=0)
        assert np.sign(found[t]) == np.sign(w @ X[t])


@pytest.mark.parametrize("model", [PAClassifier(C=0.1), KernelPAClassifier(budget=10, gamma=0.5)], ids=type)
def test_mistakes_on_the_way_are_those_of_a_loop_over_rows(stream, model):
    X, y = stream[0][:1234], stream[1][:1234]
    found = streams.follow(clone(model), X, y, block=100)
    wrong = []
    for row, label in zip(X, y, strict=True):
        said = model.predict([row])[0] if wrong else -1
        wrong.append(said != label)
        model.partial_fit([row], [label], classes=[-1, 1])
    decision = np.where(wrong, -y, y)
    expected = streams.errors(decision, y)
    assert found["early"] == pytest.approx(expected["early"]) and found["error"] == pytest.approx(expected["error"])
    np.testing.assert_allclose(found["blocks"], streams.by_block(decision, y, 100))


def test_ways_of_predicting_a_stream(stream, monkeypatch):
    X, y = stream
    monkeypatch.setattr(streams, "prepared", lambda name: stream)
    before = np.r_[y[0], y[:-1]]
    same = streams.rival("any", "no change", window=1)
    assert same["error"] == streams.errors(before, y)["error"]
    late_by_two = streams.rival("any", "no change", window=1, delay=2)
    assert late_by_two["error"] == streams.errors(np.r_[[y[0]] * 3, y[:-3]], y)["error"]
    votes = np.array([y[max(0, t - 100) : t].sum() for t in range(len(y))])
    assert streams.rival("any", "majority", window=100)["error"] == streams.errors(votes, y)["error"]
    model = streams.Refitted(LogisticRegression(C=10.0, solver="newton-cholesky"), 300, 250)
    refitted = progressive(model, X, y, 250, np.arange(len(y)) + 10)
    assert streams.rival("any", "refitted", window=300, delay=10)["error"] == streams.errors(refitted, y)["error"]
    found = streams.linear("any", 0.1, "average", 3)
    assert found["early"] == streams.errors(streams.decisions(X, y, 0.1, "average", 3), y)["early"]
    kept = streams.kernel("any", "oldest", 0.5, 1.0, budget=20)
    model = KernelPAClassifier(gamma=0.5, budget=20, budget_policy="oldest")
    assert kept["error"] == streams.follow(model, X, y)["error"] and len(model.support_) == 20
    memory = streams.memory("any", 0.1)
    p = np.sum(streams.weights_before(0.1, X, y) * X, axis=1)
    assert memory["repeats"] == pytest.approx(100 * np.mean(p * before > 0))
    assert memory["no_change"] == same["error"]
    lengths = np.abs(np.diff(streams.weights_before(0.1, X, y), axis=0)).max(axis=1) / np.abs(X[:-1]).max(axis=1)
    shortened = 100 * np.mean(lengths > 0.1 - 1e-9)
    assert memory["shortened"] == pytest.approx(shortened, abs=0.05) and shortened > 5
