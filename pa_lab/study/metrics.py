"""Scores of decision values against labels in {-1, +1}."""

from typing import NamedTuple

import numpy as np

METRICS = ("accuracy", "balanced_accuracy", "f1", "average_precision", "auc", "mcc")


def scores(y: np.ndarray, decision: np.ndarray, threshold: float = 0.0) -> dict[str, float]:
    """Return six scores of decision values: four at a threshold, and two of the ranking (average precision and AUC).

    The values are those of scikit-learn's six functions. They come from one sort of each class, which takes a small
    part of the time of six calls; most of the cost of an experiment is scoring a large test set.

    Parameters
    ----------
    y : array of shape (n,)
        True labels in {-1, +1}, both present.
    decision : array of shape (n,)
        Decision values. A value above ``threshold`` predicts +1.
    threshold : float, default=0.0

    Returns
    -------
    dict
        A fraction for each name in ``METRICS`` (``mcc``, Matthews' correlation, lies between -1 and 1).

    Examples
    --------
    >>> scores(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))["accuracy"]
    0.75
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
        "auc": 1 - np.mean(ranks.fps - ranks.ties / 2) / negatives,
        "mcc": (float(tp) * tn - float(fp) * fn) / spread if spread else 0.0,
    }
    return {name: float(value) for name, value in result.items()}


def best_threshold(y: np.ndarray, decision: np.ndarray) -> float:
    """Return the threshold with the highest F1 on these rows, half-way between two neighbouring decision values.

    Parameters
    ----------
    y, decision : arrays of shape (n,)
        As for `scores`.

    Examples
    --------
    >>> best_threshold(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    0.75
    """
    ranks = _rank_positives(y, decision)
    f1 = 2 * ranks.tps / (ranks.tps + ranks.fps + len(ranks.positive))
    lowest = ranks.positive[np.argmax(f1)]  # of the values to predict +1 for
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
    below = np.searchsorted(negative, positive)
    return _Ranks(
        positive,
        negative,
        tps=len(positive) - np.searchsorted(positive, positive),
        fps=len(negative) - below,
        ties=np.searchsorted(negative, positive, side="right") - below,
    )
