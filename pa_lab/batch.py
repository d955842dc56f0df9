"""The exact solver of one mini-batch: one update that solves the problem of several examples at once.

For examples ``k`` of a batch, with ``l_k = 1 - y_k p_k`` and ``A_jk = y_j y_k (x_j . x_k + 1)`` (the 1 only with an
intercept), the weights move by ``sum_k tau_k y_k x_k``, where ``tau`` solves

    BPAI    max  l.tau - 1/2 tau.A tau                     with 0 <= tau_k <= C_k
    BPAII   max  l.tau - 1/2 tau.(A + diag(1/(2 C))) tau   with 0 <= tau_k
    BPALS   (A + diag(1/(2 C))) tau = l,                   by the pseudo-inverse where singular

(Pérez-Suay, Ferri, Arevalillo-Herráez and Albert, sections 3.2 and 3.3.) For a slack priced ``C xi^2``, the first
equation of the Lagrangian in xi is ``2 C xi = tau``, so what the slack leaves in the dual is
``C xi^2 - tau xi = -tau^2 / (4 C)`` and the ridge on A is ``1/(2 C)``. Their equations 17 and 19 have twice that,
``tau^2 / (2 C)`` and ``1/C``, which are the duals at half the C and would make ``B = 1`` another rule than PA-II.

Glossary: ``n`` examples in the batch; ``free`` the ``m`` of them with ``0 < tau < cap``; ``L`` the Cholesky factor of
A (plus ridge) on the free ones; ``gradient`` that of the dual's negative.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pa_lab.rules import cap, gap_of, is_equation, ridge

GAP = 1e-11  # relative duality gap that needs no more work; the promise is 1e-10
RANK = 4e-16  # times the rank, the share of its diagonal below which a pivot is taken for 0
OFF = 1e-14  # share of the largest loss below which a gradient is
AT_ZERO, FREE, AT_CAP, APART = range(4)


class Problem(NamedTuple):
    """A batch problem: the first ``n`` entries of ``A``, ``loss`` and ``C`` count."""

    variant: int
    n: int
    A: np.ndarray
    loss: np.ndarray
    C: np.ndarray


class Work(NamedTuple):
    """What `solve` writes on; see `make_workspace`."""

    L: np.ndarray
    gradient: np.ndarray
    move: np.ndarray
    row: np.ndarray
    free: np.ndarray
    place: np.ndarray


@njit(cache=True)
def make_workspace(n):
    """Memory for `solve` with at most ``n`` examples, made once for many batches.

    >>> make_workspace(8).L.shape
    (8, 8)
    """
    return Work(np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))


# ---------------------------------------------------------------- triangular systems


@njit(cache=True, error_model="numpy")
def factorize(problem, L, free, start, stop):
    """Rows ``start`` to ``stop`` of the Cholesky factor of A (plus ridge) over the examples in ``free``."""
    variant, _, A, _, C = problem
    for a in range(start, stop):
        j = free[a]
        for b in range(a + 1):
            total = A[j, free[b]]
            for c in range(b):
                total -= L[a, c] * L[b, c]
            if b < a:
                L[a, b] = total / L[b, b]
            else:
                diagonal = A[j, j] + ridge(variant, C[j])
                L[a, a] = np.sqrt(max(total + ridge(variant, C[j]), RANK * diagonal))


@njit(cache=True, error_model="numpy")
def forward_substitution(L, v, m):
    """Solve ``L x = v`` in place, for the first ``m`` rows."""
    for a in range(m):
        total = v[a]
        for b in range(a):
            total -= L[a, b] * v[b]
        v[a] = total / L[a, a]


@njit(cache=True, forceinline=True, error_model="numpy")
def back_substitution(L, v, m):
    """Solve ``L' x = v`` in place, for the first ``m`` rows."""
    for a in range(m - 1, -1, -1):
        v[a] /= L[a, a]
        for b in range(a):
            v[b] -= L[a, b] * v[a]


# ---------------------------------------------------------------- inequalities: a primal active set


