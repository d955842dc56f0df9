"""The exact solver of one mini-batch: one update that solves the problem of several examples at once.

For examples ``k`` of a batch, with ``l_k = 1 - y_k p_k`` and ``A_jk = y_j y_k (x_j . x_k + 1)`` (the 1 only with an
intercept), the weights move by ``sum_k tau_k y_k x_k``, where ``tau`` solves

    BPAI    max  l.tau - 1/2 tau.A tau                     with 0 <= tau_k <= C_k
    BPAII   max  l.tau - 1/2 tau.(A + diag(1/(2 C))) tau   with 0 <= tau_k
    BPALS   (A + diag(1/(2 C))) tau = l

(Pérez-Suay, Ferri, Arevalillo-Herráez and Albert, sections 3.2 and 3.3.) For a slack priced ``C xi^2``, the first
equation of the Lagrangian in xi is ``2 C xi = tau``, so what the slack leaves in the dual is
``C xi^2 - tau xi = -tau^2 / (4 C)`` and the ridge on A is ``1/(2 C)``. Their equations 17 and 19 have twice that,
``tau^2 / (2 C)`` and ``1/C``, which are the duals at half the C and would make ``B = 1`` another rule than PA-II.

Glossary: ``b`` the `Batch`; ``n`` examples in it; ``free`` the ``m`` of them with ``0 < tau < cap``; ``L`` the Cholesky
factor of A (plus ridge) on the free ones; ``gradient`` that of the dual's negative.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INLINED, INNER
from pa_lab.jit import njit
from pa_lab.rules import cap, gap_of, is_equation, ridge

GAP = 1e-11  # relative duality gap that needs no more work; the promise is 1e-10
RANK = 4e-16  # times the rank, the share of its diagonal below which a pivot is taken for 0
OFF = 1e-14  # share of the largest loss below which a gradient is
LEAST = 1e-9  # ridge that each row of a system of equations has at least, as a share of its diagonal
AT_ZERO, INSIDE, AT_CAP, APART = range(4)  # values of ``place``


# What is known of a constraint ``side (W[right] - W[wrong]) . x_row >= ...`` of time ``when`` in the pass: ``loss`` and
# ``price``, ``l_k`` and ``C_k``, and the ``ridge`` and the bounds ``least`` and ``cap`` that the rule makes of it; the
# solution ``tau``. The solver keeps the ``gradient``, the ``place``, and a list of the ``free`` examples.
CONSTRAINT = np.dtype(
    [(name, np.float64) for name in ("side", "loss", "price", "ridge", "least", "cap", "tau", "gradient")]
    + [(name, np.int64) for name in ("row", "when", "right", "wrong", "place", "free")],
    align=True,
)


class Batch(NamedTuple):
    """A batch of constraints ``c``, each a `CONSTRAINT`, and what its solver writes on; see `make_batch`.

    ``A`` is the matrix of the problem, ``L`` memory of its shape. ``move`` says how each of the list of free examples
    moves. Each row has as many constraints as it has ``walls``.
    """

    A: np.ndarray
    L: np.ndarray
    c: np.ndarray
    move: np.ndarray
    walls: int


def make_batch(size, walls=1):
    """Return memory for batches of at most ``size`` rows, made once for many."""
    n = size * walls
    return Batch(*np.zeros((2, n, n)), np.zeros(n, CONSTRAINT).view(np.recarray), np.zeros(n), walls)


@njit(**COMPILED)
def solve_batch(b, variant, n):
    """Solve the problem of ``n`` constraints exactly; returns the duality gap. Zero rows keep ``tau = 0``.

    The relative gap is at most 1e-10, or what rounding the losses costs at the price C,
    ``2e-16 sum_k C_k (|l_k| + sum_j |A_kj| tau_j) / dual``, where that is more; inf for PA if its constraints
    contradict each other; 0 for PALS. For PALS all prices are divided by one number if any is above ``5e8 / A_kk``,
    so that none is: beyond it rows that contradict each other, as one row with both labels does, would have steps so
    long that their difference is rounding.

    Equations are one linear system. Inequalities go by a primal active set: the example with the steepest gradient
    moves, the free ones move along so that their gradients stay 0, up to the optimum or the first bound. A direction
    without curvature, from duplicated or dependent rows, goes all the way to a bound.
    """
    m, scale, lift = np.int64(0), 0.0, 1.0  # a plain 0 would have all that is called with it compiled once more
    for k in range(n):
        b.c[k].tau = 0.0
        b.c[k].gradient = -b.c[k].loss
        b.c[k].ridge = ridge(variant, b.c[k].price)
        b.c[k].least = 0.0
        b.c[k].cap = cap(variant, b.c[k].price)
        b.c[k].place = APART
        if b.A[k, k] > 0.0 and b.c[k].price > 0.0:
            b.c[k].place = AT_ZERO
            scale = max(scale, abs(b.c[k].loss))
            if is_equation(variant):
                lift = max(lift, LEAST * b.A[k, k] / b.c[k].ridge)
                b.c[k].least = -np.inf
                b.c[m].free = k
                m += 1
    if is_equation(variant):
        for a in range(m):
            b.c[b.c[a].free].ridge *= lift
        factorize(b, np.int64(0), m)
        correct_free(b, m)
        return 0.0
    for turn in range(8):  # once as a rule; again where rounding left a gap
        if turn % 2 == 0:
            m = improve(b, n, m, OFF * scale)
        else:
            correct_free(b, m)
        if m < 0:
            return np.inf
        gap = relative_gap(b, variant, n)
        if gap <= GAP:
            break
    return gap


# ---------------------------------------------------------------- triangular systems


@njit(**INNER)
def forward_substitution(b, x, m):
    """Solve ``L v = x`` for ``m`` free examples, in place."""
    for a in range(m):
        total = x[a]
        for i in range(a):
            total -= b.L[a, i] * x[i]
        x[a] = total / b.L[a, a]


@njit(**INNER)
def put_row(b, a):
    """Row ``a`` of the Cholesky factor of A over the free examples, left of its diagonal."""
    for i in range(a):
        b.L[a, i] = b.A[b.c[a].free, b.c[i].free]
    forward_substitution(b, b.L[a], a)


@njit(**INNER)
def factorize(b, start, stop):
    """Rows ``start`` to ``stop`` of the Cholesky factor of A (plus ridge) over the free examples."""
    for a in range(start, stop):
        put_row(b, a)
        k = b.c[a].free
        total = b.A[k, k]
        for i in range(a):
            total -= b.L[a, i] * b.L[a, i]
        b.L[a, a] = np.sqrt(max(total + b.c[k].ridge, RANK * (b.A[k, k] + b.c[k].ridge)))


@njit(**INNER)
def back_substitution(b, m):
    """Solve ``L' v = move`` for ``m`` free examples, in place."""
    for a in range(m - 1, -1, -1):
        v = b.move[a] / b.L[a, a]
        b.move[a] = v
        for i in range(a):
            b.move[i] -= b.L[a, i] * v


