"""Measures of scores against labels in {-1, +1}, and of the rules that need no scores."""

from typing import NamedTuple

import numpy as np

METRICS = ("accuracy", "balanced_accuracy", "f1", "average_precision", "auc", "mcc")
SAME = 2.0**-17  # scores that agree to this share of their size, five digits, differ by rounding or by a solver's limit
MOVED = 0.005  # an AUC that such rounding moves by more is a measure of the rounding


def measures(y: np.ndarray, decision: np.ndarray, threshold: float = 0.0) -> dict[str, float]:
    """Return six measures of scores: four at a threshold, and two of the ranking (average precision and AUC).

    The values are those of scikit-learn's six functions. They come from one sort of each class, which takes a small
    part of the time of six calls; most of the cost of an experiment is measuring on a large test set.

    Parameters
    ----------
    y : array of shape (n,)
        True labels in {-1, +1}, both present.
    decision : array of shape (n,)
        Scores. A score above ``threshold`` predicts +1.
    threshold : float, default=0.0

    Returns
    -------
    dict
        A fraction for each name in ``METRICS`` (``mcc``, Matthews' correlation, lies between -1 and 1), and
        ``ranking``, 1.0 or 0.0. It is 0.0, and average precision and AUC are NaN, where the scores have no ranking:
        rounded to five digits they are all equal, or the AUC of the rounded scores is another one.

    Examples
    --------
    >>> measures(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))["accuracy"]
    0.75
    >>> measures(np.array([-1, -1, 1, 1]), np.array([-1.0, -1.0, -1.0, -1.0 + 1e-9]))["auc"]
    nan
    """
    ranks = _rank_positives(y, decision)
    positives, negatives = len(ranks.positive), len(ranks.negative)
    if np.isnan(threshold):
        raise ValueError(f"threshold must be a number; got {threshold!r}.")
    tp, fp = np.sum(ranks.positive > threshold), np.sum(ranks.negative > threshold)
    tn, fn = negatives - fp, positives - tp
    spread = np.sqrt(float(tp + fp) * (tn + fn) * positives * negatives)
    result = {
        "accuracy": (tp + tn) / len(y),
        "balanced_accuracy": (tp / positives + tn / negatives) / 2,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "average_precision": np.mean(ranks.tps / (ranks.tps + ranks.fps)),
        "auc": _auc(ranks),
        "mcc": (float(tp) * tn - float(fp) * fn) / spread if spread else 0.0,
        "ranking": _has_ranking(ranks),
    }
    if not result["ranking"]:
        result |= {"average_precision": np.nan, "auc": np.nan}
    return {name: float(value) for name, value in result.items()}


def scores(y: np.ndarray, decision: np.ndarray, threshold: float = 0.0) -> dict[str, float]:
    """Return the six `measures` alone, without the flag that says whether there is a ranking."""
    return {name: value for name, value in measures(y, decision, threshold).items() if name != "ranking"}


def trivial(y: np.ndarray) -> dict[str, dict[str, float]]:
    """Return what the rules that look at no row reach on a stream: mistakes, their share (``error``), and F1.

    "all positive" and "majority" give one label to every row; "repeat the last" gives each row the label of the row
    before it, and -1 to the first.

    Parameters
    ----------
    y : array of shape (n,)
        True labels in {-1, +1}, in the order of the stream.

    Examples
    --------
    >>> trivial(np.array([-1, -1, 1, 1]))["repeat the last"]
    {'mistakes': 1, 'error': 0.25, 'f1': 0.6666666666666666}
    """
    y = np.asarray(y)
    if not (len(y) and np.isin(y, (-1, 1)).all()):
        raise ValueError(f"y must hold -1 and +1, and no other label; got {np.unique(y)}.")
    positive = y == 1
    guesses = {
        "all positive": np.ones(len(y), dtype=bool),
        "majority": np.full(len(y), 2 * positive.sum() > len(y)),
        "repeat the last": np.append(False, positive[:-1]),
    }
    found = {}
    for rule, guess in guesses.items():
        mistakes, hits = int(np.sum(guess != positive)), int(np.sum(guess & positive))
        f1 = 2 * hits / (2 * hits + mistakes) if hits else 0.0
        found[rule] = {"mistakes": mistakes, "error": mistakes / len(y), "f1": f1}
    return found


