"""Solutions to the exercises of notebook 09."""

import numpy as np

from solutions import exercise


@exercise("9.1")
def a_row_three_half_lives_ago():
    """Weigh a row after 300 more, with a half-life of 100."""
    yield 0.125, "Three halvings: 1/2 times 1/2 times 1/2."
    yield 0.5, "That is its weight after one half-life."
    yield 1 / 3, "It halves with each half-life; it does not fall in proportion."


@exercise("9.2", inputs=lambda rng: (int(rng.integers(2, 50)), rng.uniform(1, 30)))
def weights_of_the_rows():
    """Return the weights of n rows, oldest first, which add up to 1."""

    def solution(n, h):
        weight = 0.5 ** (np.arange(n)[::-1] / h)
        return weight / weight.sum()

    def not_normed(n, h):
        return 0.5 ** (np.arange(n)[::-1] / h)

    def backwards(n, h):
        return solution(n, h)[::-1]

    yield solution, "With a long half-life all are 1/n: the plain mean."
    yield not_normed, "They should add up to 1."
    yield backwards, "The newest row comes last, and has the largest weight."


@exercise("9.3", within=0.1)
def precision_by_chance():
    """Average precision of a random ranking with one positive row in fifty."""
    yield 0.02, "A random ranking has the share of the positive rows at every place."
    yield 0.5, "That is the AUC of a random ranking, whatever the share."
    yield 0.98, "That is the accuracy of the rule that never gives an alarm."


@exercise("9.4")
def best_recall():
    """Two alarms per hundred rows, where five rows in a hundred are positive."""
    yield 0.4, "Two of five: no ranking can find more with so few alarms."
    yield 1.0, "There are fewer alarms than positive rows."
    yield 0.02, "That is the share of alarms; how many of the five can they find?"
