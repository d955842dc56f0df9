"""Settings are chosen on rows that were not learnt, and judged on rows that took no part in the choice."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils import Bunch

from pa_lab import KernelPAClassifier, PAClassifier
from pa_lab.study import tuning


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0, 1, -1)
    return [(X[rows], y[rows]) for rows in (slice(0, 150), slice(150, 220), slice(220, 300))]


OPTIONS = {"linear": [{"C": 0.1}, {"C": 1.0}], "kernel": [{"gamma": 0.5, "C": 1.0}, {"gamma": 8.0, "C": 1.0}]}
MODELS = {"linear": PAClassifier(), "kernel": KernelPAClassifier()}


def test_tuning_chooses_as_a_grid_search_does(parts):
    X, y = parts[0]
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    settings = [{"C": 2.0**k} for k in range(-6, 3, 2)]
    tried = tuning.tune({"mean": PAClassifier(average=True), "last": PAClassifier()}, settings, X, y, splits, n_jobs=1)
    chosen = tuning.best(tried, "method", "auc", settings=["C"]).set_index("method")
    for name, average in {"mean": True, "last": False}.items():
        grid = {key: [one[key] for one in settings] for key in settings[0]}
        search = GridSearchCV(PAClassifier(average=average), grid, scoring="roc_auc", cv=splits).fit(X, y)
        assert chosen.C[name] == search.best_params_["C"] and chosen.auc[name] == pytest.approx(search.best_score_)
    row = tried.iloc[7]
    learn, choose = splits[row.fold]
    p = PAClassifier(average=True, C=row.C).fit(X[learn], y[learn]).decision_function(X[choose])
    assert row.method == "mean" and row.f1 == pytest.approx(f1_score(y[choose], np.where(p > 0, 1, -1)))
    assert row.f1_tuned == max(f1_score(y[choose], np.where(p >= cut, 1, -1)) for cut in p)
    assert row.f1_tuned == pytest.approx(f1_score(y[choose], np.where(p > row.threshold, 1, -1)))


def test_each_setting_is_scored_on_rows_it_has_not_learnt(parts):
    learn, choose, _ = parts
    tried = tuning.validate(MODELS, OPTIONS, learn, choose, n_jobs=1)
    assert list(tried["method"]) == ["linear", "linear", "kernel", "kernel"]
    for row in tried.itertuples():
        model = (PAClassifier if row.method == "linear" else KernelPAClassifier)(**row.setting).fit(*learn)
        assert row.auc == round(roc_auc_score(choose[1], model.decision_function(choose[0])), 4)
        assert row.setting["C"] == row.C
        assert row.vectors == (0 if row.method == "linear" else len(model.support_vectors_))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("part", ["", "_train"])
def test_the_three_parts_are_different_rows_of_the_set_on_one_scale(sparse, part, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = 100 * rng.normal(size=(600, 3)) * [1, 0, 5], np.arange(600)  # labels that tell the rows
    rows = csr_matrix(X) if sparse else X
    monkeypatch.setattr(tuning.datasets, "load", lambda name: Bunch(**{f"X{part}": rows, f"y{part}": y}))
    parts = tuning.drawn("any", seed=3, n=300)
    assert [len(labels) for _, labels in parts] == [200, 100, 150]
    drawn = np.concatenate([labels for _, labels in parts])
    assert len(set(drawn)) == 450
    together = np.vstack([rows for rows, _ in parts])
    assert (together[:, ::2] / X[drawn, ::2]).std(axis=0) == pytest.approx([0, 0])  # each column by one number
    assert abs(together[:, 0]).max() == pytest.approx(abs(together[:, 2]).max())
    assert together.var() * together.shape[1] == pytest.approx(1)  # so that "scale" is a gamma of 1
    assert [len(labels) for _, labels in tuning.drawn("any", seed=3, n=9999)] == [266, 134, 200]


def test_the_test_rows_take_no_part_in_the_choice(parts, monkeypatch):
    monkeypatch.setattr(tuning, "drawn", lambda name, seed, n: parts)
    learn, choose, test = parts
    found = tuning.tuned_scores("any", 0, MODELS, OPTIONS)
    assert [row["method"] for row in found] == ["linear", "kernel"]
    for row in found:
        kind = type(MODELS[row["method"]])
        fits = [kind(**setting).fit(*learn) for setting in OPTIONS[row["method"]]]
        aucs = [roc_auc_score(choose[1], model.decision_function(choose[0])) for model in fits]
        model = fits[int(np.argmax(aucs))]
        assert row["setting"] == OPTIONS[row["method"]][int(np.argmax(aucs))]
        p = model.decision_function(choose[0])
        cuts = [f1_score(choose[1], np.where(p >= value, 1, -1)) for value in p]
        lowest = p[np.argmax(cuts)]
        decision = model.decision_function(test[0])
        assert row["auc"] == pytest.approx(roc_auc_score(test[1], decision))
        if not ((decision < lowest) & (decision > p[p < lowest].max(initial=-np.inf))).any():  # no row in the gap
            assert row["f1"] == pytest.approx(f1_score(test[1], np.where(decision >= lowest, 1, -1)))
    changed = [learn, choose, (test[0], -test[1])]
    monkeypatch.setattr(tuning, "drawn", lambda name, seed, n: changed)
    again = tuning.tuned_scores("any", 0, MODELS, OPTIONS)
    assert [row["setting"] for row in again] == [row["setting"] for row in found]