@njit(cache=True, error_model="numpy")
def solve(variant, n, A, loss, C, tau, work):
    """Solve the batch problem of ``variant`` exactly; ``tau`` receives the solution.

    Inequalities are solved by a primal active set: the example with the steepest gradient moves, the free ones move
    along so that their gradients stay 0, up to the optimum or the first bound. A direction without curvature, from
    duplicated or dependent rows, goes all the way to a bound. Zero rows keep ``tau = 0``.

    Parameters
    ----------
    variant : {PA, PA1, PA2, PALS}
        PA (no bound, no ridge) has no solution where its constraints contradict each other: then the result is inf.
    n : int. Examples in the batch; only the first ``n`` entries of what follows are used.
    A : ndarray of shape (>= n, >= n). ``y_j y_k`` times the inner products; symmetric.
    loss : ndarray of shape (>= n,). ``1 - y_k p_k``, negative where the margin is passed.
    C : ndarray of shape (>= n,). Aggressiveness of each example, >= 0; with 0 its tau is 0.
    tau : ndarray of shape (>= n,). Overwritten.
    work : Work. From `make_workspace`.

    Returns the relative duality gap reached, ``(primal - dual) / dual``: at most 1e-10, or what rounding the losses
    costs at the price C, ``2e-16 sum_k C_k (|l_k| + sum_j |A_kj| tau_j) / dual``, where that is more. For PALS, 0.

    >>> from pa_lab.rules import PA1
    >>> tau = np.zeros(2)
    >>> gap = solve(PA1, 2, np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2), np.ones(2), tau, make_workspace(2))
    >>> gap < 1e-10, tau.round(6).tolist()
    (True, [0.333333, 0.333333])
    """
    problem = Problem(variant, n, A, loss, C)
    if is_equation(variant):
        solve_equations(problem, tau, work)
        return 0.0
    scale = 0.0
    for k in range(n):
        tau[k] = 0.0
        work.gradient[k] = -loss[k]
        work.place[k] = AT_ZERO if A[k, k] > 0.0 and C[k] > 0.0 else APART
        if work.place[k] == AT_ZERO:
            scale = max(scale, abs(loss[k]))
    m, gap = 0, np.inf
    for _ in range(4):  # once as a rule; again where rounding left a gap
        m = improve(problem, tau, work, m, OFF * scale)
        if m < 0:
            return np.inf
        gap = relative_gap(problem, tau, work)
        if gap <= GAP:
            break
        correct_free(problem, tau, work, m)
        gap = relative_gap(problem, tau, work)
        if gap <= GAP:
            break
    return gap


@njit(cache=True, error_model="numpy")
def improve(problem, tau, work, m, tolerance):
    """Let the example with the steepest gradient move until none is steep.

    Returns the number of free examples, -1 if the objective is unbounded. At most ``20 n + 20`` moves, against
    cycling by rounding.
    """
    for _ in range(20 * problem.n + 20):
        steepest, enters = tolerance, -1
        for k in range(problem.n):
            slope = 0.0
            if work.place[k] == AT_ZERO:
                slope = -work.gradient[k]
            elif work.place[k] == AT_CAP:
                slope = work.gradient[k]
            if slope > steepest:
                enters, steepest = k, slope
        if enters < 0:
            break
        m = move_example(problem, tau, work, m, enters)
        if m < 0:
            break
    return m


@njit(cache=True, error_model="numpy")
def move_example(problem, tau, work, m, j):
    """Move example ``j`` off its bound to the optimum along the way, or to its other bound.

    A free example that meets a bound first stays there, and ``j`` goes on. Returns the number of free examples, or -1
    if the objective falls without end.
    """
    variant, _, _, _, C = problem
    _, gradient, move, row, free, place = work
    sign = 1.0 if place[j] == AT_ZERO else -1.0
    while True:
        curvature = find_direction(problem, work, m, j, sign)
        flat = curvature <= RANK * (m + 2) * (problem.A[j, j] + ridge(variant, C[j]))
        length = np.inf if flat else max(0.0, -sign * gradient[j]) / curvature
        length, blocker = shorten(problem, tau, work, m, j, sign, length)
        if length == np.inf:
            return -1
        advance(problem, tau, work, m, j, sign, length)
        if blocker < 0:  # the optimum along the way: j is free from now on
            for a in range(m):
                work.L[m, a] = row[a]
            work.L[m, m] = np.sqrt(curvature)
            free[m] = j
            place[j] = FREE
            gradient[j] = 0.0
            return m + 1
        at_cap = sign > 0.0 if blocker == m else move[blocker] > 0.0
        stops = j if blocker == m else free[blocker]
        tau[stops] = cap(variant, C[stops]) if at_cap else 0.0
        place[stops] = AT_CAP if at_cap else AT_ZERO
        if blocker == m:
            return m
        gradient[stops] = 0.0
        m -= 1
        for a in range(blocker, m):
            free[a] = free[a + 1]
        factorize(problem, work.L, free, blocker, m)


@njit(cache=True, forceinline=True, error_model="numpy")
def find_direction(problem, work, m, j, sign):
    """How the free examples move while ``j`` does, into ``move``; the curvature along that direction."""
    variant, _, A, _, C = problem
    L, _, move, row, free, _ = work
    curvature = A[j, j] + ridge(variant, C[j])
    for a in range(m):
        total = A[free[a], j]
        for b in range(a):
            total -= L[a, b] * row[b]
        row[a] = total / L[a, a]
        curvature -= row[a] * row[a]
        move[a] = -sign * row[a]
    back_substitution(L, move, m)
    return curvature