# ---------------------------------------------------------------- inequalities: a primal active set


@njit(**INLINED)
def improve(b, n, m, tolerance):
    """Let the example with the steepest gradient move until none is steep.

    Returns the number of free examples, -1 if the objective is unbounded. At most ``20 n + 20`` moves, against
    cycling by rounding.
    """
    for _ in range(20 * n + 20):
        steepest, enters = tolerance, np.int64(-1)
        for k in range(n):
            slope = 0.0
            if b.c[k].place == AT_ZERO:
                slope = -b.c[k].gradient
            elif b.c[k].place == AT_CAP:
                slope = b.c[k].gradient
            if slope > steepest:
                enters, steepest = k, slope
        if enters < 0:
            break
        m = move_example(b, n, m, enters)
        if m < 0:
            break
    return m


@njit(**INNER)
def move_example(b, n, m, j):
    """Move example ``j`` off its bound to the optimum along the way, or to its other bound.

    A free example that meets a bound first stays there, and ``j`` goes on. Meanwhile it stands in the list behind the
    ``m`` free ones. Returns the number of free examples, or -1 if the objective falls without end.
    """
    sign = 1.0 if b.c[j].place == AT_ZERO else -1.0
    b.c[m].free = j
    while True:
        put_row(b, m)
        curvature = diagonal = b.A[j, j] + b.c[j].ridge
        for a in range(m):
            curvature -= b.L[m, a] * b.L[m, a]
            b.move[a] = -sign * b.L[m, a]
        back_substitution(b, m)
        b.move[m] = sign
        length = np.inf
        if curvature > RANK * (m + 2) * diagonal:
            length = max(0.0, -sign * b.c[j].gradient) / curvature
        length, blocker = shorten(b, m, length)
        if length == np.inf:
            return -1
        advance(b, n, m, length)
        if blocker < 0:  # the optimum along the way: j is free from now on
            b.L[m, m] = np.sqrt(curvature)
            b.c[j].place = INSIDE
            b.c[j].gradient = 0.0
            return m + 1
        stops = b.c[blocker].free
        at_cap = b.move[blocker] > 0.0
        b.c[stops].tau = b.c[stops].cap if at_cap else 0.0
        b.c[stops].place = AT_CAP if at_cap else AT_ZERO
        if blocker == m:
            return m
        b.c[stops].gradient = 0.0
        for a in range(blocker, m):
            b.c[a].free = b.c[a + 1].free
        m -= 1
        factorize(b, blocker, m)


