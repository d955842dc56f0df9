"""`evaluation.scores`, which takes everything from one sort, against scikit-learn's separate functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from pa_lab.evaluation import METRICS, scores

ORACLES = {
    "accuracy": lambda y, d, s: metrics.accuracy_score(y, s),
    "balanced_accuracy": lambda y, d, s: metrics.balanced_accuracy_score(y, s),
    "f1": lambda y, d, s: metrics.f1_score(y, s, zero_division=0.0),
    "average_precision": lambda y, d, s: metrics.average_precision_score(y, d),
    "auc": lambda y, d, s: metrics.roc_auc_score(y, d),
    "mcc": lambda y, d, s: metrics.matthews_corrcoef(y, s),
}


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from([-1, 1]), st.integers(-4, 4)), min_size=2, max_size=40),
    st.sampled_from([-9.0, -1.0, 0.0, 0.5, 9.0]),
)
def test_equal_to_scikit_learn_with_ties_and_any_threshold(rows, threshold):
    y = np.array([-1, 1] + [label for label, _ in rows])
    decision = np.array([0.0, 0.0] + [value for _, value in rows]) / 2
    found, predicted = scores(y, decision, threshold), np.where(decision > threshold, 1, -1)
    assert list(found) == list(METRICS) == list(ORACLES)
    for name, oracle in ORACLES.items():
        assert found[name] == pytest.approx(oracle(y, decision, predicted), abs=1e-12), name


def test_equal_to_scikit_learn_on_many_rows():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(100_000) < 0.1, 1, -1)
    decision = rng.standard_normal(len(y)) + 0.5 * y
    for name, oracle in ORACLES.items():
        expected = oracle(y, decision, np.where(decision > 0, 1, -1))
        assert scores(y, decision)[name] == pytest.approx(expected, abs=1e-12), name
