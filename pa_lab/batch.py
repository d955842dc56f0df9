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

A batch is a table with a column for each example: ``x`` holds its numbers and ``s`` its integers, row by row as named
below. Few arrays make short code for the compiler, which would else take longer than many a pass.

Glossary: ``n`` examples in the batch; ``free`` the ``m`` of them with ``0 < tau < cap``; ``L`` the Cholesky factor of
A (plus ridge) on the free ones; ``gradient`` that of the dual's negative.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INNER
from pa_lab.jit import njit
from pa_lab.rules import cap, gap_of, is_equation, ridge

GAP = 1e-11  # relative duality gap that needs no more work; the promise is 1e-10
RANK = 4e-16  # times the rank, the share of its diagonal below which a pivot is taken for 0
OFF = 1e-14  # share of the largest loss below which a gradient is
REGULAR = 1e-5  # share of its diagonal above which a pivot of a system of equations costs no digits that matter
LOSS, PRICE, SIDE, TAU, STEP, RIDGE, CAP, GRADIENT, MOVE = range(9)  # rows of ``x``; PRICE is C
ROW, WHEN, RIGHT, WRONG, FREE, PLACE, STOP = range(7)  # rows of ``s``
AT_ZERO, INSIDE, AT_CAP, APART = range(4)  # values in s[PLACE]


class Batch(NamedTuple):
    """A batch of examples, or of constraints, and what its solver writes on; see `make_batch`.

    ``A`` is the matrix of the problem, ``L`` memory of its shape. The rows of ``x`` and ``s`` are given by

    - LOSS, PRICE: ``l_k`` and ``C_k``; RIDGE, CAP: what the rule makes of ``C_k``;
    - ROW, WHEN, SIDE, RIGHT, WRONG: the constraint ``side (W[right] - W[wrong]) . x_row >= ...`` at a time of the pass;
    - TAU: the solution; STEP: what moves the weights, ``sum_k step_k y_k x_k = sum_k tau_k y_k x_k``;
    - PLACE, GRADIENT: of an example; FREE, MOVE: the list of the free examples, and how each of the list moves;
    - STOP: its first number is set to 1 from outside, by another thread, for the solver to come to an end at once.
    """

    A: np.ndarray
    L: np.ndarray
    x: np.ndarray
    s: np.ndarray


def make_batch(n):
    """Return memory for at most ``n`` examples, made once for many batches."""
    return Batch(np.zeros((n, n)), np.zeros((n, n)), np.zeros((9, n)), np.zeros((7, n), np.int64))


def solve(variant, A, loss, C):
    """Solve one batch problem exactly, as the passes do; returns ``tau``, ``step`` and ``gap``.

    ``A`` of shape (n, n) holds ``y_j y_k`` times the inner products, ``loss`` the ``1 - y_k p_k``, ``C`` the prices.
    ``step`` moves the weights: it is ``tau``, or the part of it that does not cancel out, see `solve_equations`.
    ``gap`` is the relative duality gap, at most 1e-10, or what rounding the losses costs at the price C,
    ``2e-16 sum_k C_k (|l_k| + sum_j |A_kj| tau_j) / dual``, where that is more; inf for PA if its constraints
    contradict each other; 0 for PALS.

    Examples
    --------
    >>> from pa_lab.rules import PA1
    >>> tau, step, gap = solve(PA1, np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2), np.ones(2))
    >>> gap < 1e-10, tau.round(6).tolist()
    (True, [0.333333, 0.333333])
    """
    n = len(loss)
    batch = make_batch(n)
    batch.A[:], batch.x[LOSS], batch.x[PRICE] = A, loss, C
    gap = (solve_equations if is_equation(variant) else solve_inequalities)(variant, n, *batch)
    return batch.x[TAU], batch.x[STEP], gap


# ---------------------------------------------------------------- triangular systems


@njit(**INNER)
def put_row(A, L, s, a):
    """Row ``a`` of the Cholesky factor of A over the free examples, left of its diagonal."""
    for b in range(a):
        total = A[s[FREE, a], s[FREE, b]]
        for c in range(b):
            total -= L[a, c] * L[b, c]
        L[a, b] = total / L[b, b]


