"""Losses and step sizes: every closed form of the passive-aggressive family, each a tiny compiled function.

All learners, linear, multiclass or kernel, one row or a batch at a time, call these functions to decide how far to
move. No other file asks which variant it has.

Glossary: ``w`` weights, ``x`` example, ``y`` target, ``p = w.x`` score, ``loss`` what the example suffers before the
update, ``sqnorm`` the squared norm of the direction moved along (``||x||^2``, plus 1 with an intercept), ``C``
aggressiveness, ``epsilon`` half-width of the tube, ``tau`` step size, ``xi`` slack, the loss left after the update.

Sources: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), JMLR 7, 551-585; for PALS, Pérez-Suay, Ferri,
Arevalillo-Herráez and Albert, section 3.1.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INLINED
from pa_lab.jit import njit

VARIANTS = ("PA", "PA-I", "PA-II", "PALS")
PA, PA1, PA2, PALS = range(4)
ALL_ONE = np.empty((0, 0))
TINY = np.finfo(np.float64).tiny  # a squared norm below it has lost its digits


class Rule(NamedTuple):
    """What the compiled passes need to know about an estimator's rule; see `make_rule`."""

    variant: int
    regression: bool
    epsilon: float
    goals: np.ndarray = ALL_ONE


def make_rule(variant: str, epsilon: float | None = None, goals: np.ndarray = ALL_ONE) -> Rule:
    """Return the rule of a classifier or, with ``epsilon``, of a regressor.

    ``goals[k, l]`` is the margin to ask of class ``k`` against class ``l``, without entries 1.

    >>> make_rule("PA-I")[:3]
    (1, False, 0.0)
    """
    tube = 0.0 if epsilon is None or variant == "PALS" else float(epsilon)
    return Rule(VARIANTS.index(variant), epsilon is not None, tube, goals)


def allows_slack(variant: str) -> bool:
    """Say whether a rule may leave a loss after its step, at a price set by ``C``: all but PA do."""
    return variant != "PA"


# ---------------------------------------------------------------- losses


@njit(**INLINED)
def hinge(y, p):
    """Hinge loss ``max(0, 1 - y p)`` of a score ``p`` for a label ``y`` in {-1, +1} (Crammer et al., eq. 1).

    >>> hinge(1.0, 0.25)
    0.75
    """
    return max(0.0, 1.0 - y * p)


@njit(**INLINED)
def epsilon_insensitive(y, p, epsilon):
    """Distance of ``p`` to the tube around ``y``: ``max(0, |y - p| - epsilon)`` (Crammer et al., eq. 23).

    >>> epsilon_insensitive(1.0, 3.0, 0.5)
    1.5
    """
    return max(0.0, abs(y - p) - epsilon)


@njit(**INLINED)
def loss_of(rule, y, p):
    """Loss of a score under a rule: the hinge in classification, the distance to the tube in regression.

    PALS asks for ``y p = 1`` exactly, so its loss is ``|y - p|`` in classification too (Pérez-Suay et al., eq. 7).
    """
    if rule.regression or rule.variant == PALS:
        return epsilon_insensitive(y, p, rule.epsilon)
    return hinge(y, p)


@njit(**INLINED)
def direction(y, p):
    """Which way a score with a loss has to move to lower it, to the side of its target: 1.0 up, -1.0 down."""
    return 1.0 if p < y else -1.0


@njit(**INLINED)
def is_mistake(rule, y, p):
    """Whether a score is wrong: the wrong sign (0 counts as negative) or, in regression, outside the tube."""
    if rule.regression:
        return loss_of(rule, y, p) > 0.0
    return (p > 0.0) != (y > 0.0)


# ---------------------------------------------------------------- one example


@njit(**INLINED)
def step(variant, loss, sqnorm, C):
    """Step size of ``variant`` (its index in ``VARIANTS``); 0 where there is nothing to learn or no direction.

    PA lets no loss remain (Crammer et al., eq. 3), PA-I pays for it linearly and PA-II quadratically (eqs. 4 to 6). For
    PALS ``loss`` is the absolute residual ``|y - p|``.

    >>> step(PA, 1.0, 4.0, 0.1), step(PA1, 1.0, 4.0, 0.1), step(PA2, 1.0, 3.0, 0.5)
    (0.25, 0.1, 0.25)
    >>> step(PA1, 0.0, 4.0, 0.1), step(PA, 1.0, 0.0, 0.1)
    (0.0, 0.0)
    """
    if loss == 0.0 or sqnorm < TINY:
        return 0.0
    if variant == PA:
        return loss / sqnorm
    if variant == PA1:
        return min(C, loss / sqnorm)
    return loss / (sqnorm + 0.5 / C)  # PA-II and PALS


@njit(**INLINED)
def is_capped(left, loss):
    """Whether C shortened a step by more than a tenth: ``left`` is the part of the ``loss`` that the step leaves.

    >>> is_capped(0.5, 1.0), is_capped(0.05, 1.0)
    (True, False)
    """
    return abs(left) > 0.1 * abs(loss)


@njit(**INLINED)
def slack_price(variant, xi, loss, C):
    """What a slack ``xi`` costs in the objective: PA infinitely much, PA-I ``C xi``, PA-II and PALS ``C xi^2``.

    What rounding leaves of the ``loss`` before the step is no slack.
    """
    if variant == PA:
        return np.inf if xi > 1e-9 * loss else 0.0
    return C * xi if variant == PA1 else C * xi * xi


@njit(**COMPILED)
def step_cost(variant, loss, sqnorm, C):
    """Objective of the step along a direction: ``1/2 tau^2 sqnorm`` plus the price of the slack it leaves.

    >>> step_cost(PA1, 1.0, 1.0, 0.5)
    0.375
    """
    tau = step(variant, loss, sqnorm, C)
    return 0.5 * tau * tau * sqnorm + slack_price(variant, max(0.0, loss - tau * sqnorm), loss, C)


# ---------------------------------------------------------------- several examples at once


@njit(**INLINED)
def is_equation(variant):
    """Whether a batch asks for equalities, and so is solved by one linear system.

    >>> is_equation(PALS), is_equation(PA2)
    (True, False)
    """
    return variant == PALS


def n_walls(rule):
    """How many constraints an example gives: two in regression with a tube, one for each wall; else one.

    >>> n_walls(make_rule("PA-I")), n_walls(make_rule("PA-I", epsilon=0.1)), n_walls(make_rule("PALS", epsilon=0.1))
    (1, 2, 1)
    """
    return 2 if rule.regression and rule.variant != PALS else 1


@njit(**INLINED)
def cap(variant, C):
    """Upper bound on each ``tau`` of a batch: ``C`` for PA-I, none for the others."""
    return C if variant == PA1 else np.inf


@njit(**INLINED)
def ridge(variant, C):
    """What a slack priced ``C xi^2`` adds to the diagonal of a batch's matrix: ``1/(2 C)``; 0 for PA and PA-I."""
    return 0.5 / C if variant == PA2 or variant == PALS else 0.0


@njit(**INLINED)
def gap_of(variant, tau, gradient, C):
    """What one example of a batch adds to the duality gap, primal minus dual; never negative.

    ``gradient`` is that of the dual's negative with respect to ``tau``. Complementary slackness makes it 0.
    """
    if variant == PA2:
        left = tau * ridge(variant, C) - gradient  # of the loss, after the update
        if left > 0.0:
            return C * gradient * gradient
        return tau * (0.25 * tau / C - left)
    gap = tau * gradient
    if variant == PA1 and gradient < 0.0:
        gap -= C * gradient
    return gap