def recall_of_alarms(y: np.ndarray, decision: np.ndarray, alarms: int = 2, window: int = 1000) -> float:
    """Return the share of positive rows found by so many alarms per hundred rows: the highest scores of each window.

    Parameters
    ----------
    y, decision : arrays of shape (n,)
        Labels in {-1, +1} and scores, in the order of the stream.
    alarms : int, default=2
        Alarms per hundred rows.
    window : int, default=1000
        Rows among which the alarms go to the highest scores.

    Examples
    --------
    >>> recall_of_alarms(np.array([1, -1, -1, 1]), np.array([3.0, 2.0, 1.0, 0.0]), alarms=50, window=4)
    0.5
    """
    found = 0
    for start in range(0, len(y), window):
        rows = slice(start, start + window)
        top = np.argsort(-decision[rows], kind="stable")[: round(alarms * len(y[rows]) / 100)]
        found += np.count_nonzero(y[rows][top] > 0)
    return float(found / np.count_nonzero(y > 0))


def best_threshold(y: np.ndarray, decision: np.ndarray, measure: str = "f1") -> float:
    """Return the threshold with the best value on these rows, half-way between two neighbouring scores.

    Parameters
    ----------
    y, decision : arrays of shape (n,)
        As for `measures`.
    measure : {"f1", "balanced_accuracy"}, default="f1"

    Examples
    --------
    >>> best_threshold(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    0.75
    """
    ranks = _rank_positives(y, decision)
    n_positive, n_negative = len(ranks.positive), len(ranks.negative)
    f1 = 2 * ranks.tps / (ranks.tps + ranks.fps + n_positive)
    value = f1 if measure == "f1" else ranks.tps / n_positive - ranks.fps / n_negative
    lowest = ranks.positive[np.argmax(value)]  # of the values to predict +1 for
    decision = np.asarray(decision, dtype=float)
    below = decision[decision < lowest]
    if not len(below):
        return float(np.nextafter(lowest, -np.inf))
    highest = below.max()  # of the values to predict -1 for
    middle = lowest / 2 + highest / 2  # halved first: the sum of two large numbers would overflow
    return float(middle if middle < lowest else highest)  # nothing lies between two neighbouring doubles


class _Ranks(NamedTuple):
    """Decision values by class, each sorted, and what lies at or above each positive one.

    ``tps`` counts the positive rows at or above it, ``fps`` the negative ones, ``ties`` the negative ones equal to it.
    """

    positive: np.ndarray
    negative: np.ndarray
    tps: np.ndarray
    fps: np.ndarray
    ties: np.ndarray


def _rank_positives(y, decision):
    """Return the `_Ranks` of decision values.

    >>> _rank_positives(np.array([1, -1, 1]), np.array([2.0, 2.0, 3.0]))[2:]
    (array([2, 1]), array([1, 0]), array([1, 0]))
    """
    y, decision = np.asarray(y), np.asarray(decision, dtype=float)
    if y.shape != decision.shape or y.ndim != 1 or not np.isfinite(decision).all():
        raise ValueError(f"decision must hold a finite number for each of {len(y)} labels; got {decision!r}.")
    is_positive, is_negative = y == 1, y == -1
    if not (is_positive.any() and is_negative.any() and (is_positive | is_negative).all()):
        raise ValueError(f"y must hold both labels, -1 and +1, and no other; got {np.unique(y)}.")
    positive, negative = np.sort(decision[is_positive]), np.sort(decision[is_negative])
    return _count(positive, negative)


def _count(positive, negative):
    """Return the `_Ranks` of the scores of each class, given in rising order."""
    below = np.searchsorted(negative, positive)
    return _Ranks(
        positive,
        negative,
        tps=len(positive) - np.searchsorted(positive, positive),
        fps=len(negative) - below,
        ties=np.searchsorted(negative, positive, side="right") - below,
    )


def _auc(ranks):
    return 1 - np.mean(ranks.fps - ranks.ties / 2) / len(ranks.negative)


def _has_ranking(ranks):
    """Say whether the ranking outlasts rounding: to five digits of each score, and to twelve of the largest."""
    lowest, highest = min(ranks.positive[0], ranks.negative[0]), max(ranks.positive[-1], ranks.negative[-1])
    top = max(-lowest, highest)
    if lowest == highest or _rounded(lowest, top) == _rounded(highest, top):
        return False
    coarse = _count(_rounded(ranks.positive, top), _rounded(ranks.negative, top))
    return abs(_auc(coarse) - _auc(ranks)) <= MOVED


def _rounded(scores, top):
    fraction, power = np.frexp(np.rint(scores / top * 2.0**40))
    return np.ldexp(np.rint(fraction / SAME), power)
