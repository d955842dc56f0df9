"""Rare classes: a factor on C or a cost on the margin? `make campaign NAME=02_rare_classes` stores the answer."""

import itertools
import time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from pa_lab.linear import PAClassifier
from pa_lab.study import datasets, metrics, newswire, store
from pa_lab.study.experiments import both_drives, grid, sweep

NAME, DATA_SETS = "02_rare_classes", ["ijcnn1", "reuters21578"]
FACTORS = 10.0 ** np.arange(7)
SETTINGS = grid(C=10.0 ** np.arange(-6, 3), way=["none"], factor=[1.0])
SETTINGS += grid(C=10.0 ** np.arange(-6, 3), way=["price", "cost"], factor=FACTORS)
WAYS = ("none", "price", "cost", "threshold")
MEASURES = ("f1", "balanced_accuracy", "average_precision")


def thinned(drive: Bunch, seed: int) -> list[np.ndarray]:
    """Return a drive of ijcnn1, scaled and in random order, with one positive row in ten: one row in a hundred.

    >>> drive = Bunch(X_train=np.eye(40), y_train=np.repeat([-1, 1], 20), X_test=np.eye(40), y_test=np.ones(40))
    >>> [len(part) for part in thinned(drive, 0)]
    [22, 22, 4, 4]
    """
    rng, scaler, parts = np.random.default_rng(seed), StandardScaler().fit(drive.X_train), []
    for X, y in ((drive.X_train, drive.y_train), (drive.X_test, drive.y_test)):
        positive = rng.permutation(np.flatnonzero(y > 0))
        rows = rng.permutation(np.append(np.flatnonzero(y < 0), positive[: len(positive) // 10]))
        parts += [scaler.transform(X[rows]), y[rows]]
    return parts


def topics(wire: pd.DataFrame) -> dict[str, list]:
    """Return the rows and labels of each topic with 30 to 120 stories in the first part of the ModApte split."""
    parts = newswire.modapte(wire)
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english").fit(wire["text"][parts[0]])
    X, found = tfidf.transform(wire["text"]), {}
    for topic in sorted({name for names in wire["topics"] for name in names}):
        y = newswire.labels(wire, topic)
        if 30 <= np.sum(y[parts[0]] > 0) <= 120 and np.sum(y[parts[1]] > 0) >= 5:
            order = np.random.default_rng(len(found)).permutation(np.flatnonzero(parts[0]))
            found[topic] = [X[order], y[order], X[np.flatnonzero(parts[1])], y[parts[1]]]
    return found


def contest(X, y, X_test, y_test) -> list[dict]:
    """Tune C and the factor of each way on the last third of the training rows, for each measure; test each choice.

    At C = 1 the factor alone is tuned too. ``none`` has neither weights nor costs. ``threshold`` has neither, but the
    decision threshold that was best on that third, for the model of the other two thirds: scores grow with the rows.
    """
    k, rows = 2 * len(y) // 3, []
    for average in (False, True):

        def decide(X, y, X_new, C, way, factor, average=average):
            given = {"price": {"class_weight": {-1: 1.0, 1: factor}}, "cost": {"cost": {1: factor}}}.get(way, {})
            scaling = 0.1 if sp.issparse(X) else 1.0
            model = PAClassifier(C=C, average=average, intercept_scaling=scaling, **given).fit(X, y)
            return model.decision_function(X_new)

        tried = [(setting, decide(X[:k], y[:k], X[k:], **setting), 0.0) for setting in SETTINGS]
        for tuned, way, measure in itertools.product(("C and factor", "factor"), WAYS, MEASURES):
            like = "none" if way == "threshold" else way
            mine = [one for one in tried if one[0]["way"] == like and (tuned != "factor" or one[0]["C"] == 1.0)]
            if way == "threshold" and measure == "average_precision":
                continue  # no threshold changes a ranking
            if way == "threshold":
                mine = [(setting, p, metrics.best_threshold(y[k:], p, measure)) for setting, p, _ in mine]
            found = [metrics.measures(y[k:], p, cut)[measure] for _, p, cut in mine]
            setting, _, cut = mine[np.argmax(np.nan_to_num(found, nan=-1.0))]
            n = k if way == "threshold" else len(y)
            value = metrics.measures(y_test, decide(X[:n], y[:n], X_test, **setting), cut)[measure]
            about = {"average": average, "tuned": tuned, "measure": measure, "value": value}
            rows.append(about | setting | {"way": way})
    return rows


def main(seeds: int = 5) -> None:
    """Run all and store the rows."""
    start, data = time.perf_counter(), [datasets.load(name) for name in DATA_SETS]
    tasks = topics(data[1].stories)
    for name, drive in both_drives(data[0]).items():
        tasks |= {f"ijcnn1, {name} {seed}": thinned(drive, seed) for seed in range(seeds)}
    frame = sweep(lambda task: contest(*tasks[task]), grid(task=tasks), n_jobs=1)
    store.save_campaign(NAME, frame, data, time.perf_counter() - start)