@njit(**INNER)
def factorize(A, L, x, s, start, stop):
    """Rows ``start`` to ``stop`` of the Cholesky factor of A (plus ridge) over the free examples."""
    for a in range(start, stop):
        if s[STOP, 0]:
            break
        put_row(A, L, s, a)
        j = s[FREE, a]
        total = A[j, j]
        for b in range(a):
            total -= L[a, b] * L[a, b]
        L[a, a] = np.sqrt(max(total + x[RIDGE, j], RANK * (A[j, j] + x[RIDGE, j])))


@njit(**INNER)
def forward_substitution(L, x, m):
    """Solve ``L v = move`` for ``m`` free examples, in place."""
    for a in range(m):
        total = x[MOVE, a]
        for b in range(a):
            total -= L[a, b] * x[MOVE, b]
        x[MOVE, a] = total / L[a, a]


@njit(**INNER)
def back_substitution(L, x, m):
    """Solve ``L' v = move`` for ``m`` free examples, in place."""
    for a in range(m - 1, -1, -1):
        v = x[MOVE, a] / L[a, a]
        x[MOVE, a] = v
        for b in range(a):
            x[MOVE, b] -= L[a, b] * v


# ---------------------------------------------------------------- inequalities: a primal active set


@njit(**COMPILED)
def solve_inequalities(variant, n, A, L, x, s):
    """Solve a batch of inequalities by a primal active set; returns the duality gap, see `solve`.

    The example with the steepest gradient moves, the free ones move along so that their gradients stay 0, up to the
    optimum or the first bound. A direction without curvature, from duplicated or dependent rows, goes all the way to a
    bound. Zero rows keep ``tau = 0``.
    """
    scale = 0.0
    for k in range(n):
        C = x[PRICE, k]
        x[TAU, k], x[GRADIENT, k], x[RIDGE, k], x[CAP, k] = 0.0, -x[LOSS, k], ridge(variant, C), cap(variant, C)
        s[PLACE, k] = APART
        if A[k, k] > 0.0 and C > 0.0:
            s[PLACE, k] = AT_ZERO
            scale = max(scale, abs(x[LOSS, k]))
    m, gap = np.int64(0), np.inf  # a plain 0 would have all that is called with it compiled once more
    for turn in range(8):  # once as a rule; again where rounding left a gap
        if turn % 2 == 0:
            m = improve(n, A, L, x, s, m, OFF * scale)
        else:
            correct_free(L, x, s, m)
        if m < 0:
            return np.inf
        gap = relative_gap(variant, n, A, x, s)
        if gap <= GAP or s[STOP, 0]:
            break
    for k in range(n):  # in a slice numba would compile what words its error
        x[STEP, k] = x[TAU, k]
    return gap


@njit(**INNER)
def improve(n, A, L, x, s, m, tolerance):
    """Let the example with the steepest gradient move until none is steep.

    Returns the number of free examples, -1 if the objective is unbounded. At most ``20 n + 20`` moves, against
    cycling by rounding.
    """
    for _ in range(20 * n + 20):
        steepest, enters = tolerance, np.int64(-1)
        for k in range(n):
            slope = x[GRADIENT, k]
            if s[PLACE, k] == AT_ZERO:
                slope = -slope
            elif s[PLACE, k] != AT_CAP:
                continue
            if slope > steepest:
                enters, steepest = k, slope
        if enters < 0:
            break
        m = move_example(n, A, L, x, s, m, enters)
        if m < 0:
            break
    return m


