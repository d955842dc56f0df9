"""Choose settings on rows held out: try them, keep the best, score it on rows that took no part in the choice.

A part of a data set is a pair ``(X, y)`` of rows and labels -1 and +1. A setting is a dict of parameters.
"""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

from pa_lab.study import datasets
from pa_lab.study.experiments import draw, sweep
from pa_lab.study.fits import cached_fit
from pa_lab.study.metrics import best_threshold, scores

Part = tuple[np.ndarray, np.ndarray]
Models, Options = dict[str, BaseEstimator], dict[str, list[dict]]


def fitted(model: BaseEstimator, setting: dict, X: np.ndarray, y: np.ndarray) -> BaseEstimator:
    """Return a clone of a model with other parameters, fitted. Fits of LIBSVM are kept between runs.

    >>> from pa_lab import PAClassifier
    >>> fitted(PAClassifier(), {"C": 0.5}, [[1.0], [-1.0]], [1, -1]).C
    0.5
    """
    model = clone(model).set_params(**setting)
    return cached_fit(model, X, y)[0] if isinstance(model, SVC) else model.fit(X, y)


def validate(models: Models, options: Options, learn: Part, choose: Part, n_jobs: int = -1) -> pd.DataFrame:
    """Fit every model with each of its settings, and return the AUC on rows it has not learnt.

    Parameters
    ----------
    models : dict of str to estimator
    options : dict of str to list of dict
        The settings to try for each model.
    learn, choose : pairs (X, y)
        Rows to fit to, and rows to score.
    n_jobs : int, default=-1
        Number of worker processes.

    Returns
    -------
    DataFrame
        Columns ``method`` and ``setting``; a column for each parameter in it; ``auc``, rounded to four digits, so that
        `best` takes the first of settings that differ by less; and ``vectors``, the support vectors kept.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> part = np.array([[1.0], [-1.0]]), np.array([1, -1])
    >>> validate({"PA": PAClassifier("PA")}, {"PA": [{}]}, part, part, n_jobs=1)["auc"].tolist()
    [1.0]
    """
    return sweep(_validated, _plan(options), n_jobs, "settings", models=models, learn=learn, choose=choose)


def _plan(options):
    return [{"method": method, "setting": setting} for method in options for setting in options[method]]


def _validated(method, setting, models, learn, choose):
    model = fitted(models[method], setting, *learn)
    auc = scores(choose[1], model.decision_function(choose[0]))["auc"]
    return setting | {"auc": round(auc, 4), "vectors": len(getattr(model, "support_", []))}


def best(frame: pd.DataFrame, by: str | list[str], score: str, lowest: bool = False) -> pd.DataFrame:
    """Return the row with the highest (or lowest) score of each group; of equal ones the first.

    Parameters
    ----------
    frame : DataFrame
        A row per setting.
    by : str or list of str
        Columns to group by. Groups stay in the order of their first rows.
    score : str
        The column to choose by.
    lowest : bool, default=False
        The score is an error.

    Examples
    --------
    >>> tried = pd.DataFrame({"method": "PA-I", "C": [1.0, 2.0, 3.0], "f1": [0.1, 0.3, 0.3]})
    >>> best(tried, "method", "f1")["C"].tolist()
    [2.0]
    """
    frame = frame.reset_index(drop=True)
    groups = frame.groupby(by, sort=False)[score]
    return frame.loc[groups.idxmin() if lowest else groups.idxmax()].reset_index(drop=True)


def drawn(name: str, seed: int, n: int = 3000) -> list[Part]:
    """Draw rows of a data set at random: rows to learn from, to choose by, and to test on.

    Two thirds of ``n`` rows are to learn from, one third to choose by, and half as many as both are to test on; ``n``
    is two thirds of the set if that is less. Test parts of a set are not used. Columns are divided by their largest
    value, and then all rows by one number, so that 1 is a usual ``gamma`` of a kernel (scikit-learn's "scale").

    >>> [len(y) for X, y in drawn("twonorm", seed=0)]
    [2000, 1000, 1500]
    """
    data = datasets.load(name)
    X, y = (data.X, data.y) if "X" in data else (data.X_train, data.y_train)
    n = min(n, 2 * len(y) // 3)
    X, y = draw(X, y, n + n // 2, seed)
    X = MaxAbsScaler().fit_transform(X)
    X = X.toarray() if hasattr(X, "toarray") else X
    X = X / np.sqrt(X.var() * X.shape[1])
    ends = [2 * n // 3, n]
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


def tuned_scores(name: str, seed: int, models: Models, options: Options, n: int = 3000) -> list[dict]:
    """Tune models on random rows of a data set, and score them on other rows.

    The setting of each model is the one with the best AUC on the rows to choose by. Its threshold is the one with the
    best F1 on the same rows.

    Parameters
    ----------
    name : str
        A data set.
    seed, n : int
        Seed and size of the draw, as in `drawn`.
    models, options : dict
        As in `validate`.

    Returns
    -------
    list of dict
        A dict for each model: ``method``, ``setting`` and the six `pa_lab.study.metrics.scores`.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> found = tuned_scores("twonorm", 0, {"PA-I": PAClassifier()}, {"PA-I": [{"C": 0.1}, {"C": 1.0}]}, n=600)
    >>> found[0]["setting"], found[0]["auc"] > 0.9
    ({'C': 1.0}, True)
    """
    learn, choose, test = drawn(name, seed, n)
    found, known = [], {"models": models, "learn": learn, "choose": choose}
    tried = pd.DataFrame([case | _validated(**case, **known) for case in _plan(options)])
    for case in best(tried, "method", "auc")[["method", "setting"]].to_dict("records"):
        model = fitted(models[case["method"]], case["setting"], *learn)
        threshold = best_threshold(choose[1], model.decision_function(choose[0]))
        found.append(case | scores(test[1], model.decision_function(test[0]), threshold))
    return found
