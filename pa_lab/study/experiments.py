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
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from pa_lab import PAClassifier, PARegressor
from pa_lab.notices import LostWarning
from pa_lab.study import store
from pa_lab.study.metrics import best_threshold, measures
from pa_lab.study.svm_cache import cached_fit, dyadic  # noqa: F401 (part of this interface)

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
    jobs = (delayed(_run_quietly)(run, setting | shared) for setting in settings)
    hidden = os.environ.get("PA_LAB_PROGRESS") == "0"
    with warnings.catch_warnings(), tqdm(total=len(settings), desc=label, leave=False, disable=hidden) as bar:
        warnings.filterwarnings("ignore", "A worker stopped")  # joblib renews workers that hold much memory
        rows = []
        for setting, result in zip(settings, Parallel(n_jobs=n_jobs, return_as="generator")(jobs), strict=True):
            rows += _rows_of(setting, result)
            bar.update()
    return pd.DataFrame(rows)


def _run_quietly(run, arguments):
    """Call ``run`` without what learners say of settings that do nothing, which a sweep may try on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostWarning)
        return run(**arguments)


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


def campaign(
    name: str, run: Callable[..., dict | list[dict]], settings: list[dict], data: Iterable[Bunch] = (), **shared
) -> pd.DataFrame:
    """Return the rows of a `sweep` that takes too long for a notebook, stored by ``make campaign NAME=...``.

    A notebook that calls this reads the stored rows. It also runs the first setting again, and stops if the outcome
    differs. Where the settings are others than the stored ones (a reader changed them), or on stand-in data, whose
    sweep stops after the settings with the first two seeds, all are run. With ``PA_LAB_CAMPAIGN=NAME`` in the
    environment all are run and stored.

    Parameters
    ----------
    name : str
        Begins with the number of the notebook, as in ``"04_budgets"``.
    run, settings, **shared
        As in `sweep`. Results are plain numbers and text; one named ``seconds`` may differ from run to run.
    data : iterable of Bunch
        The data sets; their digests are stored.

    Raises
    ------
    ValueError
        If the first setting gives other results than the stored ones.
    FileNotFoundError
        If nothing is stored.
    """
    if os.environ.get("PA_LAB_CAMPAIGN") == name:
        start = time.perf_counter()
        frame = sweep(run, settings, label=name, **shared)
        store.save_campaign(name, frame, data, time.perf_counter() - start)
        return store.load_campaign(name)
    if store.is_stand_in():
        seeds = list(dict.fromkeys(setting.get("seed") for setting in settings))[:2]
        return sweep(run, [setting for setting in settings if setting.get("seed") in seeds], label=name, **shared)
    stored = store.load_campaign(name)
    if not _same_settings(stored, settings):
        return sweep(run, settings, label=name, **shared)
    again = sweep(run, settings[:1], n_jobs=1, label=name, **shared)
    for column in again.columns.drop("seconds", errors="ignore"):
        now, then = again[column], stored[column][: len(again)].astype(again[column].dtype)
        numbers = again[column].dtype.kind == "f"
        if not (np.allclose(now, then, rtol=1e-5, atol=1e-9, equal_nan=True) if numbers else (now == then).all()):
            raise ValueError(f"{name}: {column} of {settings[0]} is {now.tolist()}, and {then.tolist()} is stored. "
                             f"Find out why, or store all rows anew: make campaign NAME={name}")  # fmt: skip
    return stored


def _same_settings(stored, settings):
    """Say whether the stored rows are those of the settings, in the same order."""
    names = list(settings[0])
    if not set(names) <= set(stored.columns):
        return False
    kept = stored[names].drop_duplicates()
    return len(kept) == len(settings) and all((kept[name] == [s[name] for s in settings]).all() for name in names)


# ---------------------------------------------------------------- parts of a data set


def split_rows(n: int, sizes: Sequence[int], seed: int | Sequence[int] | None = None) -> list[np.ndarray]:
    """Cut rows 0 to n-1 into parts of given sizes, in random order, and return the numbers of the rows in each.

    Parameters
    ----------
    n : int
        Number of rows.
    sizes : sequence of int
        Sizes of the parts. The rows that are left make one part more, the last.
    seed : int, sequence of int or None, default=None
        Seed of the order; None keeps the order of the file.

    Examples
    --------
    >>> [part.tolist() for part in split_rows(5, [2, 2])], [len(part) for part in split_rows(5, [3], seed=0)]
    ([[0, 1], [2, 3], [4]], [3, 2])
    """
    rows = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    return np.split(rows, np.cumsum(sizes))


def both_drives(data: Bunch, seed: int = 0, held_out: float = 0.2) -> dict[str, Bunch]:
    """Return two tasks of a data set with a test part: to learn for the test part, and for rows of the training part.

    The test part of ijcnn1 is another drive than its training part, with another mix of speeds and loads. A conclusion
    about learners should hold on both: run the experiment for each task and show both results.

    Parameters
    ----------
    data : Bunch
        With ``X_train, y_train, X_test, y_test``, as from `pa_lab.datasets.load`.
    seed : int, default=0
        Seed of the rows that are held out.
    held_out : float, default=0.2
        Their share of the training rows.

    Returns
    -------
    dict of str to Bunch
        Each like ``data``. "test drive": ``data`` itself. "training drive": its training part without the rows held
        out, in the order of the file, and those rows to test on.

    Examples
    --------
    >>> drives = both_drives(Bunch(X_train=np.eye(5), y_train=np.arange(5), X_test=np.eye(5), y_test=np.arange(5)))
    >>> {name: (len(drive.y_train), len(drive.y_test)) for name, drive in drives.items()}
    {'test drive': (5, 5), 'training drive': (4, 1)}
    """
    n = len(data.y_train)
    test, train = (np.sort(rows) for rows in split_rows(n, [round(held_out * n)], [seed, 31]))
    parts = {"X_train": data.X_train[train], "y_train": data.y_train[train]}
    parts |= {"X_test": data.X_train[test], "y_test": data.y_train[test]}
    return {"test drive": data, "training drive": Bunch(**{**data, **parts})}


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
        rows = slice(None) if most is None else split_rows(len(data.y_test), [most], 0)[0]
        return data.X_train, data.y_train, data.X_test[rows], data.y_test[rows]
    X, X_test, y, y_test = train_test_split(data.X, data.y, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def draw(X: Matrix, y: np.ndarray, n: int, seed: int | Sequence[int]) -> tuple[Matrix, np.ndarray]:
    """Return ``n`` random rows (all, if there are no more) in random order, and their labels.

    >>> draw(np.eye(3), np.array([1, -1, -1]), 2, seed=0)[1].tolist()
    [-1, 1]
    """
    rows, _ = split_rows(len(y), [n], seed)
    return X[rows], y[rows]


# ---------------------------------------------------------------- tuning, one model at a time


def tuned_fits(
    model: BaseEstimator, settings: Sequence[dict], X: Matrix, y: np.ndarray, X_check: Matrix, y_check: np.ndarray
) -> pd.DataFrame:
    """Fit a linear model with each setting and score it on other rows, at the threshold with the best F1 there.

    Parameters
    ----------
    model : estimator
        With ``coef_`` once it is fitted.
    settings : sequence of dict
        Parameters to try.
    X, y : arrays of shape (n, d) and (n,)
        Rows to learn.
    X_check, y_check : arrays of shape (m, d) and (m,)
        Rows to choose the setting and the threshold by.

    Returns
    -------
    DataFrame
        A row for each setting: its parameters, the fitted ``model``, its ``threshold`` and the six `measures`.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [1.0]]), np.array([-1, 1])
    >>> tuned_fits(PAClassifier(), [{"C": 0.1}, {"C": 1.0}], X, y, X, y)[["C", "f1"]].values.tolist()
    [[0.1, 1.0], [1.0, 1.0]]
    """
    rows = []
    for setting in settings:
        fitted = clone(model).set_params(**setting).fit(X, y)
        decision = decision_values(fitted, X_check)
        threshold = best_threshold(y_check, decision)
        found = {"model": fitted, "threshold": threshold} | measures(y_check, decision, threshold)
        rows.append(setting | found)
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- along a stream


def progressive(
    model: BaseEstimator,
    X: Matrix,
    y: np.ndarray,
    every: int = 500,
    arrives: Sequence | None = None,
    times: Sequence | None = None,
) -> pd.DataFrame | np.ndarray:
    """Test, then train: feed the rows in order and return the counters as the stream goes by, or the scores.

    With ``arrives`` the labels come late. A block of ``every`` rows is scored with what had arrived before the time of
    its first row, and answers are learnt in the order in which they arrive.

    Parameters
    ----------
    model : estimator with ``partial_fit``
        Without ``arrives`` a PAClassifier or PARegressor, whose own counters are read: each mistake was made before its
        update. With ``arrives`` a classifier; without ``decision_function`` its score is the difference of the
        logarithms of the two joint probabilities.
    X, y : arrays of shape (n, d) and (n,)
    every : int, default=500
        Rows between two readings; 1 is row by row.
    arrives : array of shape (n,), optional
        When the label of each row arrives, not before the time of the row. ``times`` itself is a label at once.
    times : array of shape (n,), optional
        The time of each row, rising; their numbers if there is none.

    Returns
    -------
    DataFrame or array of shape (n,)
        Columns ``seen``, ``mistakes``, ``updates`` and ``queries``; one row per reading and one at the end. With
        ``arrives`` the score of each row, 0 while no label had come.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, 1, -1])
    >>> progressive(PAClassifier(fit_intercept=False), X, y, every=1, arrives=[0, 1, 2])
    array([ 0.,  2., -1.])
    """
    if not every >= 1:
        raise ValueError(f"every must be at least 1 row; got {every!r}.")
    options = {} if isinstance(model, PARegressor) else {"classes": np.unique(y)}
    if arrives is not None:
        return _scores_on_the_way(model, X, y, every, np.asarray(arrives), times, options)
    rows = []
    for start in range(0, X.shape[0], every):
        model.partial_fit(X[start : start + every], y[start : start + every], **options)
        rows.append((model.n_seen_, model.n_mistakes_, model.n_updates_, model.n_queries_))
    return pd.DataFrame(rows, columns=["seen", "mistakes", "updates", "queries"])


def _scores_on_the_way(model, X, y, every, arrives, times, options):
    """Return the score of each row by a model that learns labels as they arrive."""
    times = np.arange(len(y)) if times is None else np.asarray(times)
    if len(arrives) != len(y) or (arrives < times).any():
        raise ValueError("arrives must hold a time for each row, and no label may arrive before its row.")
    order, scores, done = np.argsort(arrives, kind="stable"), np.zeros(len(y)), 0
    sooner = np.searchsorted(arrives[order], times, side="left")  # how many labels came before the time of each row
    for start in range(0, len(y), every):
        new, rows = order[done : sooner[start]], slice(start, start + every)
        if len(new):
            model.partial_fit(X[new], y[new], **options)
            done = sooner[start]
        if done and hasattr(model, "decision_function"):
            scores[rows] = model.decision_function(X[rows])
        elif done:
            scores[rows] = np.diff(model.predict_joint_log_proba(X[rows])).ravel()
    return scores


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
    record = np.zeros((len(y), 4))
    model._learn_passes(*model._prepare(X, y, None, starts=True), record)
    p, tau = record.T[:2]
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


def in_new_process(function: Callable, *args):
    """Call an importable function in a process of its own, whose memory starts from nothing, and return its result.

    >>> in_new_process(abs, -2)
    2
    """
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        return pool.submit(function, *args).result()
