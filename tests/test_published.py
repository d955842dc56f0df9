"""The published protocol gives the printed digits, and its rule is the one that is described."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import SVC
from sklearn.utils import Bunch

from pa_lab import PAClassifier, datasets
from pa_lab.study import experiments, published
from pa_lab.study import published_protocol as protocol

real_data = pytest.mark.skipif(datasets.available("ijcnn1") is None, reason="needs the real ijcnn1")


@pytest.fixture(scope="module")
def ijcnn1():
    return datasets.load("ijcnn1")


@pytest.fixture(scope="module")
def checked(ijcnn1):
    return published.compare_with_printed(pd.DataFrame(protocol.run_protocol(None, ijcnn1)))


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return rng.standard_normal((300, 4)), rng.choice([-1, 1], 300)


def plain_loop(X, y, variant, C, stage, draws=None):
    """The rule at each place of the road, spelled out."""
    w, updates = np.zeros(X.shape[1]), 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        p = w @ x
        ask = 1 / (1 + (abs(p) if stage >= protocol.INVERSE else abs(np.sign(p))))
        if draws is not None and draws[t] >= ask:
            continue
        loss = max(0, 1 - label * p)
        if loss == 0 or (stage < protocol.INSIDE and np.sign(p) == label):
            continue
        top = loss if stage >= protocol.LOSS else 1
        bottom = np.linalg.norm(x) ** (2 if stage >= protocol.SQUARED else 1)
        slack = 1 / (2 * C) if stage >= protocol.INVERSE else 2 * C
        tau = {"PA": top / bottom, "PA-I": min(C, top / bottom), "PA-II": top / (bottom + slack)}[variant]
        w += tau * label * x
        updates += 1
    return w, updates


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("stage", range(protocol.ONCE))
@pytest.mark.parametrize("variant", protocol.RULES)
def test_the_compiled_rule_is_the_plain_one(rows, variant, stage, active):
    X, y = rows
    draws = np.random.default_rng(0).random(len(y)) if active else None
    w, counts = protocol.learn_as_published(X, y, variant, 0.3, stage, **({"draws": draws} if active else {}))
    expected, updates = plain_loop(X, y, variant, 0.3, stage, draws)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    assert counts["updates"] == updates


@pytest.mark.parametrize("variant", protocol.RULES)
def test_the_stages_end_at_pa(rows, variant):
    X, y = rows
    model = PAClassifier(variant, C=0.3, fit_intercept=False).fit(X, y)
    w, counts = protocol.learn_as_published(X, y, variant, 0.3, protocol.INVERSE)
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-9)
    assert (counts["updates"], counts["mistakes"]) == (model.n_updates_, model.n_mistakes_)
    halves = protocol.learn_as_published(X[:100], y[:100], variant, 0.3, protocol.INVERSE)[0]
    goes_on = protocol.learn_as_published(X[100:], y[100:], variant, 0.3, protocol.INVERSE, w=halves)[0]
    np.testing.assert_array_equal(goes_on, w)


def test_the_active_rule_asks_at_zero_and_for_every_second_label(rows):
    X, y = rows
    never = protocol.learn_as_published(X, y, "PA", draws=np.full(len(y), 0.5))[1]
    assert (never["queries"], never["updates"]) == (1, 1)  # the first row only, where p = 0
    always, passive = (
        protocol.learn_as_published(X, y, "PA", draws=np.full(len(y), 0.49)),
        protocol.learn_as_published(X, y, "PA"),
    )
    assert always[1] == passive[1]


def test_hard_scores_are_those_of_scikit_learn(rows):
    X, y = rows
    hard = np.where(X[:, 0] > 0, 1, -1)
    assert protocol.hard_scores(y, X[:, 0]) == pytest.approx(
        {"auc": 100 * roc_auc_score(y, hard), "f1": 100 * f1_score(y, hard)}
    )
    np.testing.assert_allclose(protocol.weighted_sums(X, np.arange(4.0)), X @ np.arange(4.0))


def test_the_svm_scores_are_those_of_libsvm(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path))
    X, y = rows
    decision, seconds = protocol.svm_decisions(X, y, 0.1, X)
    np.testing.assert_allclose(
        decision, SVC(kernel="linear", C=0.1).fit(experiments.dyadic(X), y).decision_function(X), atol=1e-9
    )
    assert seconds > 0


@real_data
def test_the_streams_are_as_long_as_the_paper_says(ijcnn1):
    y, noisy = protocol.training_rows(ijcnn1)[1], protocol.training_rows(ijcnn1, "table5")[1]
    assert (np.sum(y == -1), np.sum(y == 1)) == (58_689, 6_291)
    changed = np.flatnonzero(y != noisy)
    assert len(changed) == protocol.FLIPPED and changed.max() < protocol.NOISY_ROWS and (y[changed] == 1).all()
    assert protocol.training_rows(ijcnn1, "table3")[0].shape == (58_482, 12)
    assert protocol.training_rows(ijcnn1, stage=protocol.WIDE)[0].shape == (49_990, 22)


@real_data
@pytest.mark.parametrize("table", ["table1", "table5"])
def test_every_pa_cell_is_within_two_hundredths_of_the_printed(checked, table):
    cells = checked[checked["table"] == table]
    assert len(cells) == 14
    assert cells["difference"].abs().max() <= 0.02
    assert set(cells["mark"]) == {"reproduced"}


@real_data
def test_the_last_fold_gives_the_first_blocks_of_table_3(checked):
    table = checked[(checked["table"] == "table3") & checked["printed"].notna()]
    close = table["difference"].abs() <= 0.02
    assert close[table["variant"] != "PA-II"].all() and not close[table["variant"] == "PA-II"].any()


@real_data
def test_the_update_counts_are_equal(checked):
    counts = checked[checked["table"] == "update_counts"]
    assert counts["recomputed"].tolist() == counts["printed"].tolist() == [3190, 3065, 3162]


def test_a_cell_that_differs_is_marked():
    printed = published.load_table("ezukwoke_zareian_2019")
    runs = printed.assign(value=printed["value"].fillna(0) + 0.03)
    marks = published.compare_with_printed(runs).set_index("model")["mark"]
    assert set(marks["PA"]) == {"not reproduced", "digits lost"}
    around = pd.concat([runs.assign(value=runs["value"] + shift) for shift in (-1, 0, 1)])
    assert set(published.compare_with_printed(around).set_index("model")["mark"]["APA"]) == {"inside 95 % range"}


def test_on_sound_terms_only_table_3_leaves_rows_out_and_only_table_5_flips_labels(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(2000) % 3, 1, -1)
    X = np.ascontiguousarray(rng.standard_normal((2000, 3)) + 0.3 * y[:, None])
    data, seen = Bunch(X_train=X, y_train=y, X_test=X, y_test=y), {}

    def watched(X, y, *rest):
        seen[table] = len(y), int(np.sum(y > 0))
        return learn(X, y, *rest)

    learn = protocol.learn_as_published
    monkeypatch.setattr(protocol, "learn_as_published", watched)
    for table in ("table1", "table3", "table5"):
        found = protocol.corrected_protocol("PA", ("PA-I", 0.1), table, 0, data)
        assert (found["variant"], found["C"], found["rule"]) == ("PA-I", 0.1, "PA-I, C = 0.1")
    positive = int(np.sum(y > 0))
    assert seen["table1"] == (2000, positive) and seen["table5"] == (2000, positive - protocol.FLIPPED)
    assert seen["table3"][0] == 1800
