"""The online runs of LIBOL (Hoi, Wang and Zhao, 2014) on ijcnn1, in the very row orders its published table used.

LIBOL shuffles the row numbers with ``srand(i)`` and ``std::random_shuffle``, for i = 1 to 20, and was compiled with
Microsoft's C++ library, whose random numbers and shuffle are reproduced here. It uses no intercept and counts a score
of 0 as +1. Its manual does not print the C it chose; 1/4 and 1/16 are the powers of 2 that give its numbers.
"""

import numpy as np
import pandas as pd
from numba import njit

from pa_lab.linear import PAClassifier
from pa_lab.study.baselines import OnlineClassifier
from pa_lab.study.published import load_table

RAND_MAX = np.uint64(2**15 - 1)


@njit(cache=True)
def libol_order(seed, n):
    """Return the row numbers 0 to n - 1 in LIBOL's order for this seed.

    Row k, from the second on, changes places with row ``r % (k + 1)``. Microsoft's ``rand`` gives 15 bits, so ``r`` is
    glued together from as many calls as it takes to reach ``k + 1``.

    >>> libol_order(1, 5).tolist()
    [4, 1, 3, 2, 0]
    """
    order, state = np.arange(n), np.uint32(seed)
    for k in range(1, n):
        r, most = np.uint64(0), np.uint64(0)
        while most < np.uint64(k + 1):
            state = state * np.uint32(214013) + np.uint32(2531011)
            r = (r << np.uint64(15)) | (np.uint64(state >> np.uint32(16)) & RAND_MAX)
            most = (most << np.uint64(15)) | RAND_MAX
        other = np.int64(r % np.uint64(k + 1))
        order[k], order[other] = order[other], order[k]
    return order


def libol_runs(X, y, runs=20):
    """Run LIBOL's four learners once over the rows in each of its orders.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        The training rows of ijcnn1 followed by its test rows; labels -1 and +1.
    runs : int, default=20
        Number of orders; their seeds are 1 to ``runs``.

    Returns
    -------
    DataFrame
        Columns ``model``, ``seed``, ``mistake_rate`` and ``updates``, a row per run.
    """
    learners = {
        "PA": PAClassifier("PA", fit_intercept=False),
        "PA-I": PAClassifier("PA-I", C=1 / 4, fit_intercept=False),
        "PA-II": PAClassifier("PA-II", C=1 / 16, fit_intercept=False),
        "perceptron": OnlineClassifier("perceptron", fit_intercept=False),
    }
    rows = []
    for seed in range(1, runs + 1):
        order = libol_order(seed, len(y))
        for name, model in learners.items():
            # LIBOL's perceptron scores 0 until its first mistake, on a row with -1. Ours would move on any row before.
            skipped = np.argmax(y[order] < 0) if name == "perceptron" else 0
            # Here a score of 0 counts as the first class: with the signs of the labels swapped, that is +1.
            model.fit(X[order[skipped:]], -y[order[skipped:]])
            rate = model.n_mistakes_ / len(y)
            rows.append({"model": name, "seed": seed, "mistake_rate": rate, "updates": model.n_updates_})
    return pd.DataFrame(rows)


def against_printed(X, y):
    """Return the mistake rates and updates that LIBOL's manual prints for ijcnn1, and those of `libol_runs`.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        As in `libol_runs`.

    Returns
    -------
    DataFrame
        A row per model and quantity, and columns ``mean, printed``, ``std, printed`` (NaN where the manual has none),
        ``mean, ours`` and ``std, ours``.
    """
    printed = load_table("libol_table3_ijcnn1").drop(columns="note").set_index(["model", "quantity"])
    ours = libol_runs(X, y).melt(["model", "seed"], var_name="quantity")
    ours = ours.groupby(["model", "quantity"])["value"].agg(["mean", "std"])
    return printed.add_suffix(", printed").join(ours.add_suffix(", ours"))
