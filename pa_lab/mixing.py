"""Parameter mixing: train a linear model on several blocks of rows at once, on many cores or machines."""

from copy import deepcopy

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import shuffle
from sklearn.utils.parallel import Parallel, delayed

from pa_lab.base import as_generator
from pa_lab.linear import LinearEstimator


def mix(model, blocks, rounds=3, n_jobs=None, classes=None):
    """Train a copy of ``model`` by iterative parameter mixing and return it.

    In each round every block s starts from the same weights ``w``, makes one pass over its own rows to get ``w_s``,
    and the mean takes their place: ``w = 1/S sum_s w_s`` (McDonald, Hall and Mann, 2010, Distributed Training
    Strategies for the Structured Perceptron, NAACL, figure 3, with uniform mixing). On separable data the number of
    mistakes of the perceptron stays bounded. One block and one round is one call of `partial_fit`.

    Parameters
    ----------
    model : PAClassifier or PARegressor
        What to train; it is left as it is. With ``average`` the averaged weights are mixed, and each round goes on
        from them. With ``shuffle`` each block is shuffled anew in each round.
    blocks : list of (X, y), or of functions that return (X, y)
        The rows of each block. A function is called where the block is trained, so that only that worker holds it.
    rounds : int >= 1, default=3
        Passes over all blocks, with one exchange of weights after each; the model's ``max_iter`` must be 1.
    n_jobs : int or None, default=None
        Blocks trained at a time, for joblib; `joblib.parallel_config` chooses where, for example ``backend="dask"``.
    classes : array of shape (n_classes,), default=None
        All labels, needed where ``blocks`` holds functions.

    Returns
    -------
    PAClassifier or PARegressor
        The mixed model. Its counters are sums over blocks and rounds.

    Raises
    ------
    TypeError, ValueError
        If the model is not linear, asks for labels or makes several passes; without blocks, rounds or needed classes.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> X, y = np.array([[2.0, 1.0], [-2.0, 0.0], [1.0, 3.0], [-1.0, -2.0]]), np.array([1, -1, 1, -1])
    >>> mix(PAClassifier(C=0.1), [(X[:2], y[:2]), (X[2:], y[2:])]).predict(X).tolist()
    [1, -1, 1, -1]
    """
    blocks = list(blocks)
    if not blocks or rounds < 1:
        raise ValueError(f"mix needs at least one block and one round; got {len(blocks)} blocks and rounds={rounds}.")
    if not isinstance(model, LinearEstimator):
        raise TypeError(f"mix takes the mean of weights: pass a PAClassifier or PARegressor, not {model!r}.")
    if getattr(model, "query", "all") != "all" or getattr(model, "label_budget", None) is not None:
        raise ValueError("mix reads every label in every round: pass a model with query='all' and no label_budget.")
    if model.max_iter != 1:
        raise ValueError(f"mix makes rounds={rounds} passes over each block: pass a model with max_iter=1, not "
                         f"{model.max_iter}, and set rounds.")  # fmt: skip
    options = {"classes": _all_classes(blocks, classes)} if is_classifier(model) else {}
    mixed, counts, draws = clone(model), [None] * len(blocks), as_generator(model.random_state)
    for _ in range(rounds):
        seeds = draws.integers(2**31, size=len(blocks)).tolist() if model.shuffle else counts
        parts = Parallel(n_jobs=n_jobs)(
            delayed(_one_pass)(mixed, *each, options) for each in zip(blocks, counts, seeds, strict=True)
        )
        counts = [part._counts for part in parts]
        mixed = deepcopy(parts[0])
        mixed.coef_ = np.mean([part.coef_ for part in parts], axis=0)
        mixed.intercept_ = np.mean([part.intercept_ for part in parts], axis=0)
    mixed._counts = np.sum(counts, axis=0)
    return mixed


def _one_pass(model, block, counts, seed, options):
    """Train a copy of the model on one block, whose mean counts the examples of this block only."""
    X, y = block() if callable(block) else block
    if model.shuffle:
        X, y = shuffle(X, y, random_state=seed)
    part = deepcopy(model)
    part._counts = counts
    return part.partial_fit(X, y, **options)


def _all_classes(blocks, classes):
    """Return the labels of all blocks, sorted."""
    if classes is not None:
        return np.unique(classes)
    if any(callable(block) for block in blocks):
        raise ValueError("mix cannot see the labels of blocks that are functions: pass classes=[...] with all of them.")
    return np.unique(np.concatenate([np.unique(y) for _, y in blocks]))
