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

from pa_lab.compiled import COMPILED, INNER
from pa_lab.jit import method, njit
from pa_lab.rules import cap, gap_of, is_equation, ridge

GAP = 1e-11  # relative duality gap that needs no more work; the promise is 1e-10
RANK = 4e-16  # times the rank, the share of its diagonal below which a pivot is taken for 0
OFF = 1e-14  # share of the largest loss below which a gradient is
REGULAR = 1e-5  # share of its diagonal above which a pivot of a system of equations costs no digits that matter
AT_ZERO, INSIDE, AT_CAP, APART = range(4)  # values of ``place``


# What is known of a constraint ``side (W[right] - W[wrong]) . x_row >= ...`` of time ``when`` in the pass: ``loss`` and
# ``price``, ``l_k`` and ``C_k``, and the ``ridge`` and ``cap`` that the rule makes of it; ``tau`` is the solution, and
# ``step`` moves the weights, ``sum_k step_k y_k x_k = sum_k tau_k y_k x_k``. The solver keeps the ``gradient``, the
# ``place``, and a list of the ``free`` examples.
NUMBERS = "side", "loss", "price", "ridge", "cap", "tau", "step", "gradient"
INTEGERS = "row", "when", "right", "wrong", "place", "free"
CONSTRAINT = np.dtype([(name, np.float64) for name in NUMBERS] + [(name, np.int64) for name in INTEGERS], align=True)


class Batch(NamedTuple):
    """A batch of constraints ``c``, each a `CONSTRAINT`, and what its solver writes on; see `make_problem`.

    ``A`` is the matrix of the problem, ``L`` memory of its shape. ``move`` says how each of the list of free examples
    moves. ``stop`` holds 1 once another thread wants the solver to come to an end.
    """

    A: np.ndarray
    L: np.ndarray
    c: np.ndarray
    move: np.ndarray
    stop: np.ndarray


class Inequalities(NamedTuple):
    """The problem of a batch of inequalities."""

    b: Batch

    def solve(self, variant, n):
        """Solve it by a primal active set; returns the duality gap, see `solve`.

        The example with the steepest gradient moves, the free ones move along so that their gradients stay 0, up to the
        optimum or the first bound. A direction without curvature, from duplicated or dependent rows, goes all the way
        to a bound. Zero rows keep ``tau = 0``.
        """
        b, scale = self.b, 0.0
        for k in range(n):
            b.c[k].tau = 0.0
            b.c[k].gradient = -b.c[k].loss
            b.c[k].ridge = ridge(variant, b.c[k].price)
            b.c[k].cap = cap(variant, b.c[k].price)
            b.c[k].place = APART
            if b.A[k, k] > 0.0 and b.c[k].price > 0.0:
                b.c[k].place = AT_ZERO
                scale = max(scale, abs(b.c[k].loss))
        m, gap = np.int64(0), np.inf  # a plain 0 would have all that is called with it compiled once more
        for turn in range(8):  # once as a rule; again where rounding left a gap
            if turn % 2 == 0:
                m = improve(b, n, m, OFF * scale)
            else:
                correct_free(b, m)
            if m < 0:
                return np.inf
            gap = relative_gap(b, variant, n)
            if gap <= GAP or b.stop[0]:
                break
        for k in range(n):  # in a slice numba would compile what words its error
            b.c[k].step = b.c[k].tau
        return gap


class Equations(NamedTuple):
    """The problem of a batch of equations; ``V`` is memory for eigenvectors."""

    b: Batch
    V: np.ndarray

    def solve(self, variant, n):
        """Solve ``(A + diag(1/(2 C))) tau = loss``; zero rows keep ``tau = 0``. Returns 0.

        Rows that depend on each other may contradict each other, as one row with both labels does. What they contradict
        in moves their taus towards ``2 C`` times the loss that stays, and no weight: it is the part of ``tau`` in the
        null space of A. Its terms cancel out in the sum over the examples, but only up to their rounding. So ``step``
        leaves it out. The losses that ``step`` leaves, computed through the weights, agree with ``tau / (2 C)`` to 1e-9
        of the largest loss, or to ``1e-15 max_k sum_j |A_kj step_j|`` where rows almost depend on each other and that
        is more.
        """
        b, m = self.b, np.int64(0)
        for k in range(n):
            b.c[k].tau = b.c[k].step = 0.0
            b.c[k].ridge = ridge(variant, b.c[k].price)
            if b.A[k, k] > 0.0:
                b.c[m].free = k
                b.move[m] = b.c[k].loss
                m += 1
        factorize(b, np.int64(0), m)
        for a in range(m):
            j = b.c[a].free
            if not b.L[a, a] * b.L[a, a] >= REGULAR * (b.A[j, j] + b.c[j].ridge):  # or NaN
                solve_dependent(b, n, self.V)
                return 0.0
        forward_substitution(b, m)
        back_substitution(b, m)
        for a in range(m):
            b.c[b.c[a].free].tau = b.c[b.c[a].free].step = b.move[a]
        return 0.0


