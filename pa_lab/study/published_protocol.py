"""The protocol behind the tables of Ezukwoke and Zareian (2019), step by step, and what a corrected one gives.

The protocol departs from passive-aggressive learning and from sound evaluation in known ways. Each departure is a
change that can be undone here, so that its effect on the figures can be measured. Labels are -1 and +1; scores are in
percent, as printed. ``data`` is ``datasets.load("ijcnn1")`` everywhere.
"""

import numpy as np
from numba import njit
from sklearn.svm import SVC
from sklearn.utils import Bunch

from pa_lab.linear import PAClassifier
from pa_lab.queries import MARGIN, NO_DRAWS, query_probability
from pa_lab.rows import dot
from pa_lab.rules import PA2, VARIANTS, hinge, step
from pa_lab.study.experiments import cached_fit, flip_labels
from pa_lab.study.metrics import best_threshold, measures
from pa_lab.study.published import KEY, called

REAL_COLUMNS = slice(10, 22)  # the first ten say which cylinder fired
VALIDATION_ROWS = 14_990  # the last of ijcnn1, read a second time
NOISY_ROWS = 3_200  # the first, whose labels are all set to -1
LAST_FOLD_ROWS = 58_482  # of 64,980: what the last of ten unshuffled folds is trained on
FLIPPED = 299  # labels that the noise changes
RULES = ("PA", "PA-I", "PA-II")
CELLS = [("PA", None)] + [(variant, C) for variant in RULES[1:] for C in (0.1, 1.0, 10.0)]  # columns of the tables
CLASSIC_SVM_C, COUNTS_C = 0.01, 0.1
STAGES = (
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
SQUARED, LOSS, INSIDE, INVERSE, ONCE, RANKED, WIDE, SHUFFLED, AVERAGED = range(1, len(STAGES))


# ---------------------------------------------------------------- rows


def training_rows(data: Bunch, table: str = "table1", stage: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows of a published table, in the order in which they were read.

    Parameters
    ----------
    data : Bunch
    table : {"table1", "table3", "table5", "update_counts"}, default="table1"
        All rows; those of the last fold; all rows, with the noisy labels; ijcnn1 without its repeated rows.
    stage : int, default=0
        A place in ``STAGES``. From ``ONCE`` on no row comes twice, from ``WIDE`` on all columns are used.

    Returns
    -------
    X : array of shape (n, 12) or (n, 22)
    y : array of shape (n,)
    """
    X = data.X_train if stage >= WIDE else data.X_train[:, REAL_COLUMNS]
    y = data.y_train
    if table != "update_counts" and stage < ONCE:
        X, y = np.vstack([X, X[-VALIDATION_ROWS:]]), np.concatenate([y, y[-VALIDATION_ROWS:]])
    if table == "table3":
        X, y = X[:LAST_FOLD_ROWS], y[:LAST_FOLD_ROWS]
    if table == "table5":
        y = np.where(np.arange(len(y)) < NOISY_ROWS, -1, y)
    return np.ascontiguousarray(X), y


def scored_rows(data: Bunch, stage: int = 0) -> np.ndarray:
    """Return the rows that every table is scored on: the test part, from ``WIDE`` on with all columns."""
    return np.ascontiguousarray(data.X_test if stage >= WIDE else data.X_test[:, REAL_COLUMNS])


# ---------------------------------------------------------------- the rule


def learn_as_published(
    X: np.ndarray,
    y: np.ndarray,
    variant: str,
    C: float | None = None,
    stage: int = 0,
    draws: np.ndarray = NO_DRAWS,
    w: np.ndarray | None = None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Run one pass of the published rule, or of what becomes of it on the way to PA, and return weights and counts.

    As published (``stage=0``) it moves only where ``sign(p) != y``, by ``a / ||x||``, ``min(C, a / ||x||)`` or
    ``a / (||x|| + 2 C)``, where ``a`` is 1 if the hinge loss is positive. From ``INVERSE`` on it is PA without an
    intercept (Crammer et al., 2006). With ``draws`` it is active: it asks with probability ``1 / (1 + |sign(p)|)``,
    so for every second label, and from ``INVERSE`` on with probability ``1 / (1 + |p|)``.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    variant : {"PA", "PA-I", "PA-II"}
        The classic rule, the first and the second relaxation.
    C : float or None, default=None
        Aggressiveness; PA has none.
    stage : int, default=0
        A place in ``STAGES``. Every change up to it is made.
    draws : array of shape (n,), optional
        Uniform numbers that decide which labels are asked for.
    w : array of shape (d,), optional
        Weights to go on from.

    Returns
    -------
    w : float64 array of shape (d,)
    counts : dict
        With ``queries``, ``updates`` and ``mistakes`` (on all rows, asked for or not).

    Examples
    --------
    >>> w, counts = learn_as_published(np.array([[3.0, 4.0]]), np.array([1]), "PA")
    >>> w.round(2).tolist(), counts["updates"]
    ([0.6, 0.8], 1)
    """
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    counts = np.zeros(3, dtype=np.int64)
    _learn(X, y, w, VARIANTS.index(variant), 1.0 if C is None else C, stage, draws, counts)
    return w, dict(zip(("queries", "updates", "mistakes"), counts.tolist(), strict=True))


@njit(cache=True, error_model="numpy")
def _learn(X, y, w, rule, C, stage, draws, counts):
    """Run one pass, changing ``w`` and ``counts`` (labels asked for, updates, mistakes on all rows) in place."""
    for i in range(len(y)):
        p, sqnorm = 0.0, 0.0
        for j in range(len(w)):
            p += w[j] * X[i, j]
            sqnorm += X[i, j] * X[i, j]
        differs = np.sign(p) != y[i]
        counts[2] += (p > 0.0) != (y[i] > 0)
        if len(draws) > 0 and draws[i] >= query_probability(MARGIN, p if stage >= INVERSE else np.sign(p), 1.0, 0.0):
            continue
        counts[0] += 1
        loss = hinge(y[i], p)
        if loss == 0.0 or (stage < INSIDE and not differs):
            continue
        counts[1] += 1
        numerator = loss if stage >= LOSS else 1.0
        size = sqnorm if stage >= SQUARED else np.sqrt(sqnorm)
        cost = 0.25 / C if rule == PA2 and stage < INVERSE else C  # PA-II then adds 2C, which is 1 / (2 cost)
        tau = step(rule, numerator, size, cost)
        for j in range(len(w)):
            w[j] += tau * y[i] * X[i, j]


@njit(cache=True, error_model="numpy")
def weighted_sums(X, w):
    """Return the decision values ``X w`` of a C-contiguous array, each summed in a fixed order.

    BLAS would share the cores with whatever else runs, and is slower for rows as short as these.
    """
    sums = np.empty(len(X))
    for i in range(len(X)):
        sums[i] = dot(X[i], w, X.shape[1])
    return sums


# ---------------------------------------------------------------- scores


def auc(y: np.ndarray, decision: np.ndarray) -> float:
    """Return the area under the ROC curve of decision values, in percent."""
    return 100 * measures(y, decision)["auc"]


def hard_scores(y: np.ndarray, decision: np.ndarray) -> dict[str, float]:
    """Return AUC and F1 of hard labels, in percent. This AUC is the balanced accuracy, whatever the ranking.

    >>> hard_scores(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    {'auc': 75.0, 'f1': 80.0}
    """
    predicted, true = decision > 0, y > 0
    hits, n_predicted, n_true = np.count_nonzero(predicted & true), predicted.sum(), true.sum()
    specificity = 1 - (n_predicted - hits) / (len(y) - n_true)
    return {"auc": float(50 * (hits / n_true + specificity)), "f1": float(200 * hits / (n_predicted + n_true))}


# ---------------------------------------------------------------- the tables again


def run_protocol(
    seed: int | None, data: Bunch, tables: tuple[str, ...] = ("table1", "table3", "table5", "update_counts")
) -> list[dict]:
    """Compute every PA figure of the published tables again or, with a seed, every figure of active PA.

    Parameters
    ----------
    seed : int or None
        None for PA, which has no randomness; else the seed of the queries, the same for all figures.
    data : Bunch
    tables : tuple of str
        Which of them. In Table 3 C is 0.1 throughout, whatever its heading says.

    Returns
    -------
    list of dict
        With ``table, model, variant, C, metric, value``: AUC and F1 of hard labels in percent, for PA also
        ``ranked_auc``, the AUC of the decision values; or counts.
    """
    X_test, rows = scored_rows(data), []
    model = "PA" if seed is None else "APA"
    for table in tables:
        X, y = training_rows(data, table)
        draws = NO_DRAWS if seed is None else np.random.default_rng(seed).random(len(y))
        for variant, C in CELLS if table != "update_counts" else [(variant, None) for variant in RULES]:
            cost = COUNTS_C if table in ("table3", "update_counts") else C
            w, counts = learn_as_published(X, y, variant, cost, draws=draws)
            if table != "update_counts":
                p = weighted_sums(X_test, w)
                counts = hard_scores(data.y_test, p) | ({"ranked_auc": auc(data.y_test, p)} if seed is None else {})
            rows += _as_rows(table, model, variant, C, counts)
    return rows


def run_svm(table: str, svm_C: float, data: Bunch) -> list[dict]:
    """Compute the SVM figures of a published table fitted with this C: hard scores, the AUC of the scores, seconds.

    The column "classic" of the tables was fitted with 0.01, and has no C here. Both relaxations have the same SVM.
    """
    decision, seconds = svm_decisions(*training_rows(data, table), svm_C, scored_rows(data))
    values = hard_scores(data.y_test, decision) | {"ranked_auc": auc(data.y_test, decision), "seconds": seconds}
    columns = [("PA", None)] if svm_C == CLASSIC_SVM_C else [(variant, svm_C) for variant in RULES[1:]]
    rows = []
    for column in columns:
        rows += _as_rows(table, "SVM", *column, values)
    return rows


def svm_decisions(X: np.ndarray, y: np.ndarray, C: float, *row_sets: np.ndarray) -> tuple:
    """Return the decision values of LIBSVM's linear SVM on each set of rows, and the seconds its (kept) fit took."""
    model, seconds = cached_fit(SVC(kernel="linear", C=C), X, y)
    return *(weighted_sums(rows, model.coef_[0]) + model.intercept_[0] for rows in row_sets), seconds


def _as_rows(table, model, variant, C, values):
    """Return one row per figure, in the columns of the printed table."""
    return [dict(zip(KEY, (table, model, variant, C, metric), strict=True), value=v) for metric, v in values.items()]


# ---------------------------------------------------------------- other protocols


def ablation(variant: str, C: float | None, step: str, seed: int | None, data: Bunch) -> dict[str, float]:
    """Return AUC (of hard labels before ``RANKED``) and F1 in percent after the changes up to a step.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "SVM"}
        A rule, or LIBSVM, which only the changes of the data and of the scores concern.
    C, data
        As in `learn_as_published` and `training_rows`.
    step : str in ``STAGES``
    seed : int or None
        Seed of a random order of the rows. None keeps the order of the file, which is given up at ``SHUFFLED``.
    """
    stage = STAGES.index(step)
    X, y = training_rows(data, stage=stage)
    X_test = scored_rows(data, stage)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    if variant == "SVM":
        decision, _ = svm_decisions(X, y, C, X_test)
    elif stage >= AVERAGED:
        model = PAClassifier(variant, C=1.0 if C is None else C, average=True, fit_intercept=False)
        decision = weighted_sums(X_test, model.fit(X, y).coef_[0])
    else:
        decision = weighted_sums(X_test, learn_as_published(X, y, variant, C, stage)[0])
    return hard_scores(data.y_test, decision) | ({"auc": auc(data.y_test, decision)} if stage >= RANKED else {})


def corrected_protocol(
    model: str, cell: tuple[str, float | None], table: str, seed: int, data: Bunch
) -> dict[str, float | None]:
    """Ask the same question soundly: all columns, no row twice, AUC of the scores, F1 at a tuned threshold.

    PA reads the rows once in random order and predicts with the mean of its weights. Active PA asks with probability
    ``1 / (1 + |p|)``. The threshold is the best one on the training rows.

    Parameters
    ----------
    model : {"PA", "APA", "SVM"}
        Which learner.
    cell : tuple in ``CELLS``
        Variant and C. Without C the SVM is the one that the tables set against the classic rule.
    table : {"table1", "table3", "table5"}
        For Table 3 the fold ``seed % 10`` of ten random ones is left out. (Every tenth row would be all of one
        cylinder.) For Table 5 ``FLIPPED`` positive labels are flipped, anywhere instead of at the start.
    seed : int
        Seed of order and queries, and of which labels or rows are taken.
    data : Bunch

    Returns
    -------
    dict
        With ``variant`` and ``C``; ``rule``, what the column is called; ``auc``, ``f1`` (tuned threshold) and
        ``f1_at_0`` in percent; and ``mistakes`` on all rows of such a stream, asked for or not (None for the SVM).
    """
    variant, C = cell
    X, y = data.X_train, data.y_train
    if table == "table5":
        y = flip_labels(y, FLIPPED / np.count_nonzero(y == 1), np.random.default_rng(seed), among=1)
    if table == "table3":
        kept = np.random.default_rng(0).permutation(len(y)) % 10 != seed % 10
        X, y = X[kept], y[kept]
    if model == "SVM":
        train, test, _ = svm_decisions(X, y, CLASSIC_SVM_C if C is None else C, X, data.X_test)
        mistakes = None
    else:
        is_active = model == "APA"
        rng = np.random.default_rng(seed)
        order, draws = rng.permutation(len(y)), rng.random(len(y)) if is_active else NO_DRAWS
        mistakes = learn_as_published(X[order], y[order], variant, C, AVERAGED, draws)[1]["mistakes"]
        fitted = PAClassifier(variant, C=1.0 if C is None else C, average=True, shuffle=True, fit_intercept=False,
                              query="margin" if is_active else "all", random_state=seed).fit(X, y)  # fmt: skip
        train, test = fitted.decision_function(X), fitted.decision_function(data.X_test)
    tuned = hard_scores(data.y_test, test - best_threshold(y, train))["f1"]
    at_0 = hard_scores(data.y_test, test)["f1"]
    found = {"auc": auc(data.y_test, test), "f1": tuned, "f1_at_0": at_0, "mistakes": mistakes}
    return {"variant": variant, "C": C, "rule": called(variant, C)} | found
