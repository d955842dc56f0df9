"""The outside check on the newswire: the split "ModApte", which many papers have used.

It takes stories until early April of 1987 to learn from, and later ones to test. The score is the break-even: take as
many stories from the top of the ranking as have the topic, and count how many of them have it.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from pa_lab.study import newswire
from pa_lab.study.experiments import grid, sweep
from pa_lab.study.tuning import best


def judge(models: dict[str, BaseEstimator], X: sp.csr_matrix, stories: pd.DataFrame, values) -> pd.DataFrame:
    """Let each model decide for each topic of the split "ModApte", and count what it finds in the test part.

    ``C`` is the one that finds most of the ten largest topics in the last third of the training part, when the model
    has learnt the two thirds before. It is the same for all topics.

    Parameters
    ----------
    models : dict of str to linear classifier
        With the parameters ``C`` and ``random_state``.
    X : CSR matrix of shape (n, d)
        All stories.
    stories : DataFrame
        A row for each of them.
    values : list of float
        What to try for C.

    Returns
    -------
    DataFrame
        A row for each model and topic that both parts have: ``method``, ``C``, ``topic``, and the counts of
        `newswire.ranked`.
    """
    train, test = (np.flatnonzero(part) for part in newswire.modapte(stories))
    older, newer = np.split(train, [2 * len(train) // 3])
    common = set(stories["topics"].iloc[train].explode()) & set(stories["topics"].iloc[test].explode())
    topics = sorted(topic for topic in common if isinstance(topic, str))
    topical = {topic: newswire.labels(stories, topic) == 1 for topic in {*topics, *newswire.TOP_TEN}}

    def count(method, C, topic, learn, test):
        y = topical[topic]
        model = clone(models[method]).set_params(C=C, random_state=0).fit(X[learn], y[learn])
        return newswire.ranked(y[test], model.decision_function(X[test]))

    tried = sweep(count, grid(method=models, C=values, topic=newswire.TOP_TEN), 1, learn=older, test=newer)
    hits = tried.groupby(["method", "C"], sort=False)["hits"].sum().reset_index()
    chosen = best(hits, "method", "hits")[["method", "C"]].to_dict("records")
    plan = [case | {"topic": topic} for case in chosen for topic in topics]
    return sweep(count, plan, 1, learn=train, test=test)


def summary(judged: pd.DataFrame) -> pd.DataFrame:
    """Return what methods find of all topics, in percent.

    Parameters
    ----------
    judged : DataFrame
        With columns ``method`` and ``topic``, and the counts of `newswire.ranked`.

    Returns
    -------
    DataFrame
        A row for each method: the break-even of each topic; ``all``, that of their added counts; and ``macro F1``, the
        mean F1 at a threshold of 0.

    Examples
    --------
    >>> counts = {"topical": [4, 1], "hits": [3, 0], "called": [4, 1], "right": [2, 0]}
    >>> summary(pd.DataFrame({"method": "PA-I", "topic": ["earn", "acq"]} | counts)).to_dict("records")
    [{'acq': 0.0, 'earn': 75.0, 'all': 60.0, 'macro F1': 25.0}]
    """
    sums = judged.groupby("method")[["hits", "topical"]].sum()
    each = judged.assign(break_even=100 * judged["hits"] / judged["topical"])
    each["f1"] = 200 * judged["right"] / (judged["called"] + judged["topical"])
    table = each.pivot(index="method", columns="topic", values="break_even")
    return table.assign(
        **{"all": 100 * sums["hits"] / sums["topical"], "macro F1": each.groupby("method")["f1"].mean()}
    )
