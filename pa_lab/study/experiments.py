"""Repetition over seeds, folds and settings, tuning, and progressive validation: how every experiment is run.

Labels are -1 and +1, ``decision`` is what ``decision_function`` returns, and a frame has a row per run ("long form").
"""

import os
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, product
from multiprocessing import get_context

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Memory, Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from pa_lab.linear import PAClassifier
from pa_lab.rules import epsilon_insensitive, hinge
from pa_lab.study.datasets import cache_folder
from pa_lab.study.metrics import scores
from pa_lab.study.standin import misfire_blocks


def decision_values(model, X):
    """Decision values of a fitted linear model, from its weights: LIBSVM itself would sum over support vectors.

    >>> from sklearn.svm import SVC
    >>> decision_values(SVC(kernel="linear").fit([[0.0], [2.0]], [-1, 1]), np.array([[2.0]])).round(3).tolist()
    [1.0]
    """
    check_is_fitted(model)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    return X @ coef.ravel() + model.intercept_


def grid(**axes):
    """Every combination of the named axes, as a list of dicts in a fixed order.

    >>> grid(C=[0.1, 1.0], seed=range(2))[1]
    {'C': 0.1, 'seed': 1}
    """
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"{name} must be a list of values to try, such as [{values!r}]; got {values!r}.")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def sweep(run, settings, n_jobs=-1, label="runs", **shared):
    """Call ``run(**setting, **shared)`` for every setting, in parallel through joblib, with a progress bar.

    The result does not depend on ``n_jobs`` or on the backend as long as ``run`` draws its randomness from its
    setting; ``with joblib.parallel_config(backend="dask"):`` spreads the same sweep over a cluster.

    Parameters
    ----------
    run : callable. Returns a dict of results, or a list of such dicts.
    settings : list of dict. What to call it with, as from `grid`.
    n_jobs : int, default=-1. Number of worker processes; -1: one per core (or ``LOKY_MAX_CPU_COUNT``, if set).
    label : str, default="runs". Name of the progress bar. ``PA_LAB_PROGRESS=0`` in the environment hides it.
    **shared. Arguments that are the same for every call, such as the data.

    Returns a frame with a row per result, in the order of the settings: the setting's columns, then the result's.

    >>> sweep(lambda C: {"twice": 2 * C}, grid(C=[1, 2]), n_jobs=1)["twice"].tolist()
    [2, 4]
    """
    jobs = (delayed(run)(**setting, **shared) for setting in settings)
    hidden = os.environ.get("PA_LAB_PROGRESS") == "0"
    with warnings.catch_warnings(), tqdm(total=len(settings), desc=label, leave=False, disable=hidden) as bar:
        warnings.filterwarnings("ignore", "A worker stopped")  # joblib renews workers that hold much memory
        rows = []
        for setting, result in zip(settings, Parallel(n_jobs=n_jobs, return_as="generator")(jobs), strict=True):
            if not isinstance(result, dict | list):
                raise TypeError(f"run must return a dict or a list of dicts; for {setting} it returned {result!r}.")
            rows += [setting | row for row in (result if isinstance(result, list) else [result])]
            bar.update()
    return pd.DataFrame(rows)


def cross_validate(estimators, X, y, splits, n_jobs=-1, label="folds"):
    """Fit each named estimator on each split's training rows and score it on the rest.

    Parameters
    ----------
    estimators : dict of str to estimator. What to compare.
    X, y : arrays of shape (n, d) and (n,)
    splits : list of (train, test) index arrays
        For example ``list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))``.

    Returns a frame with columns ``method``, ``fold`` and the `scores`.
    """
    return _by_fold(estimators, [{}], X, y, splits, n_jobs, label)


def tuning_curves(estimators, values, X, y, splits, n_jobs=-1, label="tuning"):
    """As `cross_validate`, at each value of the parameter ``C``, which becomes a column after ``fold``."""
    return _by_fold(estimators, grid(C=values), X, y, splits, n_jobs, label)