@njit(**INNER)
def move_example(n, A, L, x, s, m, j):
    """Move example ``j`` off its bound to the optimum along the way, or to its other bound.

    A free example that meets a bound first stays there, and ``j`` goes on. Meanwhile it stands in the list behind the
    ``m`` free ones. Returns the number of free examples, or -1 if the objective falls without end.
    """
    sign = 1.0 if s[PLACE, j] == AT_ZERO else -1.0
    s[FREE, m] = j
    while not s[STOP, 0]:
        put_row(A, L, s, m)
        curvature = diagonal = A[j, j] + x[RIDGE, j]
        for a in range(m):
            curvature -= L[m, a] * L[m, a]
            x[MOVE, a] = -sign * L[m, a]
        back_substitution(L, x, m)
        x[MOVE, m] = sign
        length = np.inf
        if curvature > RANK * (m + 2) * diagonal:
            length = max(0.0, -sign * x[GRADIENT, j]) / curvature
        length, blocker = shorten(x, s, m, length)
        if length == np.inf:
            return -1
        advance(n, A, x, s, m, length)
        if blocker < 0:  # the optimum along the way: j is free from now on
            L[m, m] = np.sqrt(curvature)
            s[PLACE, j] = INSIDE
            x[GRADIENT, j] = 0.0
            return m + 1
        stops = s[FREE, blocker]
        at_cap = x[MOVE, blocker] > 0.0
        x[TAU, stops] = x[CAP, stops] if at_cap else 0.0
        s[PLACE, stops] = AT_CAP if at_cap else AT_ZERO
        if blocker == m:
            return m
        x[GRADIENT, stops] = 0.0
        for a in range(blocker, m):
            s[FREE, a] = s[FREE, a + 1]
        m -= 1
        factorize(A, L, x, s, blocker, m)
    return -1


@njit(**INNER)
def shorten(x, s, m, length):
    """Cut a step where the first bound is met: the length, and the place in the list of who meets it, -1 for nobody."""
    j, blocker = s[FREE, m], np.int64(-1)
    space = x[CAP, j] - x[TAU, j] if x[MOVE, m] > 0.0 else x[TAU, j]
    if space <= length:
        length, blocker = space, m
    for a in range(m):
        i, move = s[FREE, a], x[MOVE, a]
        if abs(move) > 1e-290:  # less would overflow below
            space = (x[CAP, i] - x[TAU, i]) / move if move > 0.0 else x[TAU, i] / -move
            if space < length:
                length, blocker = space, a
    return length, blocker


@njit(**INNER)
def advance(n, A, x, s, m, length):
    """Take the step: change ``tau`` of those that move, and the gradients of all that are not free."""
    for a in range(m + 1):
        i = s[FREE, a]
        x[TAU, i] = min(x[CAP, i], max(0.0, x[TAU, i] + length * x[MOVE, a]))
    j = s[FREE, m]
    for k in range(n):
        if s[PLACE, k] != INSIDE:
            total = x[MOVE, m] * A[k, j]
            for a in range(m):
                total += A[k, s[FREE, a]] * x[MOVE, a]
            x[GRADIENT, k] += length * total
    x[GRADIENT, j] += length * x[MOVE, m] * x[RIDGE, j]


@njit(**INNER)
def correct_free(L, x, s, m):
    """One Newton step of the free examples, against what rounding has left of their gradients."""
    for a in range(m):
        x[MOVE, a] = -x[GRADIENT, s[FREE, a]]
    forward_substitution(L, x, m)
    back_substitution(L, x, m)
    for a in range(m):
        i = s[FREE, a]
        x[TAU, i] = min(x[CAP, i], max(0.0, x[TAU, i] + x[MOVE, a]))


@njit(**INNER)
def relative_gap(variant, n, A, x, s):
    """``(primal - dual) / dual`` of ``tau``, as a sum of terms that are never negative; the gradients are made anew."""
    gap = dual = 0.0
    for k in range(n):
        if s[PLACE, k] == APART:
            continue
        tau, loss = x[TAU, k], x[LOSS, k]
        total = tau * x[RIDGE, k]
        for i in range(n):
            total += A[k, i] * x[TAU, i]
        x[GRADIENT, k] = total - loss
        dual += tau * (loss - 0.5 * total)
        gap += gap_of(variant, tau, total - loss, x[PRICE, k])
    return gap / dual if dual > 0.0 else 0.0


# ---------------------------------------------------------------- equations


