"""The tables of Ezukwoke and Zareian (2019): as printed, the protocol behind them, and their claims as tests.

The protocol departs from passive-aggressive learning and from sound evaluation in known ways; each is a switch here,
so that its effect on the figures can be measured. Labels are -1 and +1, scores in percent as printed.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit
from scipy import stats
from sklearn.svm import SVC

from pa_lab.linear import PAClassifier
from pa_lab.queries import MARGIN, NO_DRAWS, query_probability
from pa_lab.rows import dot_vector
from pa_lab.rules import PA2, VARIANTS, hinge, step
from pa_lab.study.experiments import cached_fit, flip_labels
from pa_lab.study.metrics import best_threshold, scores

REAL_COLUMNS = slice(10, 22)  # the first ten say which cylinder fired
VALIDATION_ROWS = 14_990  # the last of ijcnn1, read a second time
NOISY_ROWS = 3_200  # the first, whose labels are all set to -1
LAST_FOLD_ROWS = 58_482  # of 64,980: what the last of ten unshuffled folds is trained on
FLIPPED = 299  # labels that the noise changes
RULES = ("PA", "PA-I", "PA-II")
CELLS = [("PA", None)] + [(variant, C) for variant in RULES[1:] for C in (0.1, 1.0, 10.0)]  # columns of the tables
CLASSIC_SVM_C, COUNTS_C = 0.01, 0.1
KEY = ["table", "model", "variant", "C", "metric"]
ROAD = (
    "as published",
    "norm squared",
    "hinge loss",
    "update inside margin",
    "1/(2C) for 2C",
    "no row twice",
    "AUC from scores",
    "all 22 columns",
    "shuffled order",
    "averaged weights",
)
SQUARED, LOSS, INSIDE, INVERSE, ONCE, RANKED, WIDE, SHUFFLED, AVERAGED = range(1, len(ROAD))


def load_table(name):
    """A transcribed table: ``"ezukwoke_zareian_2019"``, ``"perez_suay_table2"``, ``"claims"`` and so on.

    >>> load_table("perez_suay_table2").shape
    (63, 5)
    """
    return pd.read_csv(Path(__file__).parent / "published_tables" / f"{name}.csv")


def stream(data, table="table1", road=0):
    """The training rows of a published table, in the order they were read.

    Parameters
    ----------
    data : Bunch. ``datasets.load("ijcnn1")``, as everywhere here.
    table : {"table1", "table3", "table5", "update_counts"}, default="table1"
        All rows; those of the last fold; all rows with the noisy labels; ijcnn1 alone.
    road : int, default=0
        A place in ``ROAD``: from ``ONCE`` on no row comes twice, from ``WIDE`` on all columns are used.

    Returns ``X`` of shape (n, 12) or (n, 22), and ``y`` of shape (n,).
    """
    X = data.X_train if road >= WIDE else data.X_train[:, REAL_COLUMNS]
    y = data.y_train
    if table != "update_counts" and road < ONCE:
        X, y = np.vstack([X, X[-VALIDATION_ROWS:]]), np.concatenate([y, y[-VALIDATION_ROWS:]])
    if table == "table3":
        X, y = X[:LAST_FOLD_ROWS], y[:LAST_FOLD_ROWS]
    if table == "table5":
        y = np.where(np.arange(len(y)) < NOISY_ROWS, -1, y)
    return np.ascontiguousarray(X), y


@njit(cache=True, error_model="numpy")
def _learn(X, y, w, rule, C, road, draws, counts):
    """One pass in place; ``counts`` takes labels asked for, updates, and mistakes on all rows."""
    for i in range(len(y)):
        p, sqnorm = 0.0, 0.0
        for j in range(len(w)):
            p += w[j] * X[i, j]
            sqnorm += X[i, j] * X[i, j]
        differs = np.sign(p) != y[i]
        counts[2] += (p > 0.0) != (y[i] > 0)
        if len(draws) > 0 and draws[i] >= query_probability(MARGIN, p if road >= INVERSE else np.sign(p), 1.0, 0.0):
            continue
        counts[0] += 1
        loss = hinge(y[i], p)
        if loss == 0.0 or (road < INSIDE and not differs):
            continue
        counts[1] += 1
        a = loss if road >= LOSS else 1.0
        size = sqnorm if road >= SQUARED else np.sqrt(sqnorm)
        price = 0.25 / C if rule == PA2 and road < INVERSE else C  # 2C is what 1/(2 price) comes to then
        tau = step(rule, a, size, price)
        for j in range(len(w)):
            w[j] += tau * y[i] * X[i, j]


def learn(X, y, variant, C=None, road=0, draws=NO_DRAWS, w=None):
    """One pass of the published rule, or of what becomes of it on the road to PA.

    As published (``road=0``) it moves only where ``sign(p) != y``, by ``a / ||x||``, ``min(C, a / ||x||)`` or
    ``a / (||x|| + 2 C)``, where ``a`` is 1 if the hinge loss is positive. From ``INVERSE`` on it is PA without an
    intercept (Crammer et al., 2006). With ``draws`` it is active: it asks with probability
    ``1 / (1 + |sign(p)|)``, so for every second label, and from ``INVERSE`` on with ``1 / (1 + |p|)``.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    variant : {"PA", "PA-I", "PA-II"}. The classic rule, the first and the second relaxation.
    C : float or None, default=None. Aggressiveness; PA has none.
    road : int, default=0. A place in ``ROAD``: every change up to it is made.
    draws : array of shape (n,), optional. Uniform numbers that decide which labels are asked for.
    w : array of shape (d,), optional. Weights to go on from.

    Returns the weights, a float64 array of shape (d,), and a dict of counts: ``queries``, ``updates`` and ``mistakes``
    (on all rows, asked for or not).

    >>> w, counts = learn(np.array([[3.0, 4.0]]), np.array([1]), "PA")
    >>> w.round(2).tolist(), counts["updates"]
    ([0.6, 0.8], 1)
    """
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    counts = np.zeros(3, dtype=np.int64)
    _learn(X, y, w, VARIANTS.index(variant), 1.0 if C is None else C, road, draws, counts)
    return w, dict(zip(("queries", "updates", "mistakes"), counts.tolist(), strict=True))


def scored_rows(data, road=0):
    """The rows scored, whatever the table: ``ijcnn1.t``, from ``WIDE`` on with all columns."""
    return np.ascontiguousarray(data.X_test if road >= WIDE else data.X_test[:, REAL_COLUMNS])


@njit(cache=True, error_model="numpy")
def decide(X, w):
    """Decision values ``X w``; a product by BLAS shares the cores with whatever else runs and is slower here."""
    decision = np.empty(len(X))
    for i in range(len(X)):
        decision[i] = dot_vector(X, i, w)
    return decision


def auc(y, decision):
    """Area under the ROC curve of decision values, in percent."""
    return 100 * scores(y, decision)["auc"]


def hard_scores(y, decision):
    """AUC and F1 of hard labels, in percent; this AUC is the balanced accuracy, whatever the ranking.

    >>> hard_scores(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    {'auc': 75.0, 'f1': 80.0}
    """
    said, true = decision > 0, y > 0
    hits, said, true, n = np.count_nonzero(said & true), said.sum(), true.sum(), len(y)
    specificity = 1 - (said - hits) / (n - true)
    return {"auc": float(50 * (hits / true + specificity)), "f1": float(200 * hits / (said + true))}


def _rows(table, model, variant, C, values):
    return [dict(zip(KEY, (table, model, variant, C, metric), strict=True), value=v) for metric, v in values.items()]


def run_protocol(seed, data, tables=("table1", "table3", "table5", "update_counts")):
    """Every PA cell of the published tables once more, or with a seed every active PA cell.

    Parameters
    ----------
    seed : int or None. None for PA, which has no randomness; else the seed of the queries, the same for all cells.
    data : Bunch
    tables : tuple of str. Which of them. In Table 3 C is 0.1 throughout, whatever its heading says.

    Returns a list of dicts with ``table, model, variant, C, metric, value``: AUC and F1 in percent, or counts.
    """
    X_test, rows = scored_rows(data), []
    model = "PA" if seed is None else "APA"
    for table in tables:
        X, y = stream(data, table)
        draws = NO_DRAWS if seed is None else np.random.default_rng(seed).random(len(y))
        for variant, C in CELLS if table != "update_counts" else [(variant, None) for variant in RULES]:
            w, counts = learn(X, y, variant, COUNTS_C if table in ("table3", "update_counts") else C, draws=draws)
            values = counts if table == "update_counts" else hard_scores(data.y_test, decide(X_test, w))
            rows += _rows(table, model, variant, C, values)
    return rows


def svm_decisions(X, y, C, *row_sets):
    """Decision values of LIBSVM's linear machine on each set of rows, and the seconds its fit took (fits are kept)."""
    model, seconds = cached_fit(SVC(kernel="linear", C=C), X, y)
    return *(decide(rows, model.coef_[0]) + model.intercept_[0] for rows in row_sets), seconds


def run_svm(table, C, data):
    """The SVM cells of a published table that have this ``C``: hard scores, the AUC of its scores, seconds.

    The column "classic" of the tables is ``C = 0.01``; both relaxations have the same SVM.
    """
    decision, seconds = svm_decisions(*stream(data, table), C, scored_rows(data))
    values = hard_scores(data.y_test, decision)
    ranked = {"ranked_auc": auc(data.y_test, decision), "seconds": seconds}
    cells = [("PA", None)] if C == CLASSIC_SVM_C else [(variant, C) for variant in RULES[1:]]
    return [row for cell in cells for row in _rows(table, "SVM", *cell, values | ranked)]


def compare(runs, tolerance=0.02):
    """Printed beside recomputed, cell by cell, with a mark.

    Parameters
    ----------
    runs : DataFrame. Long form as from `run_protocol` and `run_svm`; many rows per cell for the active learner.
    tolerance : float, default=0.02
        Largest difference of a deterministic cell that counts as reproduced; counts must be equal.

    Returns a frame of the printed rows that ``runs`` covers, with ``recomputed`` (median), ``low`` and ``high`` (95 %
    range over seeds), ``difference``, ``rank`` (share of seeds below the printed value) and ``mark``.
    """
    values = runs.astype({"C": float}).groupby(KEY, dropna=False)["value"].agg(list).reset_index()
    table = load_table("ezukwoke_zareian_2019").drop(columns="note").rename(columns={"value": "printed"})
    table = table.merge(values, on=KEY)
    active = table["model"] == "APA"
    low, median, high = np.array([np.quantile(ours, [0.025, 0.5, 0.975]) for ours in table["value"]]).T
    difference = table["printed"] - median
    close = difference.abs() <= (tolerance + 1e-9) * (table["metric"] != "updates")
    rank = table.apply(lambda cell: np.mean(np.less(cell["value"], cell["printed"])), axis=1).where(active)
    agrees = np.where(active, table["printed"].between(low, high), close)
    mark = np.select([table["printed"].isna(), ~agrees, active], ["digits lost", "not reproduced", "inside 95 % range"],
                     "reproduced")  # fmt: skip
    found = {"recomputed": median, "difference": difference, "low": low, "high": high, "rank": rank, "mark": mark}
    return table.drop(columns="value").assign(**found)


def walk(variant, C, road, seed, data):
    """AUC (of hard labels before ``RANKED``) and F1 in percent, after the changes of the road up to a place.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "SVM"}. A rule, or LIBSVM, which only the changes of data and of scoring concern.
    C, road, data. As in `learn` and `stream`.
    seed : int or None. Seeds a random order of the rows; None is the order of the file, which ends at ``SHUFFLED``.
    """
    X, y = stream(data, road=road)
    X_test = scored_rows(data, road)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    if variant == "SVM":
        decision, _ = svm_decisions(X, y, C, X_test)
    elif road >= AVERAGED:
        model = PAClassifier(variant, C=1.0 if C is None else C, average=True, fit_intercept=False)
        decision = decide(X_test, model.fit(X, y).coef_[0])
    else:
        decision = decide(X_test, learn(X, y, variant, C, road)[0])
    return hard_scores(data.y_test, decision) | ({"auc": auc(data.y_test, decision)} if road >= RANKED else {})


def sound(model, variant, C, seed, data, noise=False, fold=False):
    """The same question asked soundly: all columns, no row twice, AUC of the scores, F1 at a tuned threshold.

    PA reads the rows once in random order and predicts with the mean of its weights; active PA asks with probability
    ``1 / (1 + |p|)``. The threshold is the best on the rows trained on.

    Parameters
    ----------
    model : {"PA", "APA", "SVM"}. Which learner.
    variant, C, data
        As in `learn` and `walk`; with ``C=None`` the SVM is the one the tables set against the classic rule.
    seed : int. Seeds order and queries, and which labels or rows are taken.
    noise : bool, default=False. Flip ``FLIPPED`` positive labels anywhere instead of at the start.
    fold : bool, default=False
        Leave out the fold ``seed % 10`` of ten random ones. (Every tenth row would be all of one cylinder.)

    Returns a dict with ``auc``, ``f1`` (tuned threshold), ``f1_at_0`` in percent and ``mistakes`` on all rows of such a
    stream, asked for or not (None for the SVM).
    """
    X, y = data.X_train, data.y_train
    if noise:
        y = flip_labels(y, FLIPPED / np.count_nonzero(y == 1), np.random.default_rng(seed), among=1)
    if fold:
        kept = np.random.default_rng(0).permutation(len(y)) % 10 != seed % 10
        X, y = X[kept], y[kept]
    if model == "SVM":
        C = CLASSIC_SVM_C if C is None else C
        train, test, _ = svm_decisions(X, y, C, X, data.X_test)
        mistakes = None
    else:
        rng = np.random.default_rng(seed)
        order, draws = rng.permutation(len(y)), rng.random(len(y)) if model == "APA" else NO_DRAWS
        mistakes = learn(X[order], y[order], variant, C, AVERAGED, draws)[1]["mistakes"]
        query = "margin" if model == "APA" else "all"
        options = {"average": True, "shuffle": True, "fit_intercept": False, "query": query, "random_state": seed}
        fitted = PAClassifier(variant, C=1.0 if C is None else C, **options).fit(X, y)
        train, test = fitted.decision_function(X), fitted.decision_function(data.X_test)
    tuned, plain = (hard_scores(data.y_test, test - cut)["f1"] for cut in (best_threshold(y, train), 0.0))
    return {"auc": auc(data.y_test, test), "f1": tuned, "f1_at_0": plain, "mistakes": mistakes}


def _difference(a, b, times=1.0):
    """Mean of ``a`` minus ``times`` the mean of ``b`` in each known cell, and half its 95 % interval (Welch)."""
    a, b = (np.asarray(v, dtype=float).reshape(len(v), -1) for v in (a, b))
    known = ~np.isnan(a).any(axis=1) & ~np.isnan(b).any(axis=1)
    runs = [a[known], times * b[known]]
    freedom = [max(v.shape[1] - 1, 1) for v in runs]
    errors = [np.zeros(len(v)) if v.shape[1] == 1 else v.var(axis=1, ddof=1) / v.shape[1] for v in runs]
    total, spread = sum(errors), sum(e**2 / f for e, f in zip(errors, freedom, strict=True))
    welch = np.divide(total**2, spread, out=np.ones_like(total), where=spread > 0)
    return runs[0].mean(axis=1) - runs[1].mean(axis=1), stats.t.ppf(0.975, welch) * np.sqrt(total)


def above(a, b, by=0.0, times=1.0):
    """Whether ``a`` exceeds ``times b`` by more than ``by`` in every cell: True, False, or None if chance may decide.

    Parameters
    ----------
    a, b : arrays of shape (cells,) or (cells, runs)
        With several runs the 95 % interval of the difference of means has to be clear of ``by``.
    by, times : float

    >>> above([2, 3], [1, 1]), above([2, 1], [1, 3]), above([[1, 5]], [[2, 2]])
    (True, False, None)
    """
    mean, half = _difference(a, b, times)
    return True if (mean - half > by).all() else False if (mean + half <= by).any() else None


def mostly_above(a, b):
    """As `above`, in more than half of the cells.

    >>> mostly_above([2, 3, 0], [1, 1, 1]), mostly_above([2, 0], [1, 1])
    (True, False)
    """
    mean, half = _difference(a, b)
    return True if np.mean(mean - half > 0) > 0.5 else False if np.mean(mean + half <= 0) >= 0.5 else None


def both(p, q):
    """True if both are, False if one is False, else None.

    >>> both(True, None), both(False, None)
    (None, False)
    """
    return False if p is False or q is False else None if p is None or q is None else True


def cells(frame, metrics=("auc", "f1"), **where):
    """The figures of one learner in a fixed order of cells, as an array of shape (cells, runs).

    Parameters
    ----------
    frame : DataFrame. Long form: ``variant``, ``C``, ``metric``, ``value``, and a row per cell and run.
    metrics : tuple of str, default=("auc", "f1")
    **where. Other columns and the value they must have, such as ``table="table1", model="PA"``.
    """
    for column, value in where.items():
        frame = frame[frame[column] == value]
    frame = frame[frame["metric"].isin(metrics)].assign(C=frame["C"].astype(float).fillna(0.0))
    return np.array(frame.groupby(["metric", "variant", "C"])["value"].apply(list).tolist(), dtype=float)


def judge(protocol, sound, printed, swap=False):
    """Test each claim of ``claims.csv`` on printed figures, on those of the published protocol and on sound ones.

    Parameters
    ----------
    protocol, printed : dict of str to array of shape (cells,) or (cells, runs)
        The figures the claims' expressions name. A claim whose figures are not all there is left out; where only the
        printed ones are missing, its entries ``printed`` and ``printed_figures`` are None.
    sound : dict like them, or None. None: there are no sound figures, and the protocol run again decides.
    swap : bool, default=False. Exchange the figures in each pair that a claim names, to see that its verdict turns.

    Returns a frame with ``claim, quote, place``; whether it is true of each set of figures (None: open), by which test
    and with what range of differences; and the `verdict`.
    """
    evidence = {"printed": printed, "protocol": protocol, "sound": sound or {}}
    tools, rows = {"above": above, "mostly_above": mostly_above, "both": both, "__builtins__": {}}, []
    for claim in load_table("claims").to_dict("records"):
        names = claim["swap"].split()
        pairs = list(zip(names[::2], names[1::2], strict=True))
        exchange = dict(pair for a, b in pairs for pair in ((a, b), (b, a))) if swap else {}
        row = {key: claim[key] for key in ("claim", "quote", "place")}
        for kind, figures in evidence.items():
            test = claim["printed" if kind == "printed" else "recomputed"]
            code = compile(test, claim["claim"], "eval")
            used = set(code.co_names) - set(tools)
            if not used <= set(figures):
                row |= {kind: None, f"{kind}_figures": None}
                continue
            turned = {name: figures[exchange.get(name, name)] for name in used}
            ranges = [_range(*pair, turned) for pair in pairs if set(pair) <= used]
            row |= {kind: eval(code, tools, turned), f"{kind}_figures": "; ".join(ranges), f"{kind}_test": test}
        if row["protocol_figures"] and (row["sound_figures"] or sound is None):
            rows.append(row | {"verdict": verdict(row["protocol"], row["sound"], sound is not None)})
    return pd.DataFrame(rows)


def verdict(protocol, sound, exists=True):
    """What follows from a claim's test on the published protocol and on sound figures, if such exist.

    >>> verdict(True, False), verdict(False, None, exists=False)
    ('holds only under the published protocol', 'does not hold when run again')
    """
    if (sound if exists else protocol) is None:
        return "cannot be decided"
    if not exists:
        return "holds when run again" if protocol else "does not hold when run again"
    return "holds" if sound else "holds only under the published protocol" if protocol else "does not hold"


def _range(a, b, figures):
    mean, _ = _difference(figures[a], figures[b])
    return f"{a} - {b}: {mean.min():.3g} to {mean.max():.3g}, above in {np.sum(mean > 0)} of {len(mean)}"
