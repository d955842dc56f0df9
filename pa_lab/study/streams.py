"""Streams in their own order of time: reading them block by block, refitting on the last rows, and what is remembered.

Labels are -1 and +1; a decision above 0 means +1.
"""

from functools import cache, lru_cache
from time import process_time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_consistent_length

from pa_lab.kernel import KernelPAClassifier
from pa_lab.linear import PAClassifier
from pa_lab.study import datasets, newswire
from pa_lab.study.experiments import peak_memory, progressive, timed, trace


def scaled_so_far(X: np.ndarray, cut: float = 5.0) -> np.ndarray:
    """Return each row in means and standard deviations of all rows before it, cut at plus and minus ``cut``.

    Nothing of a row's own time or later is used, so a live stream can be scaled in the same way. A column that has not
    varied before a row has no scale yet, and is 0 there.

    Parameters
    ----------
    X : array of shape (n, d)
    cut : float, default=5.0
        Standard deviations beyond which a value is cut.

    Examples
    --------
    >>> scaled_so_far(np.array([[1.0], [3.0], [4.0], [99.0]])).ravel().tolist()  # 4 is two above the mean of 1 and 3
    [0.0, 0.0, 2.0, 5.0]
    """
    Z = X - X[0]  # a column that has not varied is exactly 0, and sums of squares lose few digits
    none, rows = np.zeros((1, X.shape[1])), np.maximum(np.arange(len(X)), 1)[:, None]
    mean = np.vstack([none, np.cumsum(Z, axis=0)[:-1]]) / rows
    square = np.vstack([none, np.cumsum(Z**2, axis=0)[:-1]]) / rows
    std = np.sqrt(np.maximum(square - mean**2, 0))
    return np.clip(np.divide(Z - mean, std, out=np.zeros_like(Z), where=std > 0), -cut, cut)


