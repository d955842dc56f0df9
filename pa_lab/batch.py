"""Mini-batches: one update that is the exact solution of its problem for several examples at once.

For examples ``k`` of a batch, with ``l_k = 1 - y_k p_k`` and ``A_jk = y_j y_k (x_j . x_k + 1)`` (the 1 only with an
intercept), the weights move by ``sum_k tau_k y_k x_k``, where ``tau`` solves

    BPAI    max  l.tau - 1/2 tau.A tau                     with 0 <= tau_k <= C_k
    BPAII   max  l.tau - 1/2 tau.(A + diag(1/(2 C))) tau   with 0 <= tau_k
    BPALS   (A + diag(1/(2 C))) tau = l,                   by the pseudo-inverse where singular

(Pérez-Suay, Ferri, Arevalillo-Herráez and Albert, sections 3.2 and 3.3.) For a slack priced ``C xi^2``, the first
equation of the Lagrangian in xi is ``2 C xi = tau``, so what the slack leaves in the dual is
``C xi^2 - tau xi = -tau^2 / (4 C)`` and the ridge on A is ``1/(2 C)``. Their equations 17 and 19 have twice that,
``tau^2 / (2 C)`` and ``1/C``, which are the duals at half the C and would make ``B = 1`` another rule than PA-II.

Glossary: ``n`` examples in the batch, ``free`` those with ``0 < tau < C``, ``L`` the Cholesky factor of A on them,
``high`` the upper bounds on tau.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from pa_lab.active import ALL, MISTAKES, QUERIED, SEEN, UPDATES, query_probability
from pa_lab.rows import product, rank, shift
from pa_lab.rules import PA1, PA2, PALS

GAP = 1e-11  # relative duality gap that needs no more work; the promise is 1e-10
RANK = 4e-16  # times the rank, the share of its diagonal below which a pivot is taken for 0
OFF = 1e-14  # share of the largest loss below which a gradient is
AT_ZERO, FREE, AT_C, APART = range(4)

Work = namedtuple("Work", "L vectors free place")
Work.__doc__ = "What `solve` needs to write on; see `workspace`."


@njit(cache=True)
def workspace(n):
    """Memory for `solve` with at most ``n`` examples, made once for many batches.

    >>> workspace(8).L.shape
    (8, 8)
    """
    return Work(np.zeros((n, n)), np.zeros((4, n)), np.zeros(n, np.int64), np.zeros(n, np.int64))


@njit(cache=True, forceinline=True, error_model="numpy")
def ridge(variant, C):
    """What a slack priced ``C xi^2`` adds to the diagonal of A: ``1/(2 C)``; 0 for PA-I.

    >>> ridge(PA2, 0.25)
    2.0
    """
    return 0.5 / C if variant in (PA2, PALS) else 0.0


@njit(cache=True, error_model="numpy")
def factor(variant, A, C, L, free, start, stop):
    """Rows ``start`` to ``stop`` of the Cholesky factor of A (plus ridge) over the examples in ``free``."""
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
def back(L, v, m):
    """Solve ``L' x = v`` in place, for the first ``m`` rows."""
    for a in range(m - 1, -1, -1):
        v[a] /= L[a, a]
        for b in range(a):
            v[b] -= L[a, b] * v[a]