@njit(**COMPILED)
def solve_equations(variant, n, A, L, x, s):
    """Solve ``(A + diag(1/(2 C))) tau = loss``; zero rows keep ``tau = 0``. Returns 0.

    Rows that depend on each other may contradict each other, as one row with both labels does. What they contradict
    in moves their taus towards ``2 C`` times the loss that stays, and no weight: it is the part of ``tau`` in the null
    space of A. Its terms cancel out in the sum over the examples, but only up to their rounding. So ``step`` leaves it
    out. The losses that ``step`` leaves, computed through the weights, agree with ``tau / (2 C)`` to 1e-9 of the
    largest loss, or to ``1e-15 max_k sum_j |A_kj step_j|`` where rows almost depend on each other and that is more.
    """
    m = np.int64(0)
    for k in range(n):
        x[TAU, k] = 0.0
        x[RIDGE, k] = ridge(variant, x[PRICE, k])
        if A[k, k] > 0.0:
            s[FREE, m] = k
            x[MOVE, m] = x[LOSS, k]
            m += 1
    factorize(A, L, x, s, np.int64(0), m)
    regular = True
    for a in range(m):
        j = s[FREE, a]
        regular &= L[a, a] * L[a, a] >= REGULAR * (A[j, j] + x[RIDGE, j])
    if regular:
        forward_substitution(L, x, m)
        back_substitution(L, x, m)
        for a in range(m):
            x[TAU, s[FREE, a]] = x[MOVE, a]
        for k in range(n):  # in a slice numba would compile what words its error
            x[STEP, k] = x[TAU, k]
    else:
        solve_dependent(n, A, L, x, s)
    return 0.0


@njit(**INNER)
def solve_dependent(n, A, L, x, s):
    """`solve_equations` by eigenvectors; NaN where A is not finite, for the caller to find.

    With ``S = diag(sqrt(C / max C))`` and ``r = 1/(2 max C)`` it is ``tau = S (S A S + r)^-1 S loss``, where ``step``
    is what eigenvectors with a positive eigenvalue give. An eigenvalue below rounding is 0.
    """
    largest = 0.0
    for k in range(n):
        x[MOVE, k] = x[PRICE, k] if A[k, k] > 0.0 else 0.0
        largest = max(largest, x[MOVE, k])
    for k in range(n):
        x[MOVE, k] = np.sqrt(x[MOVE, k] / largest)
    V = np.zeros((n, n))
    for i in range(n):
        V[i, i] = 1.0
        for j in range(n):
            L[i, j] = x[MOVE, i] * A[i, j] * x[MOVE, j]
    diagonalize(L, V, n, s)
    top = size = 0.0
    for k in range(n):
        top = max(top, L[k, k])
        size += (x[MOVE, k] * x[LOSS, k]) ** 2
        x[TAU, k] = x[STEP, k] = 0.0
    for a in range(n):
        part = 0.0
        for k in range(n):
            part += V[k, a] * x[MOVE, k] * x[LOSS, k]
        null = L[a, a] <= RANK * n * top
        if null and abs(part) <= OFF * np.sqrt(size):
            continue
        part /= 0.5 / largest + (0.0 if null else L[a, a])
        for k in range(n):
            x[TAU, k] += x[MOVE, k] * V[k, a] * part
            if not null:
                x[STEP, k] += x[MOVE, k] * V[k, a] * part


@njit(**INNER)
def diagonalize(H, V, n, s):
    """Turn a symmetric matrix into its eigenvalues and ``V`` into ``V`` times the eigenvectors, by Jacobi rotations."""
    for _ in range(40):  # sweeps; fewer than ten as a rule
        turned = False
        for p in range(n):
            if s[STOP, 0]:
                return
            for q in range(p + 1, n):
                if H[p, q] * H[p, q] <= 1e-34 * abs(H[p, p] * H[q, q]):
                    continue
                turned = True
                half = 0.5 * (H[q, q] - H[p, p])
                t = H[p, q] / (half + np.copysign(np.sqrt(half * half + H[p, q] * H[p, q]), half))
                c = 1.0 / np.sqrt(1.0 + t * t)
                for k in range(n):
                    H[k, p], H[k, q] = c * (H[k, p] - t * H[k, q]), c * (H[k, q] + t * H[k, p])
                for k in range(n):
                    H[p, k], H[q, k] = c * (H[p, k] - t * H[q, k]), c * (H[q, k] + t * H[p, k])
                    V[k, p], V[k, q] = c * (V[k, p] - t * V[k, q]), c * (V[k, q] + t * V[k, p])
        if not turned:
            break
