"""Solutions to the exercises of notebook 08."""

import numpy as np

from solutions import exercise


@exercise("8.1")
def margin_after_the_published_step():
    """Move by 1 along a row of length 5."""
    x, y, p = np.array([3.0, 4.0]), 1, -2.0
    length = np.sqrt(x @ x)
    yield y * p + length, "A move of length 1 adds the length of the row."
    yield 1.0, "That is the margin after a step of PA."
    yield y * p + length**2, "The move has length 1, not the length of the row."


@exercise("8.2")
def auc_of_hard_labels():
    """Rank all rows rightly, and call half of the misfires normal."""
    yield 0.75, "Half of one class and all of the other: a perfect ranking is at 75."
    yield 1.0, "That is the AUC of the scores; the labels have lost the ranking."
    yield 0.95, "That is the share of right labels; the classes count alike here."
    yield 0.5, "That is the share of misfires found; the normal rows count too."


def draw(rng):
    """Draw labels and scores."""
    y = rng.permutation([-1, -1, -1, -1, 1, 1])
    return y, np.round(rng.normal(size=6) + y, 3)


@exercise("8.3", inputs=draw)
def balanced_accuracy():
    """Write the AUC of hard labels."""

    def solution(y, p):
        return (np.mean(p[y > 0] > 0) + np.mean(p[y < 0] <= 0)) / 2

    def accuracy(y, p):
        return np.mean((p > 0) == (y > 0))

    def recall(y, p):
        return np.mean(p[y > 0] > 0)

    yield solution, "Each class counts half, however many rows it has."
    yield accuracy, "That is the accuracy, in which the larger class counts more."
    yield recall, "That is one class only."


def draw_settings(rng):
    """Draw what five settings had on the rows to choose by, and on later rows."""
    return rng.uniform(0.5, 1, 5), rng.uniform(0.5, 1, 5)


@exercise("8.4", inputs=draw_settings)
def regret_of_the_first():
    """Choose on earlier rows, judge on later ones."""

    def solution(earlier, later):
        return later[np.argmax(earlier)] - later[0]

    def hindsight(earlier, later):
        return np.max(later) - later[0]

    def same_rows(earlier, later):
        return np.max(earlier) - earlier[0]

    yield solution, "It may be negative: what was best before need not be best later."
    yield hindsight, "That setting was chosen on the rows that judge it."
    yield same_rows, "Choose by the earlier rows, and judge by the later ones."
