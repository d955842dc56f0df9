"""Settings are chosen on rows that were not learnt, and judged on rows that took no part in the choice."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pa_lab import PAClassifier
from pa_lab.study import tuning


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0, 1, -1)
    return [(X[rows], y[rows]) for rows in (slice(0, 150), slice(150, 220), slice(220, 300))]


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
