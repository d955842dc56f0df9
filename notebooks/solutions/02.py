"""Solutions to the exercises of notebook 02."""

import numpy as np

from pa_lab import plain
from pa_lab.study import metrics, toy
from solutions import exercise


def paths(C):
    """Weights of PA-I along twenty shuffles of the toy stream."""
    points, signs = toy.stream()
    rng = np.random.default_rng
    shuffles = [rng(seed).permutation(len(signs)) for seed in range(20)]
    return np.array([plain.linear(points[rows], signs[rows], C) for rows in shuffles])


def scatter(weights):
    """Mean of the two standard deviations over the shuffles."""
    return weights.std(axis=0).mean()


@exercise("2.1", within=0.005)
def last_weights_with_short_steps():
    """Cap the steps at 0.1."""
    yield scatter(paths(0.1)[:, -1]), "The shorter the steps, the smaller the zigzag."
    yield scatter(paths(1.0)[:, -1]), "That is the scatter with C = 1."
    yield scatter(paths(0.1).mean(axis=1)), "Those are the averaged weights."


@exercise("2.2", within=0.005)
def average_of_ten_rows():
    """Average the last ten weights of each shuffle."""
    path = paths(1.0)
    lesson = "Ten weights in a row have most of their steps in common: little cancels."
    yield scatter(path[:, -10:].mean(axis=1)), lesson
    yield scatter(path[:, -1]), "Those are the last weights; no average was taken."
    yield scatter(path.mean(axis=1)), "That is the average over all forty rows."


@exercise("2.3", within=0.001)
def area_below_one_corner():
    """Compute the AUC of hard labels."""
    yield (0.6 + 0.96) / 2, "It is the balanced accuracy, at the one threshold used."
    yield 0.6 * 0.96, "Draw the corner: the area below is a sum."
    yield 0.96, "That is one minus the false alarms; the misfires found count too."


@exercise("2.4", within=0.001)
def f1_at_the_best_threshold():
    """Cut six scores."""
    p, y = np.array([-3, -2.2, -1.6, -0.9, -0.4, 0.2]), np.array([-1, -1, 1, -1, 1, 1])
    best = metrics.measures(y, p, metrics.best_threshold(y, p))["f1"]
    yield best, "One false alarm buys all three positives: cut below 0."
    yield metrics.measures(y, p)["f1"], "That is the F1 at 0; move the threshold down."
    yield 0.8, "That threshold finds two of three positive rows. Go lower."


@exercise("2.5", within=0.001, inputs=lambda rng: (rng.uniform(0.01, 0.99),))
def f1_of_calling_every_row_positive():
    """Write F1 as a function of the share of positive rows."""
    yield lambda s: 2 * s / (1 + s), "Precision is the share itself, recall is 1."
    yield lambda s: s, "That is the precision; the recall of 1 counts too."
    yield lambda s: (1 + s) / 2, "Take the harmonic mean, not the ordinary one."
