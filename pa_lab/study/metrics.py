"""Scores of decision values against labels in {-1, +1}."""

import numpy as np
from numba import njit

METRICS = ("accuracy", "balanced_accuracy", "f1", "average_precision", "auc", "mcc")


def scores(y, decision, threshold=0.0):
    """The six scores of a decision: four at a threshold, average precision and AUC from the decision values.

    Only the rows with +1 are sorted, the others counted between them: the values are those of scikit-learn's six
    functions, in a small part of their time, and scoring a large test set is most of what an experiment costs.

    Parameters
    ----------
    y : ndarray of shape (n,). True labels in {-1, +1}, both present.
    decision : ndarray of shape (n,). Decision values; above ``threshold`` means +1.
    threshold : float, default=0.0

    Returns a fraction (MCC: from -1 to 1) for each name in ``METRICS``.

    >>> scores(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))["accuracy"]
    0.75
    """
    tps, fps, ties, positive, negative = _ranked(y, decision)
    positives, negatives = len(positive), len(negative)
    tp, fp = np.sum(positive > threshold), np.sum(negative > threshold)
    tn, fn = negatives - fp, positives - tp
    spread = np.sqrt(float(tp + fp) * (tn + fn) * positives * negatives)
    result = {
        "accuracy": (tp + tn) / len(y),
        "balanced_accuracy": (tp / positives + tn / negatives) / 2,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "average_precision": np.mean(tps / (tps + fps)),
        "auc": 1 - np.mean(fps - ties / 2) / negatives,
        "mcc": (float(tp) * tn - float(fp) * fn) / spread if spread else 0.0,
    }
    return {name: float(value) for name, value in result.items()}


def _ranked(y, decision):
    """For each +1 in rising order: how many +1 and -1 lie at or above it, how many -1 at it; then both classes' values.

    >>> _ranked(np.array([1, -1, 1]), np.array([2.0, 2.0, 3.0]))[:3]
    (array([2, 1]), array([1, 0]), array([1, 0]))
    """
    y, decision = np.asarray(y), np.asarray(decision, dtype=float)
    if y.shape != decision.shape or y.ndim != 1 or not np.isfinite(decision).all():
        raise ValueError(f"decision must hold a finite number for each of {len(y)} labels; got {decision!r}.")
    positive, negative = np.sort(decision[y > 0]), decision[y < 0]
    if not len(positive) or not len(negative) or len(positive) + len(negative) < len(y):
        raise ValueError(f"y must hold both labels, -1 and +1; got {np.unique(y)}.")
    within, at = _counted(positive, negative, np.zeros(8 * len(positive) + 1, dtype=np.intp))
    first = np.searchsorted(positive, positive)
    below = (np.cumsum(within + at) - at)[first]
    return len(positive) - first, len(negative) - below, at[first], positive, negative


@njit(cache=True, error_model="numpy")
def _counted(positive, negative, starts):
    """How many of ``negative`` lie between each ``positive``, sorted, and the one before it, and how many at it.

    ``starts`` is a table of zeros to be filled: the range of ``positive`` in equal steps, and where each step starts
    among them. What a value is compared with is then a step's few, by bisection, instead of all.
    """
    low, high, steps = positive[0], positive[-1], len(starts) - 1
    scale = steps / (high - low) if high > low else 0.0
    if scale == np.inf:
        scale = 0.0
    for x in positive:
        starts[min(int(x * scale - low * scale), steps - 1) + 1] += 1
    for step in range(steps):
        starts[step + 1] += starts[step]
    within, at = np.zeros(len(positive), np.intp), np.zeros(len(positive), np.intp)
    for x in negative:
        if x > high:
            continue
        j = 0
        if x > low:
            step = min(int(x * scale - low * scale), steps - 1)
            j, stop = starts[step], starts[step + 1]
            while j < stop:
                middle = (j + stop) // 2
                if positive[middle] < x:
                    j = middle + 1
                else:
                    stop = middle
        if positive[j] == x:
            at[j] += 1
        else:
            within[j] += 1
    return within, at


def best_threshold(y, decision):
    """The threshold with the highest F1 on these rows: half-way between two neighbouring decision values.

    >>> best_threshold(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    0.75
    """
    tps, fps, _, positive, _ = _ranked(y, decision)
    lowest = positive[np.argmax(2 * tps / (tps + fps + len(positive)))]  # of the values taken as +1
    below = decision[decision < lowest]
    return float((lowest + below.max()) / 2 if len(below) else np.nextafter(lowest, -np.inf))


def scores_at_best_threshold(
    y_train: np.ndarray, train_decision: np.ndarray, y: np.ndarray, decision: np.ndarray
) -> dict[str, float]:
    """Return the scores of test rows at the threshold that has the best F1 on the training rows.

    The test labels take no part in the choice of the threshold. To cut at a threshold of your own, call `scores` with
    ``threshold``; to see which one is chosen here, call `best_threshold`.

    Parameters
    ----------
    y_train, train_decision : ndarray of shape (n_train,)
        Labels in {-1, +1} and decision values of the rows trained on.
    y, decision : ndarray of shape (n,)
        Labels in {-1, +1} and decision values of the rows to score.

    >>> train, test = np.array([-2.0, 0.5, 1.0, 3.0]), np.array([-1.0, 0.7, 0.9, 2.0])
    >>> y = np.array([-1, -1, 1, 1])
    >>> scores(y, test)["f1"], scores_at_best_threshold(y, train, y, test)["f1"]
    (0.8, 1.0)
    """
    return scores(y, decision, best_threshold(y_train, train_decision))
