"""Solutions to the exercises of notebook 02."""

import numpy as np
from numpy.random import default_rng

from pa_lab import datasets, plain
from pa_lab.study import metrics, toy
from solutions import exercise


def paths():
    """Weights of PA-I along twenty shuffles of the toy stream."""
    points, signs = toy.stream()
    shuffles = [default_rng(seed).permutation(len(signs)) for seed in range(20)]
    return np.array([plain.linear(points[rows], signs[rows], 1.0) for rows in shuffles])


def scatter(weights):
    """Mean of the two standard deviations over the shuffles."""
    return weights.std(axis=0).mean()


@exercise("2.1", within=0.005)
def average_of_ten_rows():
    """Average the last ten weights of each shuffle."""
    path = paths()
    lesson = "Ten weights in a row have most of their steps in common: little cancels."
    yield scatter(path[:, -10:].mean(axis=1)), lesson
    yield scatter(path[:, -1]), "Those are the last weights; no average was taken."
    yield scatter(path.mean(axis=1)), "That is the average over all forty rows."


@exercise("2.2", within=0.001)
def area_below_one_corner():
    """Compute the AUC of hard labels."""
    yield (0.6 + 0.96) / 2, "It is the balanced accuracy, at the one threshold used."
    yield 0.6 * 0.96, "Draw the corner: the area below is a sum."
    yield 78.0, "That is in points of a hundred; give a share of 1."
    yield 0.96, "That is one minus the false alarms; the misfires found count too."


@exercise("2.3", within=0.005)
def f1_at_the_best_threshold():
    """Cut six scores."""
    p, y = np.array([-3, -2.2, -1.6, -0.9, -0.4, 0.2]), np.array([-1, -1, 1, -1, 1, 1])
    best = metrics.measures(y, p, metrics.best_threshold(y, p))["f1"]
    yield best, "One false alarm buys all three positives: cut below 0."
    yield metrics.measures(y, p)["f1"], "That is the F1 at 0; move the threshold down."
    yield 0.8, "That threshold finds two of three positive rows. Go lower."


@exercise("2.4", within=0.001, inputs=lambda rng: (rng.uniform(0.01, 0.99),))
def f1_of_calling_every_row_positive():
    """Write F1 as a function of the share of positive rows."""
    yield lambda s: 2 * s / (1 + s), "Precision is the share itself, recall is 1."
    yield lambda s: s, "That is the precision; the recall of 1 counts too."
    yield lambda s: (1 + s) / 2, "Take the harmonic mean, not the ordinary one."


@exercise("2.5", within=0.004)
def two_rules():
    """Learn one rule for fast rows and one for all others, and rank all test rows."""
    data = datasets.load("ijcnn1")
    edge = np.quantile(data.X_test[:, 10], 0.8)
    rows = default_rng(0).permutation(len(data.y_train))[:10_000]
    X, y = data.X_train[rows], data.y_train[rows]
    fast, fast_test = X[:, 10] > edge, data.X_test[:, 10] > edge

    def learnt(some):
        return data.X_test @ plain.linear(X[some], y[some], 1.0).mean(axis=0)

    def auc(p, some=slice(None)):
        return metrics.measures(data.y_test[some], p[some])["auc"]

    slow_rule, fast_rule = learnt(~fast), learnt(fast)
    each = np.where(fast_test, fast_rule, slow_rule)
    yield auc(each), "Two straight rules rank better than the one rule for all rows."
    one = auc(learnt(fast | ~fast))
    yield one, "That is the one rule for all rows."
    share = (auc(each) - one) / (1 - one)
    yield share, "That is the share they win back. Give the AUC they have."
    yield auc(slow_rule), "That is the rule of the slow rows, on all test rows."
    yield auc(fast_rule), "That is the rule of the fast rows, on all test rows."
    both = (auc(each, fast_test) + auc(each, ~fast_test)) / 2
    yield both, "That is the mean of two AUCs. Rank all the test rows at once."