@njit(cache=True, error_model="numpy")
def forth(L, v, m):
    """Solve ``L x = v`` in place, for the first ``m`` rows."""
    for a in range(m):
        total = v[a]
        for b in range(a):
            total -= L[a, b] * v[b]
        v[a] = total / L[a, a]


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
    work : Work. From `workspace`.

    Returns the relative duality gap reached, ``(primal - dual) / dual``: at most 1e-10, or what rounding the losses
    costs at the price C, ``2e-16 sum_k C_k (|l_k| + sum_j |A_kj| tau_j) / dual``, where that is more. For PALS, 0.

    >>> tau = np.zeros(2)
    >>> gap = solve(PA1, 2, np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2), np.ones(2), tau, workspace(2))
    >>> gap < 1e-10, tau.round(6).tolist()
    (True, [0.333333, 0.333333])
    """
    if variant == PALS:
        least_squares(n, A, loss, C, tau, work)
        return 0.0
    L, free, place = work.L, work.free, work.place
    gradient, move, row, high = work.vectors[0], work.vectors[1], work.vectors[2], work.vectors[3]
    scale = 0.0
    for k in range(n):
        tau[k] = 0.0
        gradient[k] = -loss[k]
        high[k] = C[k] if variant == PA1 else np.inf
        place[k] = AT_ZERO if A[k, k] > 0.0 and C[k] > 0.0 else APART
        if place[k] == AT_ZERO:
            scale = max(scale, abs(loss[k]))
    m = 0
    gap = np.inf
    for _ in range(4):  # once as a rule; again where rounding left a gap
        for _ in range(20 * n + 20):
            enters, steepest = -1, OFF * scale
            for k in range(n):
                slope = -gradient[k] if place[k] == AT_ZERO else gradient[k] if place[k] == AT_C else 0.0
                if slope > steepest:
                    enters, steepest = k, slope
            if enters < 0:
                break
            j = enters
            sign = 1.0 if place[j] == AT_ZERO else -1.0
            diagonal = A[j, j] + ridge(variant, C[j])
            while True:
                curvature = diagonal
                for a in range(m):
                    total = A[free[a], j]
                    for b in range(a):
                        total -= L[a, b] * row[b]
                    row[a] = total / L[a, a]
                    curvature -= row[a] * row[a]
                    move[a] = -sign * row[a]
                back(L, move, m)
                flat = curvature <= RANK * (m + 2) * diagonal
                goes = np.inf if flat else max(0.0, -sign * gradient[j]) / curvature
                blocker = -1
                room = high[j] - tau[j] if sign > 0.0 else tau[j]
                if room <= goes:
                    goes, blocker = room, m
                for a in range(m):
                    i = free[a]
                    if move[a] < -1e-290:  # less would overflow below
                        room = tau[i] / -move[a]
                    elif move[a] > 1e-290:
                        room = (high[i] - tau[i]) / move[a]
                    else:
                        continue
                    if room < goes:
                        goes, blocker = room, a
                if goes == np.inf:
                    return np.inf
                tau[j] += sign * goes
                for a in range(m):
                    tau[free[a]] = min(high[free[a]], max(0.0, tau[free[a]] + goes * move[a]))
                for k in range(n):
                    if place[k] != FREE:
                        total = sign * A[k, j]
                        for a in range(m):
                            total += A[k, free[a]] * move[a]
                        gradient[k] += goes * total
                gradient[j] += goes * sign * ridge(variant, C[j])
                if blocker < 0:  # the optimum along the way: j is free from now on
                    for a in range(m):
                        L[m, a] = row[a]
                    L[m, m] = np.sqrt(curvature)
                    free[m] = j
                    place[j] = FREE
                    gradient[j] = 0.0
                    m += 1
                    break
                at_c = sign > 0.0 if blocker == m else move[blocker] > 0.0
                stops = j if blocker == m else free[blocker]
                tau[stops] = C[stops] if at_c else 0.0
                place[stops] = AT_C if at_c else AT_ZERO
                if blocker == m:
                    break
                gradient[stops] = 0.0
                m -= 1
                for a in range(blocker, m):
                    free[a] = free[a + 1]
                factor(variant, A, C, L, free, blocker, m)
        gap = relative_gap(variant, n, A, loss, C, tau, place, gradient)
        if gap <= GAP:
            break
        for a in range(m):
            move[a] = -gradient[free[a]]
        forth(L, move, m)
        back(L, move, m)
        for a in range(m):
            tau[free[a]] = min(high[free[a]], max(0.0, tau[free[a]] + move[a]))
        gap = relative_gap(variant, n, A, loss, C, tau, place, gradient)
        if gap <= GAP:
            break
    return gap


@njit(cache=True, error_model="numpy")
def relative_gap(variant, n, A, loss, C, tau, place, gradient):
    """``(primal - dual) / dual`` of ``tau``, as a sum of terms that are never negative; ``gradient`` is made anew."""
    gap = dual = 0.0
    for k in range(n):
        if place[k] == APART:
            continue
        total = tau[k] * ridge(variant, C[k])
        for i in range(n):
            total += A[k, i] * tau[i]
        gradient[k] = total - loss[k]
        dual += tau[k] * (loss[k] - 0.5 * total)
        if variant == PA2:
            left = tau[k] * ridge(variant, C[k]) - gradient[k]  # of the loss, after the update
            gap += C[k] * gradient[k] * gradient[k] if left > 0.0 else tau[k] * (0.25 * tau[k] / C[k] - left)
        else:
            gap += tau[k] * gradient[k]
            if variant == PA1 and gradient[k] < 0.0:
                gap -= C[k] * gradient[k]
    return gap / dual if dual > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def least_squares(n, A, loss, C, tau, work):
    """``tau = (A + diag(1/(2 C)))^+ loss`` into ``tau``; zero rows keep 0. Arguments as for `solve`."""
    L, free, move = work.L, work.free, work.vectors[1]
    m = 0
    for k in range(n):
        tau[k] = 0.0
        if A[k, k] > 0.0:
            free[m] = k
            move[m] = loss[k]
            m += 1
    factor(PALS, A, C, L, free, 0, m)
    regular = True
    for a in range(m):
        j = free[a]
        regular &= L[a, a] * L[a, a] >= 1e-10 * (A[j, j] + ridge(PALS, C[j]))
    if regular:
        forth(L, move, m)
        back(L, move, m)
    else:
        H, total = np.empty((m, m)), 0.0
        for a in range(m):
            for b in range(m):
                H[a, b] = A[free[a], free[b]] + (ridge(PALS, C[free[a]]) if a == b else 0.0)
                total += H[a, b]
        if np.isfinite(total):
            move[:m] = np.linalg.pinv(H, RANK * m) @ move[:m]
        else:
            move[:m] = np.nan  # for the caller to find
    for a in range(m):
        tau[free[a]] = move[a]


@njit(cache=True, error_model="numpy")
def solve_all(variant, A, loss, C):
    """`solve` ``m`` problems of one size ``n``: to check, or to time, what a pass has solved.

    ``A`` has the shape (m, n, n), ``loss`` (m, n) and ``C`` (n,); returns ``tau`` (m, n) and the gaps (m,).

    >>> solve_all(PA1, np.ones((2, 1, 1)), np.array([[0.5], [3.0]]), np.ones(1))[0].tolist()
    [[0.5], [1.0]]
    """
    m, n = loss.shape
    tau, gaps, work = np.zeros((m, n)), np.zeros(m), workspace(n)
    for b in range(m):
        gaps[b] = solve(variant, n, A[b], loss[b], C, tau[b], work)
    return tau, gaps


@njit(cache=True, error_model="numpy", nogil=True)
def learn_batches(data, indices, indptr, y, order, W, drift, counts, trace, one, variant, C, epsilon,
                  query, draws, delta, query_rate, label_budget, batch_size):  # fmt: skip
    """One pass of PA over groups of ``batch_size`` rows, the last maybe shorter; as `linear.learn_two` for the rest.

    A group's scores, queries and mistakes come from the weights before its update. Only the examples asked for enter
    the problem. An example gives the constraint ``side (W[right] - W[wrong]) . x >= bound`` with ``wrong`` < 0 for
    none: two classes have ``side = y``; more have the right class and the highest-scoring wrong one (by the weights
    before); regression with a tube has two constraints, one for each wall.
    """
    n_classes = W.shape[0]
    classifies = epsilon < 0.0
    walls = 1 if classifies or variant == PALS else 2
    shuffled = order.shape[0] > 0
    n = order.shape[0] if shuffled else y.shape[0]
    room = min(batch_size, max(1, n)) * walls
    work = workspace(room)
    A, loss, price, side, tau = np.zeros((room, room)), np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room)
    when, right, wrong = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    scores = np.zeros(n_classes)
    finite = 0.0
    for start in range(0, n, batch_size):
        before = counts[SEEN]
        m = np.int64(0)  # a plain 0 would have all that is called with it compiled once more
        passive = True
        for t in range(start, min(start + batch_size, n)):
            i = order[t] if shuffled else t
            first, second, total = rank(data, indices, indptr, i, one, W, scores)
            finite += total
            p = scores[0] if n_classes == 1 else scores[first] - scores[second]
            if trace.shape[0] > 0:
                trace[t, 0] = p
                trace[t, 1] = np.nan
            counts[SEEN] += 1
            if counts[QUERIED] >= label_budget:
                continue
            if query != ALL and draws[t] >= query_probability(query, p, delta, query_rate):
                continue
            counts[QUERIED] += 1
            if trace.shape[0] > 0:
                trace[t, 1] = 0.0
            target = y[i]
            for wall in range(walls):
                when[m], right[m], wrong[m], side[m], price[m] = t, 0, -1, 1.0, C[0]
                if n_classes > 1:
                    right[m] = int(target)
                    wrong[m] = second if first == right[m] else first
                    price[m] = C[right[m]]
                    loss[m] = 1.0 - (scores[right[m]] - scores[wrong[m]])
                    counts[MISTAKES] += first != right[m]
                elif classifies:
                    side[m] = target
                    price[m] = C[int(target > 0.0)]
                    loss[m] = 1.0 - target * p
                    counts[MISTAKES] += (p > 0.0) != (target > 0.0)
                else:
                    side[m] = 1.0 - 2.0 * wall
                    loss[m] = side[m] * (target - p) - epsilon
                    counts[MISTAKES] += loss[m] > 0.0 or (walls == 1 and loss[m] < 0.0)
                passive &= loss[m] <= 0.0 and (variant != PALS or loss[m] == 0.0)
                m += 1
        if passive:
            continue
        for k in range(m):
            i = order[when[k]] if shuffled else when[k]
            for l in range(k + 1):
                j = order[when[l]] if shuffled else when[l]
                both = side[k] * side[l]
                if n_classes > 1:
                    both = float((right[k] == right[l]) + (wrong[k] == wrong[l])
                                 - (right[k] == wrong[l]) - (wrong[k] == right[l]))  # fmt: skip
                A[k, l] = A[l, k] = both * product(data, indices, indptr, i, j, one) if both != 0.0 else 0.0
        solve(variant, m, A, loss, price, tau, work)
        for k in range(m):
            if tau[k] == 0.0:
                continue
            i = order[when[k]] if shuffled else when[k]
            other = tau[k - 1] if k > 0 and when[k - 1] == when[k] else 0.0  # of the same example, from its other wall
            counts[UPDATES] += other == 0.0
            if trace.shape[0] > 0:
                trace[when[k], 1] = tau[k] if other == 0.0 else abs(tau[k] - other)
            by = side[k] * tau[k]
            shift(data, indices, indptr, i, one, by, W, drift, right[k], before)
            if wrong[k] >= 0:
                shift(data, indices, indptr, i, one, -by, W, drift, wrong[k], before)
    return finite