@cache
def prepared(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a drifting stream with a last column of ones, for the intercept, and the labels.

    Parameters
    ----------
    name : {"electricity", "electricity, unscaled", "weather"}
        Electricity is `scaled_so_far`. Unscaled it comes as it is published: each column between 0 and 1, most prices
        below a sixth, and three columns constant for the first 17,000 rows. Weather is given in means and standard
        deviations of its first year, and cut at five. It has two pressures of 5,500 hectopascals, which would stretch
        the standard deviation of all later rows.
    """
    data = datasets.load(name.partition(",")[0])
    X, first = data.X, data.X[:365]
    if name == "weather":
        X = np.clip((X - first.mean(axis=0)) / first.std(axis=0), -5, 5)
    elif name == "electricity":
        X = scaled_so_far(X)
    return np.column_stack([X, np.ones(len(X))]), data.y


def weights_before(C: float, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of PA-I before each row, as an array of shape (n, d): the sum of all steps until then.

    >>> weights_before(1.0, np.array([[2.0], [1.0], [1.0]]), np.array([1, -1, 1])).tolist()
    [[0.0], [0.5], [-0.5]]
    """
    tau = trace(PAClassifier(C=C, fit_intercept=False), X, y)["tau"].to_numpy()
    return np.vstack([np.zeros(X.shape[1]), np.cumsum((tau * y)[:, None] * X, axis=0)[:-1]])


def decisions(X: np.ndarray, y: np.ndarray, C: float, weights: str = "last", delay: int = 0) -> np.ndarray:
    """Return the scores of PA-I for each row of a stream, before it is learnt.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    C : float
    weights : {"last", "last 100", "average"}, default="last"
        What decides: the weights before the row, or their mean over the last 100 rows or over all rows until then.
    delay : int, default=0
        Rows after which a label arrives.

    Examples
    --------
    >>> decisions(np.array([[2.0], [1.0], [1.0]]), np.array([1, -1, 1]), C=1.0).tolist()
    [0.0, 0.5, -0.5]
    """
    return scores_by(weights_before(C, X, y), X, weights, delay)


def scores_by(W: np.ndarray, X: np.ndarray, weights: str = "last", delay: int = 0) -> np.ndarray:
    """Return what `decisions` does, from the weights before each row."""
    if weights != "last":
        W = np.cumsum(W, axis=0)  # a sum has the sign of the mean
    if weights == "last 100":
        W = W - late(W, 100)
    return np.sum(late(W, delay) * X, axis=1)


@lru_cache(maxsize=1)
def weights_along(stream: str, C: float) -> np.ndarray:
    """Return `weights_before` on a `prepared` stream; the last one is kept, as many ways of deciding share it."""
    return weights_before(C, *prepared(stream))


def late(values: np.ndarray, rows: int) -> np.ndarray:
    """Return what stood in an array so many rows before; its first entry where there is no such row.

    >>> late(np.array([0, 1, 2, 3]), 2).tolist()
    [0, 0, 0, 1]
    """
    return values[np.maximum(np.arange(len(values)) - rows, 0)]


def votes(labels: np.ndarray, rows: int) -> np.ndarray:
    """Return the sum of the last so many labels at each row.

    >>> votes(np.array([1, 1, -1, -1]), 2).tolist()
    [1, 2, 0, -2]
    """
    sums = np.cumsum(labels)
    return sums - np.r_[np.zeros(min(rows, len(sums)), sums.dtype), sums[:-rows]]


def errors(decision: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the percentage of mistakes in the second tenth of a stream, to choose by, and after it, to judge by.

    >>> errors(np.ones(10), np.array([1, -1, 1, 1, 1, 1, 1, 1, -1, -1]))
    {'early': 100.0, 'error': 25.0}
    """
    wrong, tenth = 100 * ((decision > 0) != (y > 0)), len(y) // 10
    return {"early": float(wrong[tenth : 2 * tenth].mean()), "error": float(wrong[2 * tenth :].mean())}


def by_block(decision: np.ndarray, y: np.ndarray, rows: int = 500) -> np.ndarray:
    """Return the percentage of mistakes in each full block of rows after the second tenth of a stream.

    >>> by_block(np.ones(10), np.array([1, -1, 1, 1, 1, 1, 1, 1, -1, -1]), rows=4).tolist()
    [0.0, 50.0]
    """
    wrong = 100 * ((decision > 0) != (y > 0))[2 * (len(y) // 10) :]
    return wrong[: len(wrong) // rows * rows].reshape(-1, rows).mean(axis=1)


def judged(decision: np.ndarray, y: np.ndarray) -> dict:
    """Return the `errors` of a decision and, as ``blocks``, those `by_block`."""
    return errors(decision, y) | {"blocks": by_block(decision, y)}


def follow(model: BaseEstimator, X: np.ndarray, y: np.ndarray, block: int = 500) -> dict:
    """Let a model learn a stream row by row, and return its mistakes on the way, as `judged` does for decisions.

    Parameters
    ----------
    model : classifier of `pa_lab`, two classes
        It learns through ``partial_fit`` and counts its own mistakes, each made before the update.
    X, y : arrays of shape (n, d) and (n,)
    block : int, default=500
        Rows in a block.

    Returns
    -------
    dict
        Percentages of mistakes: ``early`` in the second tenth of the stream and ``error`` after it, and ``blocks``, an
        array with those of each full block after the second tenth.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> found = follow(PAClassifier(), np.ones((10, 1)), np.tile([1, 1, 1, -1, -1], 2), block=4)
    >>> found["early"], found["error"], found["blocks"].tolist()
    (0.0, 37.5, [50.0, 25.0])
    """
    tenth, counts = len(y) // 10, []
    for rows in np.split(np.arange(len(y)), [tenth, *range(2 * tenth, len(y), block)]):
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
        counts.append(model.n_mistakes_)
    first, *wrong = 100 * np.diff(counts)
    full = np.array(wrong[: (len(y) - 2 * tenth) // block])
    return {"early": float(first / tenth), "error": float(sum(wrong) / (len(y) - 2 * tenth)), "blocks": full / block}


def linear(stream: str, C: float, weights: str = "last", delay: int = 0) -> dict:
    """Predict a `prepared` stream with PA-I in one pass, and return its mistakes as `judged` does (see `decisions`)."""
    X, y = prepared(stream)
    return judged(scores_by(weights_along(stream, C), X, weights, delay), y)


def kernel(stream: str, policy: str, gamma: float, C: float, budget: int = 100) -> dict:
    """Predict a `prepared` stream with kernel PA-I within a budget, and return its mistakes as `judged` does.

    Parameters
    ----------
    stream : str
    policy : str
        Which support vector to give up; a ``budget_policy`` of `pa_lab.KernelPAClassifier`.
    gamma, C : float
    budget : int, default=100
        Support vectors to keep.
    """
    model = KernelPAClassifier(gamma=gamma, C=C, budget=budget, budget_policy=policy)
    return follow(model, *prepared(stream))


def rival(stream: str, method: str, window: int, delay: int = 0) -> dict:
    """Predict a `prepared` stream from its last rows alone, and return the mistakes as `judged` does.

    Parameters
    ----------
    stream : str
    method : {"no change", "majority", "refitted", "PA refitted"}
        The majority of the last labels that have come, which is "no change" in a window of 1; or a logistic regression,
        or averaged PA-I with ten shuffled passes, `Refitted` every 250 rows.
    window : int
        How many of the last rows.
    delay : int, default=0
        Rows after which a label arrives.
    """
    X, y = prepared(stream)
    models = {"refitted": LogisticRegression(C=10.0, solver="newton-cholesky")}
    models["PA refitted"] = PAClassifier(C=1.0, average=True, max_iter=10, shuffle=True, random_state=0)
    if method in models:
        model = Refitted(models[method], window, every=250)
        return judged(progressive(model, X, y, 250, np.arange(len(y)) + delay), y)
    return judged(votes(late(y, 1 + delay), window), y)


def memory(stream: str, C: float) -> dict[str, float]:
    """Return how fast PA-I forgets a `prepared` stream.

    Returns a dict with its ``half_life``; ``repeats``, the percentage of rows in which it predicts the label of the row
    before; ``no_change``, the percentage of mistakes of one who always does (see `errors`); and ``shortened``, the
    percentage of rows whose step is as long as C allows.
    """
    X, y = prepared(stream)
    before = late(y, 1)
    steps = trace(PAClassifier(C=C, fit_intercept=False), X, y)["tau"]
    W = weights_before(C, X, y)
    found = {"half_life": half_life(W, X, y), "no_change": errors(before, y)["error"]}
    found |= {"repeats": float(100 * np.mean(scores_by(W, X) * before > 0))}
    return found | {"shortened": float(100 * np.mean(steps >= C))}


def half_life(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return after how many rows half of what learning a row brought is lost again; NaN if it brought next to nothing.

    Just after a step most rows are on their right side. Of the share that is, above the share in the long run (the mean
    over 1,000 to 5,000 rows later), half is gone after the half-life.

    Parameters
    ----------
    W : array of shape (n, d)
        The weights before each row.
    X, y : arrays of shape (n, d) and (n,)

    Examples
    --------
    >>> X, y = np.ones((9000, 1)), np.random.default_rng(0).choice([-1, 1], 9000)
    >>> half_life(np.vstack([[0.0], y[:-1, None]]), X, y)  # each row is forgotten with the next
    2.0
    """
    lags = np.unique(np.geomspace(1, min(5000, len(y) // 2), 60).astype(int))
    right = np.array([np.mean((W[lag:] * X[:-lag]).sum(axis=1) * y[:-lag] > 0) for lag in lags])
    rest = right[-10:].mean()
    if right[0] - rest < 0.03:
        return np.nan
    return float(lags[np.argmax(right <= (right[0] + rest) / 2)])


def reading_cost(models: dict[str, BaseEstimator], topic: str = "acq", block: int = 1000) -> pd.DataFrame:
    """Read the newswire once, block by block, and measure what it costs to hash a block and to let each model learn it.

    Call it through `experiments.in_new_process`, so that the memory is that of this one run.

    Parameters
    ----------
    models : dict of str to estimator
        Anything with ``partial_fit``. They learn the same blocks in turn.
    topic : str, default="acq"
    block : int, default=1000
        Stories in a block.

    Returns
    -------
    DataFrame
        A row per full block: ``hashing`` and a column for each model, in seconds of processor time, and ``peak_mb``,
        the most memory the process has held so far.
    """
    stories = datasets.load("reuters21578").stories
    y = newswire.labels(stories, topic)
    hashing, rows = HashingVectorizer(n_features=2**18, alternate_sign=False), []
    for start in range(0, len(stories) - block + 1, block):
        part = slice(start, start + block)
        times = {}
        X, times["hashing"] = timed(hashing.transform, stories["text"][part], clock=process_time)
        for name, model in models.items():
            _, times[name] = timed(model.partial_fit, X, y[part], [-1, 1], clock=process_time)
        rows.append(times | {"peak_mb": peak_memory()})
    return pd.DataFrame(rows)


class Refitted(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted anew, every so many rows, to the last rows it was given.

    Parameters
    ----------
    model : classifier
        Any of scikit-learn's. Several passes over the window are its own ``max_iter`` and ``shuffle``.
    window : int, default=10,000
        Rows to keep. While there are fewer, it is fitted to what there is, as soon as both classes are.
    every : int, default=1000
        Rows between two fits; fewer at the start, when a fit waits until the rows have doubled.

    Examples
    --------
    >>> model = Refitted(PAClassifier(max_iter=5, shuffle=True, random_state=0), window=100, every=10)
    >>> model.partial_fit(np.array([[0.0], [2.0]] * 20), np.array([-1, 1] * 20)).predict([[3.0]]).tolist()
    [1]
    """

    def __init__(self, model, window=10_000, every=1000):
        self.model, self.window, self.every = model, window, every

    def partial_fit(self, X, y, classes=None):
        """Keep the last rows; fit to them if enough are new."""
        check_consistent_length(X, y)
        if not hasattr(self, "rows_"):
            self.rows_, self.labels_, self.new_, self.model_, self.classes_ = X[:0], y[:0], 0, None, classes
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        self.rows_ = stack([self.rows_, X])[-self.window :]
        self.labels_ = np.concatenate([self.labels_, y])[-self.window :]
        self.new_ += len(y)
        if self.new_ >= min(self.every, len(self.labels_) / 2) and len(np.unique(self.labels_)) > 1:
            self.model_, self.new_ = clone(self.model).fit(self.rows_, self.labels_), 0
        return self

    def decision_function(self, X):
        """Return the scores of rows, 0 before the first fit."""
        return np.zeros(X.shape[0]) if self.model_ is None else self.model_.decision_function(X)

    def predict(self, X):
        """Predict a label for each row, that of the score or, before the first fit, of the majority."""
        if self.model_ is not None:
            return self.model_.predict(X)
        labels, counts = np.unique(self.labels_, return_counts=True)
        return np.full(np.shape(X)[0], labels[np.argmax(counts)])


class LastLabels(BaseEstimator):
    """The rule that looks at no row: its score is the mean of the last labels, which with one is to repeat the last."""

    def __init__(self, rows=1):
        self.rows = rows

    def partial_fit(self, X, y, classes=None):
        """Keep the last labels."""
        self.labels_ = np.append(getattr(self, "labels_", y[:0]), y)[-self.rows :]
        return self

    def decision_function(self, X):
        """Return the same score for all rows."""
        return np.full(X.shape[0], self.labels_.mean())