def _by_fold(estimators, tried, X, y, splits, n_jobs, label):
    folds, shared = grid(method=list(estimators), fold=range(len(splits))), {"X": X, "y": y, "splits": splits}
    return sweep(_one_fold, folds, n_jobs, label, estimators=estimators, tried=tried, **shared)


def _one_fold(method, fold, estimators, tried, X, y, splits):
    train, test = splits[fold]
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    model, rows = clone(estimators[method]), []
    for setting in tried:
        model.set_params(**setting).fit(X_train, y_train)
        rows.append(setting | scores(y_test, decision_values(model, X_test)))
    return rows


def tune_and_fit(estimators, values, X, y, score="f1", folds=3, seed=0):
    """Choose C for each named estimator by stratified cross-validation on these rows, then fit it on all of them.

    Parameters
    ----------
    estimators : dict of str to estimator. What to tune; one without an effect of C (PA) is only fitted.
    values : sequence of float. What to try for C.
    X, y : arrays of shape (n, d) and (n,)
    score : str or list of str, default="f1"
        Which of ``METRICS`` to maximise; of equally good values of C the smallest is taken.
    folds : int, default=3
    seed : int, default=0. Seed of the folds.

    Returns a dict by name, or by (name, score) for a list of scores: fitted copies; the chosen value is their ``C``.
    """
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y))
    wanted = [score] if isinstance(score, str) else score
    tuned = {}
    for name, estimator in estimators.items():
        best = dict.fromkeys(wanted, values[0])
        if getattr(estimator, "variant", None) != "PA":
            scored = (_one_fold(name, fold, estimators, grid(C=values), X, y, splits) for fold in range(folds))
            best = pd.DataFrame(chain.from_iterable(scored)).groupby("C")[wanted].mean().idxmax()
        for by in wanted:
            tuned[name if by is score else (name, by)] = clone(estimator).set_params(C=float(best[by])).fit(X, y)
    return tuned


def best_C(curves, score, by="method"):
    """The C with the highest mean of the column ``score``, by group, in `tuning_curves`; of equal ones the smallest.

    >>> curves = pd.DataFrame({"method": "PA-I", "C": [1.0, 2.0, 1.0, 2.0], "f1": [0.1, 0.3, 0.2, 0.2]})
    >>> best_C(curves, "f1").to_dict()
    {'PA-I': 2.0}
    """
    by = [by] if isinstance(by, str) else list(by)
    means = curves.groupby([*by, "C"], sort=False)[score].mean().reset_index().sort_values("C", kind="stable")
    return means.loc[means.groupby(by, sort=False)[score].idxmax()].set_index(by)["C"]


