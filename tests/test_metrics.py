"""`pa_lab.study.metrics` against scikit-learn and against counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from pa_lab.study import metrics
from pa_lab.study.metrics import best_threshold, scores


def by_scikit_learn(y, decision, threshold):
    predicted = np.where(decision > threshold, 1, -1)
    return {
        "accuracy": sk.accuracy_score(y, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(y, predicted),
        "f1": sk.f1_score(y, predicted, zero_division=0.0),
        "average_precision": sk.average_precision_score(y, decision),
        "auc": sk.roc_auc_score(y, decision),
        "mcc": sk.matthews_corrcoef(y, predicted),
    }


labelled_scores = st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=2, max_size=60).filter(
    lambda pairs: len({label for label, _ in pairs}) == 2
)


@settings(max_examples=80, deadline=None)
@given(labelled_scores, st.sampled_from([-9.0, -1.0, 0.0, 0.5, 4.0]))
def test_scores_equal_scikit_learns_with_ties_and_at_any_threshold(pairs, threshold):
    y = np.array([1 if label else -1 for label, _ in pairs])
    decision = np.array([float(score) for _, score in pairs])
    found, wanted = scores(y, decision, threshold), by_scikit_learn(y, decision, threshold)
    assert tuple(found) == metrics.METRICS
    assert found == pytest.approx(wanted, abs=1e-12)


sizes = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 5e-324, 1.0, -1e308, 1.7e308])


@settings(max_examples=200, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=30), st.lists(sizes, min_size=1, max_size=30))
def test_ranks_are_counted_right_at_any_size_and_spread(positive, negative):
    decision = np.array(positive + negative)
    y = np.repeat([1, -1], [len(positive), len(negative)])
    *_, tps, fps, ties = metrics._rank_positives(y, decision)
    for i, cut in enumerate(sorted(positive)):
        counts = [np.sum(decision[y > 0] >= cut), np.sum(decision[y < 0] >= cut), np.sum(decision[y < 0] == cut)]
        assert [tps[i], fps[i], ties[i]] == counts


@settings(max_examples=80, deadline=None)
@given(labelled_scores)
def test_no_threshold_beats_the_best_one(pairs):
    y = np.array([1 if label else -1 for label, _ in pairs])
    decision = np.array([float(score) for _, score in pairs])
    best = scores(y, decision, best_threshold(y, decision))["f1"]
    assert best == pytest.approx(max(scores(y, decision, cut)["f1"] for cut in np.arange(-5, 5, 0.5)))


def test_a_threshold_fits_between_neighbouring_numbers():
    y = np.array([-1, 1])
    for low in (1.0, 0.0, -1e-300, 1.7e308, 5e-324):
        decision = np.array([low, np.nextafter(low, np.inf)])
        assert scores(y, decision, best_threshold(y, decision))["accuracy"] == 1.0


def test_a_threshold_lies_between_the_largest_numbers():
    y = np.array([-1, 1])
    assert best_threshold(y, np.array([1e308, 1.5e308])) == pytest.approx(1.25e308)
    assert best_threshold(y, np.array([-1.5e308, -1e308])) == pytest.approx(-1.25e308)
    assert best_threshold(y, np.array([-1.7e308, 1.7e308])) == 0.0
    assert best_threshold(y, [1.0, 3.0]) == 2.0, "lists are rows too"


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="threshold must be a number; got nan"):
        scores(np.array([-1, 1]), np.array([0.0, 1.0]), np.nan)


@pytest.mark.parametrize("y", [[2, -3], [1, -1, 2], [1, -1, 0], [1.0, -1.0, np.nan], [True, False]])
def test_labels_other_than_minus_and_plus_one_are_refused(y):
    for function in (scores, best_threshold):
        with pytest.raises(ValueError, match=r"y must hold both labels, -1 and \+1, and no other"):
            function(np.array(y), np.arange(float(len(y))))
