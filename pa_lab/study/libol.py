"""The online runs of LIBOL (Hoi, Wang and Zhao, 2014), in the very row orders its published table used.

LIBOL shuffles the row numbers with ``srand(i)`` and ``std::random_shuffle``, for i = 1 to 20, and was compiled with
Microsoft's C++ library, whose random numbers and shuffle are reproduced here. It uses no intercept and counts a score
of 0 as +1. Its manual does not print the parameters it chose; notebook 08 finds them.
"""

import numpy as np
import pandas as pd
from numba import njit

from pa_lab.study.published import load_table

RAND_MAX = np.uint64(2**15 - 1)
MISTAKES_ONLY = ("perceptron", "ROMMA", "SOP", "IELLIP")  # rules that move after a mistake only


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


def libol_run(model, X, y):
    """Run a learner once over rows in order, as LIBOL would, and return its mistakes and its updates.

    >>> from pa_lab.study.baselines import online
    >>> libol_run(online("perceptron", fit_intercept=False), np.array([[1.0], [1.0]]), np.array([1, -1]))
    (1, 1)
    """
    if getattr(model, "rule", None) in MISTAKES_ONLY:
        # LIBOL's score of 0 is right for +1, so that nothing moves before the first -1. Rows of zeros move nothing.
        X = np.where(np.cumsum(y < 0)[:, None] > 0, X, 0.0)
    model.fit(X, -y)  # here a score of 0 counts as the first class: with the signs of the labels swapped, that is +1
    return model.n_mistakes_, model.n_updates_


def libol_runs(learners, X, y, seeds=range(1, 21)):
    """Run learners once over the rows in LIBOL's orders.

    Parameters
    ----------
    learners : dict of str to estimator or function
        Learners without intercept, or functions of rows and labels that return mistakes and updates.
    X, y : arrays of shape (n, d) and (n,)
        For ijcnn1 its training rows followed by its test rows; labels -1 and +1.
    seeds : iterable of int, default=range(1, 21)
        Seeds of the orders. The table has 1 to 20.

    Returns
    -------
    DataFrame
        Columns ``model``, ``seed``, ``mistake_rate`` and ``updates``, a row per run.
    """
    rows = []
    for seed in seeds:
        order = libol_order(seed, len(y))
        part = X[order], y[order]
        for name, learn in learners.items():
            mistakes, updates = libol_run(learn, *part) if hasattr(learn, "fit") else learn(*part)
            rows.append({"model": name, "seed": seed, "mistake_rate": mistakes / len(y), "updates": updates})
    return pd.DataFrame(rows)


def beside_printed(runs):
    """Return mistake rate and updates of runs beside those that LIBOL's manual prints, and whether all digits agree.

    Parameters
    ----------
    runs : DataFrame
        As from `libol_runs`, with the manual's names of the algorithms.

    Returns
    -------
    DataFrame
        A row per model, in the manual's order: ``mistake_rate, mistake_rate_std, updates, updates_std``, each followed
        by itself with ``, printed`` behind its name; and ``agrees``.
    """
    grouped = runs.groupby("model")[["mistake_rate", "updates"]]
    ours = grouped.mean().join(grouped.std().add_suffix("_std"))
    printed = load_table("libol_table3").set_index("algorithm")[list(QUANTITIES)]
    table = printed.add_suffix(", printed").join(ours, how="inner")
    near = [(table[q] - table[f"{q}, printed"]).abs() <= 0.5001 * unit for q, unit in QUANTITIES.items()]
    columns = [name for q in QUANTITIES for name in (q, f"{q}, printed")]
    return table[columns].assign(agrees=np.logical_and.reduce(near))


QUANTITIES = {"mistake_rate": 1e-3, "mistake_rate_std": 1e-3, "updates": 0.1, "updates_std": 0.1}  # last digit printed