def progressive(model, X, y, every=500):
    """Test, then train: feed the rows in order and record the counters as the stream goes by.

    Parameters
    ----------
    model : PAClassifier or PARegressor
        Fed through ``partial_fit``; its own counters are read, so each mistake was made before its update.
    X, y : arrays of shape (n, d) and (n,)
    every : int, default=500. Rows between two readings.

    Returns a frame with columns ``seen``, ``mistakes``, ``updates``, ``queries``; a row every so many examples and one
    at the end.
    """
    if not every >= 1:
        raise ValueError(f"every must be at least 1 row; got {every!r}.")
    options = {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
    rows = []
    for start in range(0, X.shape[0], every):
        model.partial_fit(X[start : start + every], y[start : start + every], **options)
        rows.append((model.n_seen_, model.n_mistakes_, model.n_updates_, model.n_queries_))
    return pd.DataFrame(rows, columns=["seen", "mistakes", "updates", "queries"])


def permuted_runs(estimators, X, y, runs=20, n_jobs=-1):
    """One pass of each named `PAClassifier` over the rows in random orders, seeded 0, 1, ..., the same for each.

    Returns a frame with columns ``method``, ``seed``, ``mistake_rate`` and ``updates``, a row per run.
    """
    settings = grid(method=list(estimators), seed=range(runs))
    return sweep(_one_order, settings, n_jobs, "orders", estimators=estimators, X=X, y=y)


def _one_order(method, seed, estimators, X, y):
    order = np.random.default_rng(seed).permutation(len(y))
    model = clone(estimators[method]).fit(X[order], y[order])
    return {"mistake_rate": model.n_mistakes_ / len(y), "updates": model.n_updates_}


def trace(model, X, y):
    """Fit a model from zero in one pass over the rows as they stand, and record every step.

    Parameters
    ----------
    model : PAClassifier (two classes) or PARegressor
        Fitted as by ``fit`` with ``max_iter=1, shuffle=False, warm_start=False``.
    X, y : arrays of shape (n, d) and (n,)

    Returns a frame with a row per example: ``score`` before the update, ``tau`` (0 where nothing moved), and ``loss``
    before the update: of the tube in regression, of the hinge otherwise, PALS included; ``asked``, whether the
    learner read the label.

    >>> from pa_lab import PAClassifier
    >>> trace(PAClassifier(fit_intercept=False), np.array([[2.0], [1.0]]), np.array([1, -1])).values.tolist()
    [[0.0, 0.25, 1.0, True], [0.5, 1.0, 1.5, True]]
    """
    classifies = hasattr(model, "decision_function")
    if classifies and len(np.unique(y)) > 2:
        raise ValueError("trace is for two classes: with more, a step has no single score.")
    record = np.zeros((X.shape[0], 2))
    model._fit_traced(X, y, record)
    p, tau = record.T
    if classifies:
        losses = np.vectorize(hinge, otypes=[float])(np.where(np.equal(y, model.classes_[1]), 1.0, -1.0), p)
    else:
        losses = np.vectorize(epsilon_insensitive, otypes=[float])(np.asarray(y, dtype=float), p, model.epsilon)
    return pd.DataFrame({"score": p, "tau": np.nan_to_num(tau), "loss": losses, "asked": ~np.isnan(tau)})


def first_reach(x, curve, target):
    """Smallest ``x`` at which a curve reaches a target, on straight lines over ``log x`` between its points.

    Parameters
    ----------
    x : array of shape (n,). Positive and rising: the labels a method asked for, say.
    curve : array of shape (n,). What it reached with them. Where it falls, its best so far stands.
    target : float

    Returns ``x[0]`` if the curve starts at the target or above it, infinity if it never gets there.

    >>> round(first_reach([1, 100, 1000], [0.5, 0.7, 0.8], 0.6), 6), first_reach([1, 100], [0.5, 0.7], 0.9)
    (10.0, inf)
    """
    if not len(x) == len(curve) > 0 or not np.isfinite(curve).all() or not (np.diff(x, prepend=0.0) > 0).all():
        raise ValueError(f"x must rise from above 0, with a finite number in curve for each; got {x!r} and {curve!r}.")
    j = int(np.searchsorted(np.maximum.accumulate(curve), target))
    if j == 0 or j == len(curve):
        return float(x[0]) if j == 0 else np.inf
    low = np.max(curve[:j])
    share = (target - low) / (curve[j] - low)
    return float(np.exp((1 - share) * np.log(x[j - 1]) + share * np.log(x[j])))


def flip_labels(y, rate, rng, among=None):
    """A copy of ``y`` with a share of its labels flipped, drawn uniformly without replacement.

    Parameters
    ----------
    y : ndarray of shape (n,). Labels in {-1, +1}.
    rate : float in [0, 1]. Share of the candidates to flip, rounded to a whole number of rows.
    rng : numpy.random.Generator
    among : {-1, +1} or None, default=None. Flip only labels of this sign.

    >>> flip_labels(np.ones(4), 0.5, np.random.default_rng(0)).sum()
    np.float64(0.0)
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be between 0 and 1; got {rate!r}.")
    if among not in (None, -1, 1) or not np.isin(y, (-1, 1)).all():
        raise ValueError(f"y must hold -1 and +1, and among be one of them or None; got {np.unique(y)} and {among!r}.")
    candidates = np.arange(len(y)) if among is None else np.flatnonzero(y == among)
    flipped = np.array(y)
    flipped[rng.choice(candidates, round(rate * len(candidates)), replace=False)] *= -1
    return flipped


def timed_fit(model, X, y):
    """Fit a clone and return it with the seconds it took.

    >>> from sklearn.linear_model import LinearRegression
    >>> timed_fit(LinearRegression(), [[0.0], [1.0]], [0.0, 1.0])[1] > 0
    True
    """
    start = time.perf_counter()
    fitted = clone(model).fit(X, y)
    return fitted, time.perf_counter() - start


def cached_fit(model, X, y):
    """As `timed_fit`, remembered between runs by the content of ``model``, ``X`` and ``y``: for slow baselines.

    LIBSVM gets dense rows as `dyadic` gives them, and so finds the same machine on every processor. With plain ones,
    what BLAS rounds differently from processor to processor would show in the third digit of a score. The size of its
    cache of kernel values, which changes only the time, is 500 MB for all, so that like fits are shared.
    """
    if isinstance(model, SVC):
        model, X = clone(model).set_params(cache_size=500), X if sp.issparse(X) else dyadic(X)
    X, y = (a if sp.issparse(a) else np.asarray(a) for a in (X, y))  # the same key for an array and a memory map of it
    return Memory(cache_folder() / "fits", verbose=0).cache(timed_fit)(model, X, y)


def dyadic(X):
    """Rows rounded to the multiples of a power of two for which every inner product of two rows is exact.

    It then does not depend on the order of its sum. With ``|x|^2 <= R^2`` the multiples are those of
    ``2^-k``, ``k = floor(26 - log2 R)``: products are whole multiples of ``4^-k``, of sum at most ``R^2 <= 2^52 4^-k``.

    Parameters
    ----------
    X : ndarray of shape (n, d). Finite, not all 0.

    >>> dyadic(np.array([[3.0, 4.0 + 1e-9]])).tolist()
    [[3.0, 4.0]]
    """
    unit = 2.0 ** -np.floor(26 - np.log2((X**2).sum(axis=1).max()) / 2)
    return np.round(X / unit) * unit


def stream_cost(marks, seed=0):
    """Learn a generated stream of any length with PA-I, block by block, and measure what it costs.

    Parameters
    ----------
    marks : sequence of int
        Numbers of rows, at least a block of 50,000 apart, after which to take a reading; the last is the length of
        the stream.
    seed : int, default=0. Seed of the stream (`pa_lab.study.standin.misfire_blocks`).

    Returns a frame with columns ``seen``; ``learning`` and ``total``, seconds of processor time so far without and with
    generating the rows; ``peak_mb``, the most memory this process ever held: call through `apart` to measure the
    stream alone.
    """
    import resource  # not on Windows

    for X, y in misfire_blocks(200_000, block_rows=50_000, seed=seed + 1):
        PAClassifier(C=0.1).fit(X, y)  # warm-up: what is paid once does not depend on the rows
    model, learning, rows = PAClassifier(C=0.1), 0.0, []
    start = time.process_time()
    for X, y in misfire_blocks(marks[-1], block_rows=50_000, seed=seed):
        before = time.process_time()
        model.partial_fit(X, y, classes=[-1, 1])
        now = time.process_time()
        learning += now - before
        if model.n_seen_ >= marks[len(rows)]:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
            rows.append((model.n_seen_, learning, now - start, peak))
    return pd.DataFrame(rows, columns=["seen", "learning", "total", "peak_mb"])


def apart(function, *args):
    """Call an importable function in a process of its own, whose memory starts from nothing.

    >>> apart(abs, -2)
    2
    """
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        return pool.submit(function, *args).result()
