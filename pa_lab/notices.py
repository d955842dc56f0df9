"""What a learner says after a call in which something was lost without an error: the value, what it did, what to do."""

import numpy as np

from pa_lab.calls import warn
from pa_lab.queries import N_CAPPED, N_SEEN, N_UPDATES
from pa_lab.rules import allows_slack

MANY_UPDATES, MANY_ROWS, FEW_LABELS = 100, 1000, 10  # judged once, when a count first passes the first two


class LostWarning(UserWarning):
    """Something that was given has done next to nothing. What is said holds no counts, and is the same in each fit."""


def of_idle_weights(learner, before, X, C):
    """Warn if weights were given and C, on which they are factors, shortened hardly a step."""
    n = learner._counts[N_UPDATES]
    if (
        before[N_UPDATES] < MANY_UPDATES <= n
        and learner._counts[N_CAPPED] < 0.01 * n
        and (getattr(learner, "class_weight", None) is not None or ((C != learner.C) & (C > 0.0)).any())
    ):
        cost = "give the costs of mistakes as cost=, which act at this C, or " if hasattr(learner, "cost") else ""
        length = 1.0 + np.square(X.data if hasattr(X, "indptr") else X, dtype=np.float64).sum() / X.shape[0]
        begin = "" if hasattr(learner, "gamma") else f"; on these rows they begin to act below about {1 / length:.1g}"
        warn(f"weights were given, but they are factors on C={learner.C:g}, which shortened hardly a step by more than "
             f"a tenth, so they did next to nothing: {cost}tune a smaller C{begin}.", LostWarning)  # fmt: skip


def of_silence(learner, before):
    """Warn if the threshold rule has asked for hardly a label: without labels the weights, and so the scores, stay."""
    if (
        getattr(learner, "query", "all") == "threshold"
        and before[N_SEEN] < MANY_ROWS <= learner.n_seen_
        and learner.n_queries_ < FEW_LABELS
        and learner.n_queries_ != learner.label_budget
    ):
        warn(f"query='threshold' with delta={learner.delta} asked for hardly a label. Where all scores are beyond "
             "delta it never asks again: take query='margin', which always may, or a larger delta.",
             LostWarning)  # fmt: skip


def of_small_steps(learner, before, losses, y, whole):
    """Warn if C capped nearly all steps of a regression, and it does no better than a constant.

    Judged are the last pass of a ``whole`` fit, beside the median, or the first updates of a stream, beside 0.
    """
    if hasattr(learner, "epsilon") and allows_slack(learner.variant) and (whole or before[N_UPDATES] < MANY_ROWS):
        updates, capped = (learner._counts - whole * before)[[N_UPDATES, N_CAPPED]]
        if capped >= 0.95 * updates:
            constant = np.median(y) if whole else 0.0
            learner._losses = learner._losses + np.array([losses, np.abs(y - constant).sum()])
            if updates >= (MANY_UPDATES if whole else MANY_ROWS) and learner._losses[0] > 0.9 * learner._losses[1]:
                warn(f"C={learner.C:g} shortened nearly all steps by more than a tenth, and the predictions are no "
                     "better than a constant. C and epsilon are in units of y: scale y with TransformedTargetRegressor("
                     "model, transformer=StandardScaler()), block by block where it is a stream, or raise both.",
                     LostWarning)  # fmt: skip


def of_unlike_columns(learner, before, X):
    """Warn if the first rows, when many come at once, have a column far larger than half of the others."""
    if (
        before[N_SEEN] == 0
        and X.shape[0] >= MANY_UPDATES
        and not hasattr(X, "indptr")
        and not hasattr(learner, "gamma")
    ):
        sizes = np.sort(np.abs(X[:MANY_ROWS]).mean(axis=0, dtype=np.float64))  # first those that are 0
        if sizes[-1] > 100 * sizes[(len(sizes) - 1 + np.count_nonzero(sizes == 0.0)) // 2]:
            warn("a column of X is more than 100 times as large as half of the others, and takes nearly the whole of "
                 "each step: scale the columns, for example with StandardScaler.", LostWarning)  # fmt: skip


def before_fit(learner, codes):
    """Warn of labels in long runs and, with a query rule, of what does not go with it."""
    if not hasattr(learner, "query"):
        return
    if not learner.shuffle:
        of_long_runs(codes, len(learner.classes_))
    idle = {"delta": (1.0, ("margin", "threshold")), "query_rate": (None, ("random",))}
    for name, (default, rules) in idle.items():
        if getattr(learner, name) != default and learner.query not in rules and learner.delta != "auto":
            warn(f"{name}={getattr(learner, name)!r} has no effect with query={learner.query!r}: set "
                 f"query={' or query='.join(map(repr, rules))}, or leave {name} out.", LostWarning)  # fmt: skip


def of_long_runs(codes, n_classes):
    """Warn if labels come in runs far longer than chance makes them, as when rows are sorted by class."""
    n = len(codes)
    shares = np.bincount(np.maximum(codes, 0.0).astype(np.intp)) / n
    expected = (n - 1) * (1.0 - np.sum(shares**2))
    changes = np.count_nonzero(np.diff(codes))
    if n >= 50 and changes <= max(n_classes - 1, 0.02 * expected):
        warn(f"the labels come in long runs ({changes} changes in {n} rows, about {expected:.0f} expected by chance): "
             "an online learner forgets the first classes. Set shuffle=True unless this is the order of "
             "time.")  # fmt: skip
