"""Losses and step sizes: each closed form of the passive-aggressive family as a tiny compiled function.

Every learner here, linear, multiclass or kernel, calls these and nothing else to decide how far to move.

Glossary: ``w`` weights, ``x`` example, ``y`` target, ``p = w.x`` score, ``loss`` what the example suffers before
the update, ``sqnorm`` the squared norm of the direction moved along (``||x||^2``, plus 1 with an intercept),
``C`` aggressiveness, ``epsilon`` half-width of the tube, ``tau`` step size.

Sources: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), JMLR 7, 551-585; for PALS, Pérez-Suay, Ferri,
Arevalillo-Herráez and Albert, section 3.1.
"""

from numba import njit

VARIANTS = ("PA", "PA-I", "PA-II", "PALS")
PA, PA1, PA2, PALS = range(4)


@njit(cache=True, forceinline=True, error_model="numpy")
def hinge(y, p):
    """Hinge loss ``max(0, 1 - y p)`` of a score ``p`` for a label ``y`` in {-1, +1} (Crammer et al., eq. 1).

    >>> hinge(1.0, 0.25)
    0.75
    """
    return max(0.0, 1.0 - y * p)


@njit(cache=True, forceinline=True, error_model="numpy")
def epsilon_insensitive(y, p, epsilon):
    """Distance of ``p`` to the tube around ``y``: ``max(0, |y - p| - epsilon)`` (Crammer et al., eq. 23).

    >>> epsilon_insensitive(1.0, 3.0, 0.5)
    1.5
    """
    return max(0.0, abs(y - p) - epsilon)


@njit(cache=True, forceinline=True, error_model="numpy")
def tau_pa(loss, sqnorm, C):
    """PA: ``loss / ||x||^2``, the step after which the loss is 0 (Crammer et al., eq. 3). ``C`` is not used.

    >>> tau_pa(1.0, 4.0, 0.1)
    0.25
    """
    return loss / sqnorm


@njit(cache=True, forceinline=True, error_model="numpy")
def tau_pa1(loss, sqnorm, C):
    """PA-I: ``min(C, loss / ||x||^2)``, slack paid for linearly (Crammer et al., eqs. 4 and 6).

    >>> tau_pa1(1.0, 4.0, 0.1)
    0.1
    """
    return min(C, loss / sqnorm)


@njit(cache=True, forceinline=True, error_model="numpy")
def tau_pa2(loss, sqnorm, C):
    """PA-II: ``loss / (||x||^2 + 1 / (2 C))``, slack paid for quadratically (Crammer et al., eqs. 5 and 6).

    PALS takes the same step with the absolute residual ``|y - p|`` as its loss.

    >>> tau_pa2(1.0, 3.0, 0.5)
    0.25
    """
    return loss / (sqnorm + 0.5 / C)


@njit(cache=True, forceinline=True, error_model="numpy")
def step(variant, loss, sqnorm, C):
    """Step size of ``variant`` (its index in ``VARIANTS``); 0 where there is nothing to learn or no direction.

    >>> step(PA1, 1.0, 4.0, 0.1), step(PA1, 0.0, 4.0, 0.1), step(PA, 1.0, 0.0, 0.1)
    (0.1, 0.0, 0.0)
    """
    if loss == 0.0 or sqnorm == 0.0:
        return 0.0
    if variant == PA:
        return tau_pa(loss, sqnorm, C)
    if variant == PA1:
        return tau_pa1(loss, sqnorm, C)
    return tau_pa2(loss, sqnorm, C)
