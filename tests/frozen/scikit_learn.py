"""Weights of scikit-learn 1.9's passive-aggressive classes, kept for the releases that no longer have them.

``python tests/frozen/scikit_learn.py`` writes `scikit_learn.json` beside this file; it needs scikit-learn 1.9.
"""

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

FILE = Path(__file__).with_suffix(".json")
TASKS = ("two", "three", "regression")
OPTIONS = (
    {},
    {"C": 0.03, "shuffle": False, "max_iter": 3, "tol": None, "fit_intercept": False},
    {"early_stopping": True, "C": 30.0},
    {"class_weight": "balanced", "max_iter": 20, "n_iter_no_change": 2},
    "stream",
)


def cases():
    """Every task, loss, form of the rows and way of averaging, with each of the options."""
    return list(itertools.product(TASKS, (False, True), ("dense", "CSR"), (False, True, 40), OPTIONS))


def rows(task, form):
    """Ninety rows of short binary fractions, every seventh zero, and their labels or targets."""
    draw = np.random.RandomState(0)  # NumPy keeps its streams
    X = draw.randint(-8, 9, (90, 5)) / 4.0 * (draw.randint(0, 3, (90, 5)) > 0)
    X[::7] = 0.0
    noisy = X[:, :3] + draw.randint(-2, 3, (90, 3)) / 4.0
    y = {"two": np.sign(noisy[:, 0] + 0.125), "three": noisy.argmax(1), "regression": noisy @ [3.0, -2.0, 1.0] + 1.0}
    return sp.csr_array(X) if form == "CSR" else X, y[task]


def learn(models, case):
    """Learn from the rows and return the passes made and all weights: from `fit`, learning on, or from a stream."""
    task, squared, form, average, options = case
    X, y = rows(task, form)
    regression = task == "regression"
    loss = "squared_" * squared + ("epsilon_insensitive" if regression else "hinge")
    options = {"shuffle": True} if options == "stream" else dict(options)
    if regression:
        options.pop("class_weight", None)
    model = models[regression](loss=loss, average=average, random_state=5, **options)
    if case[-1] == "stream":
        passes, first = [], {} if regression else {"classes": np.unique(y)}
        for start in (0, 30, 60):
            model.partial_fit(X[start : start + 30], y[start : start + 30], **first)
    else:
        passes = [model.fit(X[:60], y[:60]).n_iter_]
        passes.append(model.partial_fit(X[60:], y[60:]).set_params(warm_start=True).fit(X, y).n_iter_)
    return [*passes, *np.c_[np.atleast_2d(model.coef_), model.intercept_].ravel().tolist()]


def learn_all(models):
    """Learn every case with a classifier and a regressor; `scikit_learn.json` holds what scikit-learn's two gave."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [learn(models, case) for case in cases()]


def main():
    """Write the file."""
    from sklearn.linear_model import PassiveAggressiveClassifier, PassiveAggressiveRegressor

    lines = map(json.dumps, learn_all((PassiveAggressiveClassifier, PassiveAggressiveRegressor)))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
