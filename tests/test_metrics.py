"""`pa_lab.study.metrics` against scikit-learn and against counting."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from pa_lab.study import metrics, store
from pa_lab.study.metrics import best_threshold, measures, trivial


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
    found, wanted = measures(y, decision, threshold), by_scikit_learn(y, decision, threshold)
    assert tuple(found) == (*metrics.METRICS, "ranking")
    if not found["ranking"]:
        assert len(set(decision)) == 1, "small whole numbers are no dust"
        wanted |= {"auc": np.nan, "average_precision": np.nan}
    assert found == pytest.approx(wanted | {"ranking": found["ranking"]}, abs=1e-12, nan_ok=True)


@settings(max_examples=80, deadline=None)
@given(labelled_scores, st.sampled_from(["f1", "balanced_accuracy"]))
def test_no_threshold_beats_the_best_one(pairs, measure):
    y = np.array([1 if label else -1 for label, _ in pairs])
    decision = np.array([float(score) for _, score in pairs])
    best = measures(y, decision, best_threshold(y, decision, measure))[measure]
    assert best == pytest.approx(max(measures(y, decision, cut)[measure] for cut in np.arange(-5, 4.75, 0.5)))


def test_a_threshold_fits_between_neighbouring_numbers():
    y = np.array([-1, 1])
    for low in (1.0, 0.0, -1e-300, 1.7e308, 5e-324):
        decision = np.array([low, np.nextafter(low, np.inf)])
        assert measures(y, decision, best_threshold(y, decision))["accuracy"] == 1.0


@pytest.mark.parametrize("y", [[2, -3], [1, -1, 2], [1, -1, 0], [1.0, -1.0, np.nan], [True, False]])
def test_labels_other_than_minus_and_plus_one_are_refused(y):
    for function in (measures, best_threshold):
        with pytest.raises(ValueError, match=r"y must hold both labels, -1 and \+1, and no other"):
            function(np.array(y), np.arange(float(len(y))))


Y = np.repeat([-1, 1], [900, 100])
SIGNAL = Y + np.random.default_rng(0).normal(size=1000)  # a ranking of AUC 0.93
BULK = np.random.default_rng(1).random(1000) < 0.9  # nine rows in ten


@pytest.mark.parametrize(
    "decision, ranking",
    [
        (np.zeros(1000), 0),
        (np.full(1000, -1.0), 0),
        (-1 + 1e-13 * SIGNAL, 0),
        (-1 + 1e-7 * SIGNAL, 0),
        (np.where(BULK, -1 + 1e-7 * SIGNAL, SIGNAL), 0),  # the rest ranks, most of the AUC is dust
        (np.where(BULK, 1e-16 * SIGNAL, SIGNAL), 0),
        (np.where(BULK, -1, SIGNAL), 1),  # ties are a ranking, and count as ties
        (-1 + 1e-3 * SIGNAL, 1),
        (1e-300 * SIGNAL, 1),
        (SIGNAL**9, 1),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 3.7e5, -(2.0**-40)])
def test_rounding_errors_are_no_ranking(decision, ranking, scale):
    found = measures(Y, decision * scale)
    assert found["ranking"] == ranking
    assert np.isnan([found["auc"], found["average_precision"]]).tolist() == [not ranking] * 2
    assert found["f1"] == pytest.approx(sk.f1_score(Y, np.where(decision * scale > 0, 1, -1), zero_division=0.0))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=30))
def test_trivial_rules_are_counted_by_hand(y):
    majority = 1 if y.count(1) > y.count(-1) else -1
    guesses = {"all positive": [1] * len(y), "majority": [majority] * len(y), "repeat the last": [-1, *y[:-1]]}
    found = trivial(np.array(y))
    assert list(found) == list(guesses)
    for rule, guess in guesses.items():
        wrong = sum(a != b for a, b in zip(y, guess, strict=True))
        wanted = {"mistakes": wrong, "error": wrong / len(y), "f1": sk.f1_score(y, guess, zero_division=0.0)}
        assert found[rule] == pytest.approx(wanted)


def records(value):
    """All dicts anywhere in a stored result."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from records(one)


def test_no_stored_measure_of_a_ranking_that_is_not_there():
    folder = store.ROOT / "report" / "results"
    stored = {path.name: list(records(json.loads(path.read_text()))) for path in folder.glob("*.json")}
    for path in (folder / "campaigns").glob("*.json"):
        stored[path.name] = store.load_campaign(path.stem).astype(object).to_dict("records")
    for name, found in stored.items():
        for one in found:
            if one.get("ranking", 1.0) < 1.0:
                numbers = [one.get(measure) for measure in ("auc", "average_precision")]
                assert all(value is None or np.isnan(value) for value in numbers), (name, one)


def test_every_measure_of_a_ranking_goes_through_the_guard():
    sources = [*(store.ROOT / "pa_lab").rglob("*.py"), *(store.ROOT / "notebooks").rglob("*.ipynb")]
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert "roc_auc_score" not in text, path
        assert "average_precision_score" not in text or "sample_weight=weight" in text, path  # weights of paid labels
