"""How every experiment is run: repetition over seeds, folds and settings, tuning, progressive validation, tracing.

Labels are -1 and +1, decision values are what ``decision_function`` returns, and a frame has one row per run ("long
form").
"""

import os
import sys
import time
import timeit
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from pa_lab import PAClassifier, PARegressor
from pa_lab.study.fits import cached_fit, dyadic  # noqa: F401 (part of this interface)
from pa_lab.study.metrics import best_threshold, scores
from pa_lab.study.standin import misfire_blocks

Matrix = np.ndarray | sp.spmatrix | sp.sparray
Splits = Sequence[tuple[np.ndarray, np.ndarray]]  # training and test rows
Estimators = dict[str, BaseEstimator]


def decision_values(model: BaseEstimator, X: Matrix) -> np.ndarray:
    """Return the decision values of a fitted linear model, from its weights.

    For LIBSVM this is faster than its own ``decision_function``, which sums over the support vectors.

    >>> from sklearn.svm import SVC
    >>> decision_values(SVC(kernel="linear").fit([[0.0], [2.0]], [-1, 1]), np.array([[2.0]])).round(3).tolist()
    [1.0]
    """
    check_is_fitted(model)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return X @ coef.ravel() + model.intercept_


# ---------------------------------------------------------------- sweeps


def grid(**axes: Iterable) -> list[dict]:
    """Return every combination of the named axes, as a list of dicts in a fixed order.

    >>> grid(C=[0.1, 1.0], seed=range(2))[1]
    {'C': 0.1, 'seed': 1}
    """
    lists = {}
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"{name} must be a list of values to try, such as [{values!r}]; got {values!r}.")
        lists[name] = list(values)
        if not lists[name]:
            raise ValueError(f"{name} must hold at least one value to try; got {values!r}.")
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def sweep(
    run: Callable[..., dict | list[dict]], settings: list[dict], n_jobs: int = -1, label: str = "runs", **shared
) -> pd.DataFrame:
    """Call ``run(**setting, **shared)`` for every setting, in parallel through joblib, and return the results.

    The result does not depend on ``n_jobs`` or on the backend as long as ``run`` draws its randomness from a seed in
    its setting. ``with joblib.parallel_config(backend="dask"):`` spreads the same sweep over a cluster.

    Parameters
    ----------
    run : callable
        Returns a dict of results, or a list of such dicts.
    settings : list of dict
        What to call it with, as from `grid`.
    n_jobs : int, default=-1
        Number of worker processes. -1 means one per core, or ``LOKY_MAX_CPU_COUNT`` if that is set.
    label : str, default="runs"
        Name of the progress bar. ``PA_LAB_PROGRESS=0`` in the environment hides the bar.
    **shared
        Arguments that are the same for every call, such as the data.

    Returns
    -------
    DataFrame
        A row per result, in the order of the settings: the columns of the setting, then of the result.

    Examples
    --------
    >>> sweep(lambda C: {"twice": 2 * C}, grid(C=[1, 2]), n_jobs=1)["twice"].tolist()
    [2, 4]
    """
    jobs = (delayed(run)(**setting, **shared) for setting in settings)
    hidden = os.environ.get("PA_LAB_PROGRESS") == "0"
    with warnings.catch_warnings(), tqdm(total=len(settings), desc=label, leave=False, disable=hidden) as bar:
        warnings.filterwarnings("ignore", "A worker stopped")  # joblib renews workers that hold much memory
        rows = []
        for setting, result in zip(settings, Parallel(n_jobs=n_jobs, return_as="generator")(jobs), strict=True):
            rows += _rows_of(setting, result)
            bar.update()
    return pd.DataFrame(rows)


def _rows_of(setting, result):
    """Return the rows that one call adds to a sweep."""
    if not isinstance(result, dict | list):
        raise TypeError(f"run must return a dict or a list of dicts; for {setting} it returned {result!r}.")
    results = result if isinstance(result, list) else [result]
    for row in results:
        for name in setting.keys() & row.keys():
            if row[name] is not setting[name] and not np.array_equal(row[name], setting[name]):
                raise ValueError(f"run must not overwrite its setting: for {setting} it returned {name} = "
                                 f"{row[name]!r}. Give this result another name.")  # fmt: skip
    return [setting | row for row in results]


