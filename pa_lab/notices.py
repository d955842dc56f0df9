"""What a learner says after a call in which something was lost without an error: the value, what it did, what to do."""

import sys
import warnings

import numpy as np

from pa_lab.queries import N_CAPPED, N_QUERIES, N_SEEN, N_UPDATES
from pa_lab.rules import allows_slack

MANY_UPDATES, MANY_ROWS, FEW_LABELS = 100, 1000, 10  # judged once, when a count first passes the first two


class LostWarning(UserWarning):
    """Something that was given has done next to nothing."""


def warn(message, category=UserWarning):
    """Warn as from the line that called the package, through scikit-learn or not."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("pa_lab", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def of_idle_weights(learner, before, C):
    """Warn if weights were given and C, on which they are factors, shortened hardly a step."""
    n, capped = (int(learner._counts[which]) for which in (N_UPDATES, N_CAPPED))
    if not before[N_UPDATES] < MANY_UPDATES <= n or capped >= 0.01 * n:
        return
    if getattr(learner, "class_weight", None) is not None or ((C != learner.C) & (C > 0.0)).any():
        cost = "give the costs of mistakes as cost=, which act at any C, or " if hasattr(learner, "cost") else ""
        warn(f"weights were given, but they are factors on C={learner.C:g}, which shortened {capped} of {n} steps by "
             f"more than a tenth, so they did next to nothing: {cost}tune a smaller C.",
             LostWarning)  # fmt: skip


def of_silence(learner, before):
    """Warn if the threshold rule has asked for hardly a label: without labels the weights, and so the scores, stay."""
    if getattr(learner, "query", "all") != "threshold":
        return
    n, asked = (int(learner._counts[which]) for which in (N_SEEN, N_QUERIES))
    if before[N_SEEN] < MANY_ROWS <= n and asked < FEW_LABELS and asked != learner.label_budget:
        warn(f"query='threshold' with delta={learner.delta} asked for {asked} of {n} labels. Where all scores are "
             "beyond delta it never asks again: take query='margin', which always may, or a larger delta.",
             LostWarning)  # fmt: skip


def of_small_steps(learner, before, losses, y):
    """Warn if C capped nearly all steps of a regression, and it does no better than a constant."""
    updates, capped = (int(learner._counts[which] - before[which]) for which in (N_UPDATES, N_CAPPED))
    all_capped = allows_slack(learner.variant) and updates >= MANY_UPDATES and capped >= 0.95 * updates
    if all_capped and hasattr(learner, "epsilon") and losses > 0.9 * np.abs(y - np.median(y)).sum():
        warn(f"C={learner.C:g} shortened {capped} of {updates} steps by more than a tenth, and the predictions are "
             "no better than a constant. C and epsilon are in units of y, which goes from "
             f"{y.min():.3g} to {y.max():.3g}: scale y with TransformedTargetRegressor(model, "
             "transformer=StandardScaler()), or raise both.", LostWarning)  # fmt: skip


def before_fit(learner, codes):
    """Warn of labels in long runs and, with a query rule, of what does not go with it."""
    if not hasattr(learner, "query"):
        return
    if not learner.shuffle:
        of_long_runs(codes, len(learner.classes_))
    if learner.max_iter > 1 and (learner.query != "all" or learner.label_budget is not None):
        warn(f"each of the max_iter={learner.max_iter} passes asks anew, and a label asked for again counts again: "
             "with a query rule or a label_budget set max_iter=1.")  # fmt: skip
    idle = {"delta": (1.0, ("margin", "threshold")), "query_rate": (None, ("random",))}
    for name, (default, rules) in idle.items():
        if getattr(learner, name) != default and learner.query not in rules and learner.delta != "auto":
            warn(f"{name}={getattr(learner, name)!r} has no effect with query={learner.query!r}: set "
                 f"query={' or query='.join(map(repr, rules))}, or leave {name} out.", LostWarning)  # fmt: skip


def of_long_runs(codes, n_classes):
    """Warn if labels come in runs far longer than chance makes them, as when rows are sorted by class."""
    n = len(codes)
    if n < 50:
        return
    shares = np.bincount(np.maximum(codes, 0.0).astype(np.intp)) / n
    expected = (n - 1) * (1.0 - np.sum(shares**2))
    changes = np.count_nonzero(np.diff(codes))
    if changes <= max(n_classes - 1, 0.02 * expected):
        warn(f"the labels come in long runs ({changes} changes in {n} rows, about {expected:.0f} expected by chance): "
             "an online learner forgets the first classes. Set shuffle=True unless this is the order of "
             "time.")  # fmt: skip