@njit(**INNER)
def shorten(b, m, length):
    """Cut a step where the first bound is met: the length, and the place in the list of who meets it, -1 for nobody."""
    j, blocker = b.c[m].free, np.int64(-1)
    space = b.c[j].cap - b.c[j].tau if b.move[m] > 0.0 else b.c[j].tau
    if space <= length:
        length, blocker = space, m
    for a in range(m):
        i, move = b.c[a].free, b.move[a]
        if abs(move) > 1e-290:  # less would overflow below
            space = (b.c[i].cap - b.c[i].tau) / move if move > 0.0 else b.c[i].tau / -move
            if space < length:
                length, blocker = space, a
    return length, blocker


@njit(**INNER)
def advance(b, n, m, length):
    """Take the step: change ``tau`` of those that move, and the gradients of all that are not free."""
    move_taus(b, m + 1, length)
    j = b.c[m].free
    for k in range(n):
        if b.c[k].place != INSIDE:
            total = b.move[m] * b.A[k, j]
            for a in range(m):
                total += b.A[k, b.c[a].free] * b.move[a]
            b.c[k].gradient += length * total
    b.c[j].gradient += length * b.move[m] * b.c[j].ridge


@njit(**INNER)
def move_taus(b, m, length):
    """Change ``tau`` of the first ``m`` in the list, within their bounds."""
    for a in range(m):
        i = b.c[a].free
        b.c[i].tau = min(b.c[i].cap, max(b.c[i].least, b.c[i].tau + length * b.move[a]))


@njit(**INNER)
def correct_free(b, m):
    """One Newton step of the free examples: solves equations, and mends what rounding has left of gradients."""
    for a in range(m):
        b.move[a] = -b.c[b.c[a].free].gradient
    forward_substitution(b, b.move, m)
    back_substitution(b, m)
    move_taus(b, m, 1.0)


@njit(**INNER)
def relative_gap(b, variant, n):
    """``(primal - dual) / dual`` of ``tau``, as a sum of terms that are never negative; the gradients are made anew.

    >>> b = make_batch(1)  # of PA-I: a primal value of 0.625, and a dual one of 0.375
    >>> b.A[:], b.c.loss, b.c.price, b.c.tau, b.c.place = 1.0, 1.0, 1.0, 0.5, INSIDE
    >>> round(float(relative_gap.py_func(b, 1, 1)), 3)
    0.667
    """
    gap = dual = 0.0
    for k in range(n):
        if b.c[k].place == APART:
            continue
        tau, loss = b.c[k].tau, b.c[k].loss
        total = tau * b.c[k].ridge
        for i in range(n):
            total += b.A[k, i] * b.c[i].tau
        b.c[k].gradient = total - loss
        dual += tau * (loss - 0.5 * total)
        gap += gap_of(variant, tau, total - loss, b.c[k].price)
    return gap / dual if dual > 0.0 else 0.0
