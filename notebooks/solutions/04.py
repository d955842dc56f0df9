"""Solutions to the exercises of notebook 04."""

import numpy as np

from pa_lab import plain
from pa_lab.study import toy
from solutions import exercise


def labels(delta):
    """Count the labels that the rule asks for on the toy stream."""
    X, y = toy.stream()
    draws = np.random.default_rng(0).spawn(2)[1].random(len(y))
    return plain.active(X, y, draws, delta)[1].sum()


@exercise("4.1")
def labels_with_a_large_delta():
    """Ask with delta = 3."""
    yield labels(3.0), "Not ten times as many: no row can be asked for twice."
    yield labels(0.3), "That is the number with delta = 0.3."
    yield 10 * labels(0.3), "There are only forty rows."
    yield labels(0.03), "That is delta = 0.03; a larger delta asks for more."


@exercise("4.2")
def labels_of_longer_rows():
    """Multiply all rows by ten, with PA."""
    yield (
        "as many",
        "The weights shrink as the rows grow: the scores stay as they were.",
    )
    yield "more", "Are the scores smaller? Write down the score after one step of PA."
    yield "fewer", "Are the scores larger? Write down the score after one step of PA."


def draw_labels(rng):
    """Draw values of paid labels, and the probabilities of asking for them."""
    return rng.uniform(0, 1, 20), rng.uniform(0.1, 1, 20)


@exercise("4.3", inputs=draw_labels)
def weighted_share():
    """Write the weighted mean of `estimate`."""

    def solution(values, probability):
        return np.sum(values / probability) / np.sum(1 / probability)

    def plain_mean(values, probability):
        return np.mean(values)

    def by_labels(values, probability):
        return np.sum(values / probability) / len(values)

    def upside_down(values, probability):
        return np.sum(values * probability) / np.sum(probability)

    def of_ones(values, probability):
        return np.sum((values > 0) / probability) / np.sum(1 / probability)

    yield solution, "Each label stands for one over its probability of rows."
    yield plain_mean, "Uncertain rows were preferred: each counts for too much here."
    yield by_labels, "Divide by the number of rows that the labels stand for."
    yield of_ones, "That is right for values of 0 and 1 only."
    yield upside_down, "A label that was unlikely to be asked for stands for many rows."


def draw_score(rng):
    """Draw a score, a delta and a rate."""
    return rng.normal(), rng.uniform(0.1, 2), rng.uniform(0, 0.2)


@exercise("4.4", inputs=draw_score)
def probability_of_a_question():
    """Mix the rule with one question in ten at random."""

    def solution(p, delta, rate):
        return 0.9 * delta / (delta + abs(p)) + 0.1 * rate

    def added(p, delta, rate):
        return delta / (delta + abs(p)) + 0.1 * rate

    def signed(p, delta, rate):
        return 0.9 * delta / (delta + p) + 0.1 * rate

    def by_score_alone(p, delta, rate):
        return delta / (delta + abs(p))

    yield solution, "So no label stands for more than ten over the rate of rows."
    yield added, "Nine questions in ten are left to the score."
    yield signed, "The rule looks at the size of the score."
    yield by_score_alone, "Where does the tenth of the questions at random come in?"


def draw_curve(rng):
    """Draw budgets, values that rise with them, and a goal between."""
    values = np.sort(rng.uniform(0.1, 0.9, 5))
    return (
        np.array([50, 200, 500, 5000, 50_000]),
        values,
        rng.uniform(values[0], values[-1]),
    )


@exercise("4.5", inputs=draw_curve)
def labels_to_reach_a_goal():
    """Read off a curve where it reaches a goal."""

    def solution(labels, values, goal):
        return np.exp(np.interp(goal, values, np.log(labels)))

    def over_labels(labels, values, goal):
        return np.interp(goal, values, labels)

    def still_logarithm(labels, values, goal):
        return np.interp(goal, values, np.log(labels))

    def next_budget(labels, values, goal):
        return labels[np.searchsorted(values, goal)]

    yield (
        solution,
        "Over the labels themselves the lines lie lower, and would say more labels.",
    )
    yield over_labels, "Those are lines over the labels, not over their logarithm."
    yield still_logarithm, "That is the logarithm of the answer."
    yield next_budget, "That is the next budget; the goal is reached on the way to it."
