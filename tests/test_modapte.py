"""The outside check: C is chosen within the training part, and the test part is counted once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

from pa_lab import PAClassifier
from pa_lab.study import modapte, newswire


@pytest.fixture
def wire(monkeypatch):
    """Rows of three topics that their columns tell, some with errors; the test part comes last."""
    monkeypatch.setattr(newswire, "TOP_TEN", ("earn", "acq"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    noisy = X + 0.5 * rng.normal(size=X.shape)
    names = [tuple(n for n, x in zip(("earn", "acq", "corn"), row, strict=False) if x > 0.5) for row in noisy]
    split = np.array(["TRAIN"] * 150 + ["TEST"] * 90)
    return X, pd.DataFrame({"topics": names, "split": split, "judged": "YES"})


def test_the_counts_are_those_of_a_loop_over_topics(wire):
    X, stories = wire
    models, values = {"PA-I": PAClassifier(average=True), "SVM": LinearSVC()}, [0.001, 1.0]
    judged = modapte.judge(models, X, stories, values)
    assert sorted(set(judged["topic"])) == ["acq", "corn", "earn"]
    for name, kind in {"PA-I": PAClassifier(average=True), "SVM": LinearSVC()}.items():
        hits = []
        for C in values:
            kind.set_params(C=C, random_state=0)
            found = []
            for topic in ("earn", "acq"):
                y = newswire.labels(stories, topic) == 1
                found.append(newswire.ranked(y[100:150], kind.fit(X[:100], y[:100]).decision_function(X[100:150])))
            hits.append(sum(row["hits"] for row in found))
        kind.set_params(C=values[int(np.argmax(hits))])
        for row in judged[judged["method"] == name].itertuples():
            y = newswire.labels(stories, row.topic) == 1
            found = newswire.ranked(y[150:], kind.fit(X[:150], y[:150]).decision_function(X[150:]))
            assert row.C == kind.C
            assert {key: getattr(row, key) for key in found} == found
