"""Choose settings on rows held out: `tune` tries them, `best` chooses.

A setting is a dict of parameters. Parts of a data set are cut by `pa_lab.study.experiments.split_rows`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC

from pa_lab.study.experiments import sweep
from pa_lab.study.metrics import best_threshold, measures
from pa_lab.study.svm_cache import cached_fit

Part = tuple[np.ndarray, np.ndarray]
Models, Options = dict[str, BaseEstimator], dict[str, list[dict]]


def fitted(model: BaseEstimator, setting: dict, X: np.ndarray, y: np.ndarray) -> BaseEstimator:
    """Return a clone of a model with other parameters, fitted. Fits of LIBSVM to dense rows are kept between runs.

    >>> from pa_lab import PAClassifier
    >>> fitted(PAClassifier(), {"C": 0.5}, [[1.0], [-1.0]], [1, -1]).C
    0.5
    """
    model = clone(model).set_params(**setting)
    keep = isinstance(model, SVC) and not issparse(X)
    return cached_fit(model, X, y)[0] if keep else model.fit(X, y)


def measured(model: BaseEstimator, learn: Part, choose: Part) -> dict[str, float]:
    """Return the six measures of a fitted model on the rows to choose by, at the threshold 0; and two numbers more.

    ``f1_tuned`` is the F1 at ``threshold``, the one with the best F1 on those rows.
    """
    X, y = choose
    p = model.decision_function(X)
    threshold = best_threshold(y, p)
    return measures(y, p) | {"threshold": threshold, "f1_tuned": measures(y, p, threshold)["f1"]}


def tune(
    models: Models,
    options: Options | list[dict],
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    judge: Callable[[BaseEstimator, Part, Part], dict] = measured,
    n_jobs: int = -1,
) -> pd.DataFrame:
    """Fit every model with each of its settings to some rows, and judge it on other rows.

    Parameters
    ----------
    models : dict of str to estimator
    options : list of dict, or dict of str to list of dict
        The settings to try: for all models, or for each its own.
    X, y : arrays of shape (n, d) and (n,)
    splits : sequence of pairs of index arrays
        Rows to learn from and rows to choose by: from `split_rows` or a splitter of scikit-learn.
    judge : callable, default=`measured`
        Takes the fitted model and both parts as pairs (X, y), and returns a dict of results.
    n_jobs : int, default=-1
        Number of worker processes.

    Returns
    -------
    DataFrame
        A row for each model, setting and split: ``method``, ``setting``, ``fold``, a column for each parameter, and
        what the judge returned. `best` chooses from it.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> X, y, rows = np.array([[1.0], [-1.0]]), np.array([1, -1]), np.arange(2)
    >>> tried = tune({"PA-I": PAClassifier()}, [{"C": 0.5}, {"C": 1.0}], X, y, [(rows, rows)], n_jobs=1)
    >>> best(tried, "method", "auc")["C"].tolist()
    [0.5]
    """
    if not isinstance(options, dict):
        options = dict.fromkeys(models, options)
    plan = [(name, setting, fold) for name in options for setting in options[name] for fold in range(len(splits))]
    plan = [dict(zip(("method", "setting", "fold"), case, strict=True)) for case in plan]
    if not plan:
        raise ValueError(f"options must hold at least one setting and splits one split; got {options!r}.")
    return sweep(_tried, plan, n_jobs, "tuning", models=models, X=X, y=y, splits=splits, judge=judge)


def _tried(method, setting, fold, models, X, y, splits, judge):
    learn, choose = ((X[rows], y[rows]) for rows in splits[fold])
    return setting | judge(fitted(models[method], setting, *learn), learn, choose)


def best(
    frame: pd.DataFrame, by: str | list[str], measure: str, lowest: bool = False, settings: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the row with the highest (or lowest) measure of each group; of equal ones the first, NaN only if all are.

    Parameters
    ----------
    frame : DataFrame
        A row per setting, or several.
    by : str or list of str
        Columns to group by. Groups stay in the order of their first rows.
    measure : str
        The column to choose by.
    lowest : bool, default=False
        The measure is an error.
    settings : sequence of str, optional
        Columns that make a setting, if it has several rows, such as one for each fold. It counts by their mean.

    Examples
    --------
    >>> tried = pd.DataFrame({"method": "PA-I", "C": [1.0, 2.0, 1.0, 2.0], "f1": [0.5, 0.4, 0.1, 0.4]})
    >>> best(tried, "method", "f1", settings=["C"])["C"].tolist()
    [2.0]
    """
    by = [by] if isinstance(by, str) else by
    if settings:
        frame = frame.groupby([*by, *settings], sort=False, dropna=False)[measure].mean()
    frame = frame.reset_index(drop=not settings)
    value = -frame[measure].fillna(np.inf) if lowest else frame[measure].fillna(-np.inf)
    rows = value.groupby([frame[name] for name in by], sort=False).idxmax()
    return frame.loc[rows].reset_index(drop=True)
