"""Label campaigns: budgets are kept, thresholds are the best ones, and every side is tuned by the same rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils import Bunch

from pa_lab import PAClassifier
from pa_lab.study import campaigns, datasets, metrics


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 1500, p=[0.8, 0.2])
    X = rng.standard_normal((1500, 3)) + 0.8 * y[:, None]
    return Bunch(X_train=X[:1000], y_train=y[:1000], X_test=X[1000:], y_test=y[1000:])


@pytest.fixture(scope="module")
def runs(data):
    ways = ["margin", "random", "threshold", "first", "all"]
    return campaigns.compare(data, ways, ["shuffled", "file"], [0.1, 0.3], [0.01, 1.0], range(3), n_jobs=1)


def brute_force(y, p, weight, score):
    """The best value of a weighted score over every threshold between two decision values."""
    cuts = np.unique(p)
    cuts = np.append((cuts[1:] + cuts[:-1]) / 2, cuts[0] - 1.0)
    values = []
    for cut in cuts:
        hit, miss = weight @ ((p > cut) & (y > 0)), weight @ ((p <= cut) & (y > 0))
        false, rest = weight @ ((p > cut) & (y < 0)), weight @ ((p <= cut) & (y < 0))
        values.append(
            2 * hit / (2 * hit + false + miss) if score == "f1" else hit / (hit + miss) + rest / (rest + false)
        )
    return max(values), values, cuts


@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_are_the_best_of_all(weighted):
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = np.append(rng.choice([-1, 1], 30), [1, -1])
        p = np.round(rng.standard_normal(32) + 0.5 * y, 1)  # with ties
        weight = rng.uniform(0.5, 3.0, 32) if weighted else np.ones(32)
        found = campaigns.thresholds(y, p, weight if weighted else None)
        for score, cut in zip(("f1", "balanced"), found, strict=True):
            best, values, cuts = brute_force(y, p, weight, score)
            here = values[np.flatnonzero([np.array_equal(p > cut, p > other) for other in cuts])[0]]
            assert here == pytest.approx(best)


def test_without_weights_the_threshold_for_f1_is_that_of_metrics():
    rng = np.random.default_rng(2)
    y = rng.choice([-1, 1], 200)
    p = rng.standard_normal(200) + y
    ours = metrics.measures(y, p, campaigns.thresholds(y, p)[0])["f1"]
    assert ours == metrics.measures(y, p, metrics.best_threshold(y, p))["f1"]


def test_one_class_alone_has_threshold_zero():
    assert campaigns.thresholds(np.array([1, 1]), np.array([0.3, 2.0])) == (0.0, 0.0)


def test_the_weights_of_the_margin_rule_count_the_whole_stream(data):
    sums = []
    for seed in range(200):
        model = PAClassifier(query="margin", delta=0.3, random_state=seed)
        _, y, weight = campaigns.learn(model, data.X_train, data.y_train)
        sums.append((weight.sum(), weight @ (y > 0)))
    truth = len(data.y_train), np.sum(data.y_train > 0)
    error = np.std(sums, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(sums, axis=0) - truth) < 4 * error).all()


def test_delta_spends_the_budget(data):
    for asking in ("margin", "threshold"):
        size = campaigns.size_for(data, asking, "shuffled", 0.3, C=1.0)
        X, y = campaigns.stream(data, asking, "shuffled", 0.3, seed=5)
        model = campaigns.learner(asking, 1.0, size, random_state=5)
        assert 0.2 < len(campaigns.learn(model, X, y)[1]) / 1000 < 0.4


def test_every_case_is_there_once_for_each_seed(runs):
    case = ["order", "asking", "share", "weights", "score", "seed"]
    assert not runs.duplicated(case).any()
    drawn = runs[(runs["order"] == "shuffled") | runs["asking"].isin(["margin", "random"])]
    assert (drawn.groupby(case[:-1])["seed"].nunique() == 3).all()
    assert set(runs["score"]) == set(campaigns.SCORES) and runs["value"].between(0, 1).all()
    exact = runs[runs["asking"].isin(["random", "first", "all"])]
    assert (exact["labels"] == (1000 * exact["share"]).round()).all()


def test_a_campaign_comes_out_the_same_again(data, runs):
    again = campaigns.compare(data, ["random"], ["shuffled"], [0.1], [0.01, 1.0], range(3), n_jobs=1)
    before = runs.query("order == 'shuffled' and asking == 'random' and share == 0.1")
    pd.testing.assert_frame_equal(again, before.reset_index(drop=True)[again.columns])


def test_test_rows_take_no_part_in_the_choice_of_C(data, runs):
    rng = np.random.default_rng(3)
    other = Bunch(**data | {"y_test": rng.permutation(data.y_test)})
    again = campaigns.compare(other, ["margin"], ["file"], [0.3], [0.01, 1.0], range(3), n_jobs=1)
    before = runs.query("order == 'file' and asking == 'margin' and share == 0.3").reset_index(drop=True)
    assert again["C"].equals(before["C"]) and not again["value"].equals(before["value"])


def test_C_is_the_best_on_the_held_out_rows(data, runs):
    chosen = runs.query("order == 'shuffled' and asking == 'random' and share == 0.3 and weights == 'last'")
    for row in chosen.query("score == 'auc'").itertuples():
        part = campaigns.held_out(data, "shuffled", row.seed)
        X, y = campaigns.stream(part, "random", "shuffled", 0.3, row.seed)
        auc = {C: campaigns.campaign(PAClassifier(C=C), X, y, part)["auc"] for C in (0.01, 1.0)}
        assert max(auc, key=lambda C: (auc[C], -C)) == row.C


def test_PA_is_not_tuned(data):
    runs = campaigns.compare(data, ["random"], ["shuffled"], [0.3], [0.01, 0.1], range(2), variant="PA", n_jobs=1)
    assert (runs["C"] == 1.0).all()


def test_labels_to_reach_are_read_off_the_mean_curve():
    rows = [("random", 0.1, 10, 0.5), ("random", 0.2, 100, 0.7), ("all", 1.0, 1000, 0.9)]
    frame = pd.DataFrame(rows, columns=["asking", "share", "labels", "value"]).assign(score="auc", weights="last")
    runs = pd.concat([frame.assign(seed=0), frame.assign(seed=1)])
    found = campaigns.labels_to_reach(runs, goal=2 / 3, draws=20)
    assert found["labels"].item() == pytest.approx(10**1.5)  # 0.6, half-way from 0.5 to 0.7
    assert found["low"].item() == found["high"].item() == found["labels"].item()


def test_of_equally_good_costs_the_smallest_is_chosen(monkeypatch):
    rows = {
        C: dict.fromkeys(campaigns.SCORES, score) | {"labels": 10} for C, score in ((0.1, 0.5), (1.0, 0.9), (9.0, 0.9))
    }
    monkeypatch.setattr(campaigns, "stream", lambda *_: (None, None))
    monkeypatch.setattr(campaigns, "learner", lambda asking, C, size: C)
    monkeypatch.setattr(campaigns, "campaign", lambda C, *_: rows[C])
    part = Bunch(y_train=np.ones(100))
    for order in (list(rows), list(rows)[::-1]):
        best = campaigns._best_C(part, "threshold", "file", 0.1, 0, dict.fromkeys(order, 1.0), {})
        assert best == dict.fromkeys(campaigns.SCORES, 1.0)


def test_a_set_without_test_rows_loses_its_last_ones_or_some_at_random():
    whole = datasets.load("twonorm")
    last, drawn = campaigns.load("twonorm"), campaigns.load("twonorm", shuffle=True)
    assert np.array_equal(np.append(last.y_train, last.y_test), whole.y)
    assert not np.array_equal(np.append(drawn.y_train, drawn.y_test), whole.y)
    for data in (last, drawn):
        assert len(data.y_test) == 0.3 * len(whole.y)
        assert np.abs(data.X_train.mean(axis=0)).max() < 1e-12 and data.X_train.std(axis=0) == pytest.approx(1)
    scale = whole.X[: len(last.y_train)]
    assert np.allclose(last.X_test, (whole.X[len(scale) :] - scale.mean(axis=0)) / scale.std(axis=0))


def test_mistakes_count_rows_that_are_not_asked_for(data):
    X, y = data.X_train[:300], data.y_train[:300]
    model = PAClassifier(query="random", query_rate=0.2)
    wanted = []
    for seed in (3, 4):
        learner, wrong = clone(model).set_params(random_state=seed), 0
        for row, label in zip(X, y, strict=True):
            p = learner.decision_function([row])[0] if hasattr(learner, "coef_") else 0.0
            wrong += (p > 0) != (label > 0)
            learner.partial_fit([row], [label], classes=[-1, 1])
        assert learner.n_queries_ < 100
        wanted.append(wrong)
    assert campaigns.mistakes(model, X, y, (3, 4)).tolist() == wanted