@njit(cache=True, forceinline=True, error_model="numpy")
def shorten(problem, tau, work, m, j, sign, length):
    """Cut a step where the first bound is met: the length, and who meets it (``m`` for ``j`` itself, -1 for nobody)."""
    variant, _, _, _, C = problem
    blocker = -1
    space = cap(variant, C[j]) - tau[j] if sign > 0.0 else tau[j]
    if space <= length:
        length, blocker = space, m
    for a in range(m):
        i = work.free[a]
        if work.move[a] < -1e-290:  # less would overflow below
            space = tau[i] / -work.move[a]
        elif work.move[a] > 1e-290:
            space = (cap(variant, C[i]) - tau[i]) / work.move[a]
        else:
            continue
        if space < length:
            length, blocker = space, a
    return length, blocker


@njit(cache=True, forceinline=True, error_model="numpy")
def advance(problem, tau, work, m, j, sign, length):
    """Take the step: change ``tau`` of ``j`` and of the free examples, and the gradients of all that are not free."""
    variant, n, A, _, C = problem
    _, gradient, move, _, free, place = work
    tau[j] += sign * length
    for a in range(m):
        tau[free[a]] = min(cap(variant, C[free[a]]), max(0.0, tau[free[a]] + length * move[a]))
    for k in range(n):
        if place[k] != FREE:
            total = sign * A[k, j]
            for a in range(m):
                total += A[k, free[a]] * move[a]
            gradient[k] += length * total
    gradient[j] += length * sign * ridge(variant, C[j])


@njit(cache=True, error_model="numpy")
def correct_free(problem, tau, work, m):
    """One Newton step of the free examples, against what rounding has left of their gradients."""
    variant, _, _, _, C = problem
    L, gradient, move, _, free, _ = work
    for a in range(m):
        move[a] = -gradient[free[a]]
    forward_substitution(L, move, m)
    back_substitution(L, move, m)
    for a in range(m):
        tau[free[a]] = min(cap(variant, C[free[a]]), max(0.0, tau[free[a]] + move[a]))


@njit(cache=True, error_model="numpy")
def relative_gap(problem, tau, work):
    """``(primal - dual) / dual`` of ``tau``, as a sum of terms that are never negative; the gradients are made anew."""
    variant, n, A, loss, C = problem
    gap = dual = 0.0
    for k in range(n):
        if work.place[k] == APART:
            continue
        total = tau[k] * ridge(variant, C[k])
        for i in range(n):
            total += A[k, i] * tau[i]
        work.gradient[k] = total - loss[k]
        dual += tau[k] * (loss[k] - 0.5 * total)
        gap += gap_of(variant, tau[k], work.gradient[k], C[k])
    return gap / dual if dual > 0.0 else 0.0


# ---------------------------------------------------------------- equations


@njit(cache=True, error_model="numpy")
def solve_equations(problem, tau, work):
    """``tau = (A + diag(1/(2 C)))^+ loss`` into ``tau``; zero rows keep 0."""
    variant, n, A, loss, C = problem
    L, free, move = work.L, work.free, work.move
    m = 0
    for k in range(n):
        tau[k] = 0.0
        if A[k, k] > 0.0:
            free[m] = k
            move[m] = loss[k]
            m += 1
    factorize(problem, L, free, 0, m)
    regular = True
    for a in range(m):
        j = free[a]
        regular &= L[a, a] * L[a, a] >= 1e-10 * (A[j, j] + ridge(variant, C[j]))
    if regular:
        forward_substitution(L, move, m)
        back_substitution(L, move, m)
    else:
        pseudo_inverse(problem, work, m)
    for a in range(m):
        tau[free[a]] = move[a]


@njit(cache=True, error_model="numpy")
def pseudo_inverse(problem, work, m):
    """Multiply ``move`` by the pseudo-inverse of A (plus ridge) on the free examples; NaN where A is not finite."""
    variant, _, A, _, C = problem
    free, move = work.free, work.move
    H, total = np.empty((m, m)), 0.0
    for a in range(m):
        for b in range(m):
            H[a, b] = A[free[a], free[b]] + (ridge(variant, C[free[a]]) if a == b else 0.0)
            total += H[a, b]
    if np.isfinite(total):
        move[:m] = np.linalg.pinv(H, RANK * m) @ move[:m]
    else:
        move[:m] = np.nan  # for the caller to find


@njit(cache=True, error_model="numpy")
def solve_all(variant, A, loss, C):
    """`solve` ``m`` problems of one size ``n``: to check, or to time, what a pass has solved.

    ``A`` has the shape (m, n, n), ``loss`` (m, n) and ``C`` (n,); returns ``tau`` (m, n) and the gaps (m,).

    >>> from pa_lab.rules import PA1
    >>> solve_all(PA1, np.ones((2, 1, 1)), np.array([[0.5], [3.0]]), np.ones(1))[0].tolist()
    [[0.5], [1.0]]
    """
    m, n = loss.shape
    tau, gaps, work = np.zeros((m, n)), np.zeros(m), make_workspace(n)
    for b in range(m):
        gaps[b] = solve(variant, n, A[b], loss[b], C, tau[b], work)
    return tau, gaps
