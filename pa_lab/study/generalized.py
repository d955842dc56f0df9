"""The experiment of Pérez-Suay, Ferri, Arevalillo-Herráez and Albert (section 4): mini-batches on seven databases.

The kernel values of a database are worked out once per width; a learner is then a pass over rows of that matrix. The
source leaves open how features are scaled, how sigma enters the kernel and the order of the examples; here features
have mean 0 and variance 1 unless asked otherwise, ``k(x, x') = exp(-||x - x'||^2 / (2 sigma^2)) + 1``, where the 1 is
the bias of their section 2, and the order is random.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform

from pa_lab import PAClassifier
from pa_lab.passes import State, learn_batches
from pa_lab.queries import ASK_ALL
from pa_lab.rows import make_gram_rows
from pa_lab.rules import make_rule
from pa_lab.study.experiments import flip_labels, grid, sweep
from pa_lab.study.metrics import scores
from pa_lab.study.published import decide
from pa_lab.study.statistics import corrected_t_test

METHODS = {"BPAI": "PA-I", "BPAII": "PA-II", "BPALS": "PALS"}
DATABASES = ("breast", "diabetes", "heart", "ionosphere", "liver", "sonar", "twonorm")
BATCHES = (1, 2, 3, 4, 6, 8, 10, 20)
CS, SIGMAS = np.logspace(-5, 1, 7), np.logspace(-4, 1, 6)
SCALINGS = ("standard", "unit", "none")
WIDTHS = {"2 sigma^2": lambda s: 0.5 / s**2, "sigma^2": lambda s: s**-2.0, "gamma": lambda s: s}


def scaled(X, how="standard"):
    """Features with mean 0 and variance 1, in [0, 1], or as they are; constant ones become 0.

    >>> scaled(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if how == "none":
        return X
    low, unit = (X.mean(0), X.std(0)) if how == "standard" else (X.min(0), np.ptp(X, 0))
    return (X - low) / np.where(unit > 0, unit, 1.0)


def rbf(squares, sigma, width="2 sigma^2"):
    """Kernel values from the condensed squared distances of `pdist`, with sigma as `WIDTHS` has it.

    >>> rbf(np.array([2.0]), 1.0).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    K = squareform(np.exp(-WIDTHS[width](sigma) * squares))
    np.fill_diagonal(K, 1.0)
    return K


def kernel_pass(K, y, order, method, C, batch_size):
    """One online pass over some rows of a database, by a kernel learner with bias.

    Parameters
    ----------
    K : ndarray of shape (n, n). Kernel values of the whole database.
    y : ndarray of shape (n,). Labels in {-1, +1}.
    order : ndarray of int. The rows to learn from, as they come; at least one.
    method : {"BPAI", "BPAII", "BPALS"}
    C, batch_size : float, int

    Returns ``trace`` of shape (len(order), 2), the score before the update and tau of each example; and ``w`` of shape
    (n + 1,), coefficients by row and the bias.

    >>> trace, w = kernel_pass(np.eye(2), np.array([1.0, -1.0]), np.array([1]), "BPALS", 0.5, 1)
    >>> trace.round(3).tolist(), w.round(3).tolist()
    ([[0.0, 0.333]], [0.0, -0.333, -0.333])
    """
    if not len(order):
        raise ValueError(f"order must name at least one row to learn from; got {order!r}.")
    n, trace = len(K), np.zeros((len(order), 2))
    state = State(np.zeros((n + 1, 1)), np.empty((n + 1, 0)), np.zeros(5, np.int64))
    rows, rule = make_gram_rows(K, np.zeros((n, 1)), norm_one=1.0), make_rule(METHODS[method])
    learn_batches(rows, y.astype(float), order, np.full(n, float(C)), rule, ASK_ALL, state, trace, batch_size)
    return trace, state.weights[:, 0]


def predict(K, rows, w):
    """Scores of some rows of a database under the coefficients of a `kernel_pass`.

    >>> predict(np.eye(2), np.array([0, 1]), np.array([2.0, 0.0, 0.5])).tolist()
    [2.5, 0.5]
    """
    return decide(K[rows], w[:-1]) + w[-1]


def wrong(p, y):
    """Which scores have the wrong sign; a score of 0 says -1, as in the learners."""
    return (p > 0) != (y > 0)


def tune(X, y, subsamples, methods=tuple(METHODS), batches=BATCHES, width="2 sigma^2", Cs=CS, sigmas=SIGMAS):
    """C and sigma of the lowest final cumulative error, averaged over subsamples, for each method and batch size.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    subsamples : list of ndarray of int. Rows, as they come.

    Returns a frame with columns ``method``, ``B``, ``C``, ``sigma``, ``error``. Of equal errors the least C, then
    sigma, counts.
    """
    settings = grid(sigma=list(sigmas), subsample=range(len(subsamples)))
    squares = [pdist(X[rows], "sqeuclidean") for rows in subsamples]
    runs = sweep(_tune_one, settings, label="tuning", squares=squares, y=[y[rows] for rows in subsamples],
                 inner=grid(method=methods, B=batches, C=list(Cs)), width=width)  # fmt: skip
    means = runs.groupby(["method", "B", "C", "sigma"], sort=True)["error"].mean().round(12).reset_index()
    best = means.loc[means.groupby(["method", "B"])["error"].idxmin()]
    return best.reset_index(drop=True)


def _tune_one(sigma, subsample, squares, y, inner, width):
    K, y = rbf(squares[subsample], sigma, width), y[subsample]
    order = np.arange(len(y))
    return [run | {"error": wrong(kernel_pass(K, y, order, run["method"], run["C"], run["B"])[0][:, 0], y).mean()}
            for run in inner]  # fmt: skip


def splits(n, trials, share=0.75, seed=0, most=None):
    """Random (training, test) rows; the training rows in the order they come.

    >>> train, test = splits(8, 1)[0]
    >>> len(train), len(test)
    (6, 2)
    """
    cut = min(round(share * n), most or n)
    orders = [np.random.default_rng([seed, trial]).permutation(n) for trial in range(trials)]
    return [(order[:cut], order[cut:]) for order in orders]


def trials(X, y, chosen, parts, width="2 sigma^2", flips=(0.0,), paths=False):
    """Learn from each training part and test on the rest, with the chosen C and sigma.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    chosen : DataFrame. From `tune`.
    parts : list of (train, test). From `splits`.
    width : str in ``WIDTHS``
    flips : sequence of float. Shares of the training labels to flip. Errors are counted by the true labels.
    paths : bool. Also follow the test error along the stream, for its variation; see `variation`.

    Returns a frame with the columns of ``chosen``, ``trial``, ``flip``, ``online`` (final cumulative error), ``test``,
    ``updates``, and ``curve``: the cumulative error after each example.
    """
    squares, settings = pdist(X, "sqeuclidean"), grid(trial=range(len(parts)), flip=list(flips))
    return pd.concat([
        sweep(_trial, settings, label=f"sigma {sigma:g}", parts=parts, y=y, K=rbf(squares, sigma, width),
              chosen=runs[["method", "B", "C", "sigma"]].to_dict("records"), paths=paths)
        for sigma, runs in chosen.groupby("sigma")
    ], ignore_index=True)  # fmt: skip


def _trial(trial, flip, parts, y, K, chosen, paths):
    train, test = parts[trial]
    heard = y.copy()
    heard[train] = flip_labels(y[train], flip, np.random.default_rng([trial, 1]))
    seen, rows = np.arange(1, len(train) + 1), []
    for run in chosen:
        trace, w = kernel_pass(K, heard, train, run["method"], run["C"], run["B"])
        curve = np.cumsum(wrong(trace[:, 0], y[train])) / seen
        result = run | {
            "online": curve[-1],
            "test": wrong(predict(K, test, w), y[test]).mean(),
            "updates": np.count_nonzero(trace[:, 1]),
            "curve": curve,
        }
        if paths:
            path = error_path(K, y, heard, train, test, trace[:, 1], run["B"])
            result |= {"rough_test": variation(path), "rough_online": variation(curve)}
        rows.append(result)
    return rows


def error_path(K, y, heard, train, test, tau, B):
    """Test error of the hypothesis in force after each example of the stream."""
    steps = (K[np.ix_(test, train)] + 1.0) * (tau * heard[train])
    p = np.cumsum(steps, axis=1)
    ends = np.arange(1, len(train) + 1) // B * B - 1  # the last example that has been learnt from
    ends[-1] = len(train) - 1
    errors = wrong(p, y[test][:, None]).mean(axis=0)
    return np.where(ends < 0, wrong(0.0, y[test]).mean(), errors[ends])


def variation(curve):
    """How much a curve goes up and down over its second half: the sum of its steps, in absolute value.

    >>> variation(np.array([9.0, 9.0, 1.0, 2.0, 1.0]))
    2.0
    """
    return float(np.abs(np.diff(curve[len(curve) // 2 :])).sum())


def stream_trials(X, y, X_test, y_test, orders, batches=BATCHES, Cs=CS, fit_intercept=True):
    """Linear mini-batches over shuffles of a long stream, with C by the mistakes along the last of the shuffles.

    Parameters
    ----------
    X, y, X_test, y_test : arrays. Training and test part.
    orders : list of ndarray of int. Orders of the training rows; the last one is for tuning only.

    Returns a frame with columns ``method``, ``B``, ``C``, ``order``, ``online`` and ``updates`` (shares of rows), and
    the test scores.
    """

    def learn(rows, method, B, C):
        model = PAClassifier(METHODS[method], C=C, batch_size=B, fit_intercept=fit_intercept)
        return model.fit(X[rows], y[rows])

    rates = pd.DataFrame([s | {"mistakes": learn(orders[-1], **s).n_mistakes_}
                          for s in grid(method=METHODS, B=batches, C=Cs)])  # fmt: skip
    best = rates.loc[rates.groupby(["method", "B"])["mistakes"].idxmin()].drop(columns="mistakes")
    runs = []
    for setting in best.to_dict("records"):
        for number, rows in enumerate(orders[:-1]):
            model = learn(rows, **setting)
            shares = {"online": model.n_mistakes_ / len(rows), "updates": model.n_updates_ / len(rows)}
            runs.append(setting | {"order": number} | shares | scores(y_test, model.decision_function(X_test)))
    return pd.DataFrame(runs)


# ---------------------------------------------------------------- what the runs say


def against_published(summary, published):
    """Our test errors beside Table 2, in percent, each pair marked by whether the 95 % intervals overlap.

    Parameters
    ----------
    summary : DataFrame. From `statistics.summarize` by ``database``, ``method``, ``B``, of ``test``.
    published : DataFrame. ``published.load_table("perez_suay_table2")``.

    Returns a frame with a row per cell: ``database``, ``method``, ``B``, ``ours``, ``ours_ci``, ``theirs``,
    ``theirs_ci``, ``overlap``.
    """
    theirs = published.set_axis(["database", "method", "B", "theirs", "theirs_ci"], axis=1)
    ours = summary.assign(ours=100 * summary["test"], ours_ci=100 * (summary["test_high"] - summary["test"]))
    cells = ours[["database", "method", "B", "ours", "ours_ci"]].merge(theirs, on=["database", "method", "B"])
    return cells.assign(overlap=(cells.ours - cells.theirs).abs() <= cells.ours_ci + cells.theirs_ci)


def compare(runs, value, pairs, sizes):
    """Paired differences between two settings on every database, by the corrected resampled t-test.

    Parameters
    ----------
    runs : DataFrame. From `trials`, with a column ``database``.
    value : {"online", "test"}
    pairs : list of ((method, B), (method, B))
    sizes : dict of str to (int, int). Rows trained on and tested on, by database.

    Returns a frame with columns ``database``, ``a``, ``b``, then ``mean`` (a minus b), ``low``, ``high``, ``t``, ``p``.
    """
    wide = runs.pivot(index=["database", "trial"], columns=["method", "B"], values=value)
    return pd.DataFrame(
        [{"database": name, "a": a, "b": b} | corrected_t_test(part[a] - part[b], *sizes[name])
         for name, part in wide.groupby(level="database", sort=False) for a, b in pairs]
    )  # fmt: skip


def claims(runs, sizes):
    """The source's four claims as counts over databases and settings, with a verdict for each.

    The first is a claim of a difference, which tests can show. The others claim that there is none to speak of: tests
    that find none do not show that, so their verdicts only say that no difference was shown.

    Returns a frame with columns ``claim``, ``measured``, ``holds``, ``of``, ``share``, ``verdict``.
    """
    batches = sorted(runs["B"].unique())
    small, middle = [(m, 1) for m in METHODS], [B for B in (4, 6, 8) if B in batches]
    falls = compare(runs, "online", list(zip(small, [(m, max(middle)) for m in METHODS], strict=True)), sizes)
    means = runs.groupby(["database", "method", "B"], sort=False)["online"].mean().unstack("B")
    best = {(db, m): means.loc[(db, m)].idxmin() for db, m in means.index}
    suffices = [
        compare(runs[runs["database"] == db], "online", [((m, B), (m, best[db, m])) for B in middle], sizes)
        for db, m in means.index
    ]
    alike = compare(runs, "online", [(("BPAII", B), ("BPALS", B)) for B in batches], sizes)
    cells = [(m, B) for m in METHODS for B in (1, 4, 8) if B in batches]
    tests = compare(runs, "test", list(combinations(cells, 2)), sizes)
    rows = [
        ("cumulative error falls with B", f"B = 1 significantly worse than B = {max(middle)}",
         (falls["mean"].gt(0) & falls["p"].lt(0.05)).to_numpy()),
        ("B = 4 to 8 suffices", "one of these B not significantly worse than the best B",
         [bool((c["p"].ge(0.05) | c["mean"].le(0) | c["p"].isna()).any()) for c in suffices]),
        ("BPAII and BPALS behave alike", "cumulative errors not significantly different", alike["p"].ge(0.05)),
        ("final test errors differ little", "two columns of their Table 2 not significantly different",
         tests["p"].ge(0.05)),
    ]  # fmt: skip
    table = pd.DataFrame([{"claim": c, "measured": how, "holds": int(np.sum(k)), "of": len(k)} for c, how, k in rows])
    table["share"] = table["holds"] / table["of"]
    words = [SHOWN] + [NOT_SHOWN] * (len(rows) - 1)
    return table.assign(verdict=[verdict(*case) for case in zip(table["share"], words, strict=True)])


SHOWN = ("does not hold", "undecided", "holds mostly", "holds")
NOT_SHOWN = ("refuted", "undecided", "mostly not shown to differ", "not shown to differ")


def verdict(share, words=SHOWN):
    """A share of cases in words, which change at 1/3, 2/3 and 0.9.

    >>> [verdict(share) for share in (1.0, 0.8, 0.5, 0.1)], verdict(0.95, NOT_SHOWN)
    (['holds', 'holds mostly', 'undecided', 'does not hold'], 'not shown to differ')
    """
    return words[int(np.searchsorted([1 / 3, 2 / 3, 0.9], share, side="right"))]