solve_problem = method("solve")


def make_problem(variant, n):
    """Return memory for batches of at most ``n`` constraints, made once for many."""
    b = Batch(*np.zeros((2, n, n)), np.zeros(n, CONSTRAINT).view(np.recarray), np.zeros(n), np.zeros(1, np.int64))
    return Equations(b, np.zeros((n, n))) if is_equation(variant) else Inequalities(b)


@njit(**COMPILED)
def solve_batch(problem, variant, n):
    """Solve the problem of ``n`` constraints, and return the duality gap."""
    return solve_problem(problem, variant, n)


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
    problem = make_problem(variant, len(loss))
    b = problem.b
    b.A[:], b.c.loss, b.c.price = A, loss, C
    gap = solve_batch(problem, variant, len(loss))
    return b.c.tau, b.c.step, gap


# ---------------------------------------------------------------- triangular systems


@njit(**INNER)
def put_row(b, a):
    """Row ``a`` of the Cholesky factor of A over the free examples, left of its diagonal."""
    for i in range(a):
        total = b.A[b.c[a].free, b.c[i].free]
        for j in range(i):
            total -= b.L[a, j] * b.L[i, j]
        b.L[a, i] = total / b.L[i, i]


@njit(**INNER)
def factorize(b, start, stop):
    """Rows ``start`` to ``stop`` of the Cholesky factor of A (plus ridge) over the free examples."""
    for a in range(start, stop):
        if b.stop[0]:
            break
        put_row(b, a)
        k = b.c[a].free
        total = b.A[k, k]
        for i in range(a):
            total -= b.L[a, i] * b.L[a, i]
        b.L[a, a] = np.sqrt(max(total + b.c[k].ridge, RANK * (b.A[k, k] + b.c[k].ridge)))


@njit(**INNER)
def forward_substitution(b, m):
    """Solve ``L v = move`` for ``m`` free examples, in place."""
    for a in range(m):
        total = b.move[a]
        for i in range(a):
            total -= b.L[a, i] * b.move[i]
        b.move[a] = total / b.L[a, a]


@njit(**INNER)
def back_substitution(b, m):
    """Solve ``L' v = move`` for ``m`` free examples, in place."""
    for a in range(m - 1, -1, -1):
        v = b.move[a] / b.L[a, a]
        b.move[a] = v
        for i in range(a):
            b.move[i] -= b.L[a, i] * v


# ---------------------------------------------------------------- inequalities: a primal active set


@njit(**INNER)
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
    while not b.stop[0]:
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
    return -1


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
        b.c[i].tau = min(b.c[i].cap, max(0.0, b.c[i].tau + length * b.move[a]))


@njit(**INNER)
def correct_free(b, m):
    """One Newton step of the free examples, against what rounding has left of their gradients."""
    for a in range(m):
        b.move[a] = -b.c[b.c[a].free].gradient
    forward_substitution(b, m)
    back_substitution(b, m)
    move_taus(b, m, 1.0)


@njit(**INNER)
def relative_gap(b, variant, n):
    """``(primal - dual) / dual`` of ``tau``, as a sum of terms that are never negative; the gradients are made anew."""
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


# ---------------------------------------------------------------- equations whose rows depend on each other


@njit(**INNER)
def solve_dependent(b, n, V):
    """Solve equations by eigenvectors; NaN where A is not finite, for the caller to find.

    With ``S = diag(sqrt(C / max C))`` and ``r = 1/(2 max C)`` it is ``tau = S (S A S + r)^-1 S loss``, where ``step``
    is what eigenvectors with a positive eigenvalue give. An eigenvalue below rounding is 0.
    """
    largest = 0.0
    for k in range(n):
        b.move[k] = b.c[k].price if b.A[k, k] > 0.0 else 0.0
        largest = max(largest, b.move[k])
    for k in range(n):
        b.move[k] = np.sqrt(b.move[k] / largest)
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
            b.L[i, j] = b.move[i] * b.A[i, j] * b.move[j]
    diagonalize(b.L, V, n, b.stop)
    top = size = 0.0
    for k in range(n):
        top = max(top, b.L[k, k])
        size += (b.move[k] * b.c[k].loss) ** 2
    for a in range(n):
        part = 0.0
        for k in range(n):
            part += V[k, a] * b.move[k] * b.c[k].loss
        null = b.L[a, a] <= RANK * n * top
        if null and abs(part) <= OFF * np.sqrt(size):
            continue
        part /= 0.5 / largest + (0.0 if null else b.L[a, a])
        for k in range(n):
            b.c[k].tau += b.move[k] * V[k, a] * part
            if not null:
                b.c[k].step += b.move[k] * V[k, a] * part


@njit(**INNER)
def diagonalize(H, V, n, stop):
    """Turn a symmetric matrix into its eigenvalues and ``V`` into ``V`` times the eigenvectors, by Jacobi rotations."""
    for _ in range(40):  # sweeps; fewer than ten as a rule
        turned = False
        for p in range(n):
            if stop[0]:
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