# ---------------------------------------------------------------- parts of a data set


def train_and_test(data: Bunch, most: int | None = None) -> tuple[Matrix, np.ndarray, Matrix, np.ndarray]:
    """Return training rows, their labels, test rows and their labels.

    A set without a test part is split at random, three to one, and its columns are standardised by the training rows.

    Parameters
    ----------
    data : Bunch
        From `pa_lab.datasets.load`.
    most : int, optional
        Keep at most so many rows of a test part that comes with the set, drawn at random.

    Examples
    --------
    >>> data = Bunch(X=np.arange(8.0).reshape(8, 1), y=np.tile([-1, 1], 4))
    >>> [part.shape for part in train_and_test(data)]
    [(6, 1), (6,), (2, 1), (2,)]
    """
    if "X_test" in data:
        test = (data.X_test, data.y_test) if most is None else draw(data.X_test, data.y_test, most, seed=0)
        return data.X_train, data.y_train, *test
    X, X_test, y, y_test = train_test_split(data.X, data.y, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def draw(X: Matrix, y: np.ndarray, n: int, seed: int | Sequence[int]) -> tuple[Matrix, np.ndarray]:
    """Return ``n`` random rows (all, if there are no more) in random order, and their labels.

    >>> draw(np.eye(3), np.array([1, -1, -1]), 2, seed=0)[1].tolist()
    [-1, 1]
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[rows], y[rows]


def drawn_parts(data: Bunch, n: int, seed: int) -> tuple[Matrix, np.ndarray, Matrix, np.ndarray]:
    """Draw training and test rows from the training part of a data set, with the shares of the classes kept.

    Parameters
    ----------
    data : Bunch
        From `pa_lab.datasets.load`.
    n : int
        Training rows; at most seven tenths of what there is. There are 3/7 as many test rows.
    seed : int

    Returns
    -------
    tuple
        Training rows, their labels, test rows and their labels. Columns are divided by their largest absolute value
        among the training rows.

    Examples
    --------
    >>> data = Bunch(X=np.arange(20.0).reshape(20, 1), y=np.tile([-1, 1], 10))
    >>> [part.shape for part in drawn_parts(data, 10, seed=0)]
    [(10, 1), (10,), (4, 1), (4,)]
    """
    X, y = (data.X, data.y) if "X" in data else (data.X_train, data.y_train)
    n = min(n, 7 * len(y) // 10)
    sizes = {"train_size": n, "test_size": 3 * n // 7}
    X, X_test, y, y_test = train_test_split(X, y, **sizes, stratify=y, random_state=seed)
    scaler = MaxAbsScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


# ---------------------------------------------------------------- folds and tuning


def cross_validate(
    estimators: Estimators, X: Matrix, y: np.ndarray, splits: Splits, n_jobs: int = -1, label: str = "folds"
) -> pd.DataFrame:
    """Fit each named estimator on the training rows of each split and score it on the test rows.

    Parameters
    ----------
    estimators : dict of str to estimator
        What to compare.
    X, y : arrays of shape (n, d) and (n,)
    splits : list of (train, test) index arrays
        For example ``list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))``.

    Returns
    -------
    DataFrame
        Columns ``method``, ``fold`` and the six `scores`.
    """
    return _score_folds(estimators, [{}], X, y, splits, n_jobs, label)


def tuning_curves(
    estimators: Estimators,
    values: Sequence[float],
    X: Matrix,
    y: np.ndarray,
    splits: Splits,
    n_jobs: int = -1,
    label: str = "tuning",
) -> pd.DataFrame:
    """As `cross_validate`, at each value of the parameter ``C``, which becomes a column after ``fold``."""
    return _score_folds(estimators, grid(C=values), X, y, splits, n_jobs, label)


def _score_folds(estimators, parameters, X, y, splits, n_jobs, label):
    folds = grid(method=list(estimators), fold=range(len(splits)))
    shared = {"estimators": estimators, "parameters": parameters, "X": X, "y": y, "splits": splits}
    return sweep(_score_fold, folds, n_jobs, label, **shared)


def _score_fold(method, fold, estimators, parameters, X, y, splits):
    """Return the scores of one estimator on one fold, a row for each choice of its parameters."""
    train, test = splits[fold]
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    model, rows = clone(estimators[method]), []
    for chosen in parameters:
        model.set_params(**chosen).fit(X_train, y_train)
        rows.append(chosen | scores(y_test, decision_values(model, X_test)))
    return rows


def tuned_fits(
    model: BaseEstimator, values: Sequence[float], X: Matrix, y: np.ndarray, X_check: Matrix, y_check: np.ndarray
) -> pd.DataFrame:
    """Fit a linear model with each value of ``C`` and score it on other rows, at the threshold with the best F1 there.

    Parameters
    ----------
    model : estimator
        With the parameter ``C`` and, once fitted, ``coef_``.
    values : sequence of float
        Values of ``C``.
    X, y : arrays of shape (n, d) and (n,)
        Rows to learn.
    X_check, y_check : arrays of shape (m, d) and (m,)
        Rows to choose ``C`` and the threshold by.

    Returns
    -------
    DataFrame
        A row for each value: ``C``, the fitted ``model``, its ``threshold`` and the six `scores`.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [1.0]]), np.array([-1, 1])
    >>> tuned_fits(PAClassifier(), [0.1, 1.0], X, y, X, y)[["C", "f1"]].values.tolist()
    [[0.1, 1.0], [1.0, 1.0]]
    """
    rows = []
    for C in values:
        fitted = clone(model).set_params(C=C).fit(X, y)
        decision = decision_values(fitted, X_check)
        threshold = best_threshold(y_check, decision)
        rows.append({"C": C, "model": fitted, "threshold": threshold} | scores(y_check, decision, threshold))
    return pd.DataFrame(rows)


def chosen_scores(
    models: Estimators, values: Sequence[float], X: Matrix, y: np.ndarray, X_test: Matrix, y_test: np.ndarray, seed: int
) -> dict:
    """Choose a model and its ``C`` by the AUC on a third of the training rows, fit it to all, and score the test rows.

    Parameters
    ----------
    models : dict of str to estimator
        What to choose from.
    values : sequence of float
        Values of ``C``.
    X, y, X_test, y_test : arrays
        As from `drawn_parts`.
    seed : int
        Seed of the third that is held out; the classes keep their shares.

    Returns
    -------
    dict
        With ``method``, ``C`` and the six `scores`.

    Examples
    --------
    >>> X, y = np.tile([[-2.0], [1.0]], (6, 1)), np.tile([-1, 1], 6)
    >>> found = chosen_scores({"PA-I": PAClassifier()}, [0.1, 1.0], X, y, X, y, seed=0)
    >>> found["method"], found["C"], found["auc"]
    ('PA-I', 0.1, 1.0)
    """
    third = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=seed).split(X, y)
    curves = tuning_curves(models, values, X, y, list(third), n_jobs=1)
    method, C = curves.groupby(["method", "C"])["auc"].mean().idxmax()
    model = clone(models[method]).set_params(C=C).fit(X, y)
    return {"method": method, "C": float(C)} | scores(y_test, decision_values(model, X_test))


# ---------------------------------------------------------------- along a stream


def progressive(model: PAClassifier | PARegressor, X: Matrix, y: np.ndarray, every: int = 500) -> pd.DataFrame:
    """Test, then train: feed the rows in order and return the counters as the stream goes by.

    Parameters
    ----------
    model : PAClassifier or PARegressor
        It learns through ``partial_fit``. Its own counters are read, so each mistake was made before its update.
    X, y : arrays of shape (n, d) and (n,)
    every : int, default=500
        Rows between two readings.

    Returns
    -------
    DataFrame
        Columns ``seen``, ``mistakes``, ``updates`` and ``queries``; one row per reading and one at the end.
    """
    if not every >= 1:
        raise ValueError(f"every must be at least 1 row; got {every!r}.")
    options = {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
    rows = []
    for start in range(0, X.shape[0], every):
        model.partial_fit(X[start : start + every], y[start : start + every], **options)
        rows.append((model.n_seen_, model.n_mistakes_, model.n_updates_, model.n_queries_))
    return pd.DataFrame(rows, columns=["seen", "mistakes", "updates", "queries"])


def trace(model: PAClassifier | PARegressor, X: Matrix, y: np.ndarray) -> pd.DataFrame:
    """Fit a model in one pass over the rows as they stand, and return what happened at every step.

    Parameters
    ----------
    model : PAClassifier (two classes) or PARegressor
        Fitted from zero, as by ``fit``. It must make a single pass, without shuffling.
    X, y : arrays of shape (n, d) and (n,)

    Returns
    -------
    DataFrame
        One row per example: ``score`` before the update; ``tau``, 0 where nothing moved; ``loss`` before the update
        (the tube's in regression, else the hinge loss, for PALS too); ``asked``, whether the label was read.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> trace(PAClassifier(fit_intercept=False), np.array([[2.0], [1.0]]), np.array([1, -1])).values.tolist()
    [[0.0, 0.25, 1.0, True], [0.5, 1.0, 1.5, True]]
    """
    if not isinstance(model, PAClassifier | PARegressor):
        raise TypeError(f"model must be a PAClassifier or PARegressor; got {model!r}.")
    classifies = isinstance(model, PAClassifier)
    if classifies and len(np.unique(y)) > 2:
        raise ValueError("trace is for two classes: with more, a step has no single score.")
    for name, value in {"max_iter": 1, "shuffle": False, "warm_start": False}.items():
        if getattr(model, name) != value:
            raise ValueError(f"trace follows one pass over the rows as they stand: it needs {name}={value!r}; "
                             f"got {getattr(model, name)!r}.")  # fmt: skip
    record = np.zeros((len(y), 2))
    model._fit_traced(X, y, record)
    p, tau = record.T
    if classifies:
        loss = np.maximum(0.0, 1.0 - np.where(np.equal(y, model.classes_[1]), 1.0, -1.0) * p)
    else:
        loss = np.maximum(0.0, abs(np.asarray(y, dtype=float) - p) - model.epsilon)
    return pd.DataFrame({"score": p, "tau": np.nan_to_num(tau), "loss": loss, "asked": ~np.isnan(tau)})


def first_reach(x: Sequence[float], curve: Sequence[float], target: float) -> float:
    """Return the smallest ``x`` at which a curve reaches a target, on straight lines over ``log x``.

    Parameters
    ----------
    x : array of shape (n,)
        Positive and rising: for example the labels that a method asked for.
    curve : array of shape (n,)
        What it reached with them. Where the curve falls, its best value so far counts.
    target : float

    Returns
    -------
    float
        ``x[0]`` if the curve starts at the target or above it, infinity if it never gets there.

    Examples
    --------
    >>> round(first_reach([1, 100, 1000], [0.5, 0.7, 0.8], 0.6), 6), first_reach([1, 100], [0.5, 0.7], 0.9)
    (10.0, inf)
    """
    if not len(x) == len(curve) > 0 or not np.isfinite(curve).all() or not (np.diff(x, prepend=0.0) > 0).all():
        raise ValueError(f"x must rise from above 0, with a finite number in curve for each; got {x!r} and {curve!r}.")
    best = np.maximum.accumulate(curve)
    j = int(np.searchsorted(best, target))
    if j == 0:
        return float(x[0])
    if j == len(curve):
        return np.inf
    share = (target - best[j - 1]) / (curve[j] - best[j - 1])
    return float(np.exp((1 - share) * np.log(x[j - 1]) + share * np.log(x[j])))


# ---------------------------------------------------------------- label noise


def flip_labels(
    y: np.ndarray,
    rate: float,
    rng: np.random.Generator,
    among: int | None = None,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return a copy of ``y`` with a share of its labels flipped, drawn without replacement.

    Parameters
    ----------
    y : array of shape (n,)
        Labels in {-1, +1}.
    rate : float in [0, 1]
        Share of the candidates to flip, rounded to a whole number of rows.
    rng : numpy.random.Generator
    among : {-1, +1} or None, default=None
        Flip only labels of this sign.
    weight : array of shape (n,), optional
        Draw in proportion to these, instead of uniformly.

    Examples
    --------
    >>> flip_labels(np.ones(4), 0.5, np.random.default_rng(0)).sum()
    np.float64(0.0)
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be between 0 and 1; got {rate!r}.")
    if among not in (None, -1, 1) or not np.isin(y, (-1, 1)).all():
        raise ValueError(f"y must hold -1 and +1, and among be one of them or None; got {np.unique(y)} and {among!r}.")
    candidates = np.arange(len(y)) if among is None else np.flatnonzero(y == among)
    flipped = np.array(y)
    chance = None if weight is None else weight[candidates] / weight[candidates].sum()
    flipped[rng.choice(candidates, round(rate * len(candidates)), replace=False, p=chance)] *= -1
    return flipped


# ---------------------------------------------------------------- time and memory


def timed(function: Callable, *args, clock: Callable[[], float] = time.perf_counter) -> tuple[object, float]:
    """Call a function and return its result with the seconds it took, by a clock.

    >>> timed(abs, -2)[0]
    2
    """
    start = clock()
    result = function(*args)
    return result, clock() - start


def peak_memory() -> float:
    """Return the most memory that this process has held so far, in MB.

    >>> peak_memory() > 10
    True
    """
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def timed_fit(model, X, y):
    """Fit a clone and return it with the seconds it took.

    >>> from sklearn.linear_model import LinearRegression
    >>> timed_fit(LinearRegression(), [[0.0], [1.0]], [0.0, 1.0])[1] > 0
    True
    """
    return timed(clone(model).fit, X, y)


def least_seconds(run: Callable[[], object], repeat: int) -> float:
    """Return the least processor time that a call took, in seconds, among several.

    >>> least_seconds(lambda: sum(range(1000)), repeat=3) > 0
    True
    """
    return min(timeit.repeat(run, number=1, repeat=repeat, timer=time.process_time))


def stream_cost(marks: Sequence[int], seed: int = 0) -> pd.DataFrame:
    """Learn a generated stream with PA-I, block by block, and return what it costs.

    Call it through `in_new_process` to measure the stream alone.

    Parameters
    ----------
    marks : sequence of int
        Numbers of rows after which to take a reading, at least a block of 50,000 apart. The last is the length of the
        stream.
    seed : int, default=0
        Seed of the stream (`pa_lab.study.standin.misfire_blocks`).

    Returns
    -------
    DataFrame
        Columns ``seen``; ``learning`` and ``total``, seconds of processor time so far without and with generating the
        rows; ``peak_mb``, the most memory this process ever held.
    """

    for X, y in misfire_blocks(200_000, block_rows=50_000, seed=seed + 1):
        PAClassifier(C=0.1).fit(X, y)  # warm-up: pay once for what does not depend on the rows
    model, learning, rows = PAClassifier(C=0.1), 0.0, []
    start = time.process_time()
    for X, y in misfire_blocks(marks[-1], block_rows=50_000, seed=seed):
        before = time.process_time()
        model.partial_fit(X, y, classes=[-1, 1])
        now = time.process_time()
        learning += now - before
        if model.n_seen_ >= marks[len(rows)]:
            rows.append((model.n_seen_, learning, now - start, peak_memory()))
    return pd.DataFrame(rows, columns=["seen", "learning", "total", "peak_mb"])


def in_new_process(function: Callable, *args):
    """Call an importable function in a process of its own, whose memory starts from nothing, and return its result.

    >>> in_new_process(abs, -2)
    2
    """
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        return pool.submit(function, *args).result()


def fit_seconds(models: Estimators, X: Matrix, y: np.ndarray, sizes: Sequence[int], repeats: int = 5) -> pd.DataFrame:
    """Measure the seconds that models take to learn the first rows of a data set.

    Parameters
    ----------
    models : dict of str to estimator
    X, y : arrays of shape (n, d) and (n,)
    sizes : sequence of int
        Numbers of rows.
    repeats : int, default=5
        Fits of each; a model whose first fit takes more than a second is fitted once.

    Returns
    -------
    DataFrame
        Columns ``name``, ``rows`` and ``seconds``, the median over the fits.

    Examples
    --------
    >>> fit_seconds({"PA": PAClassifier("PA")}, np.eye(2), [-1, 1], sizes=[2])["seconds"][0] > 0
    np.True_
    """
    found = []
    for case in grid(name=models, rows=sizes):
        taken = []
        while len(taken) < repeats and not (taken and taken[0] > 1):
            taken.append(timed_fit(models[case["name"]], X[: case["rows"]], y[: case["rows"]])[1])
        found.append(case | {"seconds": np.median(taken)})
    return pd.DataFrame(found)
