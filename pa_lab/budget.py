"""Kernel passive-aggressive learning with at most ``b`` vectors: what to do when one more would be too many.

When an update at the example ``t`` would exceed the budget, the vector ``r`` is given up and the coefficients of the
vectors in ``V`` are chosen anew, so as to solve

    min over r and beta of 1/2 ||f - f_t||^2 + C xi   with  y f(x_t) >= 1 - xi,   f = f_t - a_r k_r + sum_V beta_i k_i

(Wang and Vucetic, 2010, for PA-I; here for every variant, with the variant's own penalty on ``xi``). ``V`` is ``t``
alone ("removal"), ``t`` and the nearest other vector to ``r`` ("nearest"), or all but ``r`` ("projection").

For a given ``r`` the solution has two orthogonal parts. The first projects ``a_r k_r`` on the span of ``V``; what is
lost is ``D = a_r^2 x`` (squared distance of ``k_r`` to that span). The second is the ordinary step along the projection
of ``k_t`` on the span. If ``r`` is not ``t``, then ``k_t`` lies in the span: projecting does not change ``f(x_t)``, the
step is the usual one, and the best ``r`` has the least ``D``. It is set against giving up ``t`` itself, where nothing
is lost but the step is along the projection of ``k_t``, of squared norm ``q``. Nothing here supposes ``k(x, x) = 1``.

With several classes ``a_r`` is a vector of coefficients and ``a_r^2`` its squared norm.

Glossary: ``K`` kernel values among the vectors, ``Q`` its inverse, ``W`` coefficients by class and vector.
"""

import numpy as np
from numba import njit
from scipy.linalg import cho_solve

from pa_lab.expansion import Expansion, pivoted_cholesky
from pa_lab.passes import State, learn_multiclass, learn_two
from pa_lab.queries import N_SEEN, N_UPDATES, Asking
from pa_lab.rows import Rows, dot
from pa_lab.rules import step, step_cost

POLICIES = ("removal", "nearest", "projection", "oldest", "smallest")
REMOVAL, NEAREST, PROJECTION, OLDEST, SMALLEST = range(5)
DEPENDENT = 1e-10  # a vector closer than this (squared, relative) to the span of others counts as in it


@njit(cache=True, error_model="numpy")
def weight(W, r):
    """Squared norm of the coefficients of vector ``r`` over the classes."""
    total = 0.0
    for k in range(W.shape[0]):
        total += W[k, r] * W[k, r]
    return total


@njit(cache=True, error_model="numpy")
def nearest_to(K, k_r, r):
    """The vector nearest to one with kernel values ``k_r``, other than ``r``; -1 if there is none."""
    best, found = np.inf, -1
    for j in range(K.shape[0]):
        if j != r and K[j, j] - 2.0 * k_r[j] < best:
            best, found = K[j, j] - 2.0 * k_r[j], j
    return found


@njit(cache=True, error_model="numpy")
def project_on_pair(K, k_t, k_tt, r, j):
    """Coefficients on ``t`` and ``j`` of the projection of ``k_r`` on their span, and the squared distance to it.

    ``j`` is left out if it is -1 or if ``t`` alone spans it.
    """
    det = k_tt * K[j, j] - k_t[j] * k_t[j] if j >= 0 else 0.0
    if j < 0 or det <= DEPENDENT * k_tt * K[j, j]:
        return k_t[r] / k_tt, 0.0, max(0.0, K[r, r] - k_t[r] * k_t[r] / k_tt)
    on_t = (K[j, j] * k_t[r] - k_t[j] * K[r, j]) / det
    on_j = (k_tt * K[r, j] - k_t[j] * k_t[r]) / det
    return on_t, on_j, max(0.0, K[r, r] - on_t * k_t[r] - on_j * K[r, j])


@njit(cache=True, error_model="numpy")
def by_pairs(W, move, K, near, k_t, k_tt, variant, loss, times, C):
    """Removal (``near`` empty) and nearest: change ``W`` and ``move``, return the vector given up, -1 for ``t``."""
    r, lost, pairs = -1, np.inf, near.shape[0] > 0
    for j in range(K.shape[0]):
        loses = weight(W, j) * project_on_pair(K, k_t, k_tt, j, near[j] if pairs else -1)[2]
        if loses < lost:
            r, lost = j, loses
    beside, q = -1, 0.0  # where the step goes, and its squared norm, if t itself is given up
    if pairs:
        beside = nearest_to(K, k_t, -1)
        q = k_t[beside] * k_t[beside] / K[beside, beside]
    if step_cost(variant, loss, times * q, C) < step_cost(variant, loss, times * k_tt, C) + 0.5 * lost:
        shorter = step(variant, loss, times * q, C) / step(variant, loss, times * k_tt, C)
        for k in range(W.shape[0]):
            if beside >= 0:
                W[k, beside] += move[k, 0] * shorter * k_t[beside] / K[beside, beside]
        return -1
    j = near[r] if pairs else -1
    on_t, on_j, _ = project_on_pair(K, k_t, k_tt, r, j)
    for k in range(W.shape[0]):
        move[k, 0] += W[k, r] * on_t
        if j >= 0:
            W[k, j] += W[k, r] * on_j
    return r


@njit(cache=True, error_model="numpy")
def by_projection(W, move, Q, v, k_t, k_tt, variant, loss, times, C):
    """Projection, with ``v = Q k_t``: change ``W``, ``move`` and ``Q``, return the vector given up, -1 for ``t``.

    With ``s = k_tt - k_t.v``, the inverse once ``t`` has joined is ``Q + v v' / s``, bordered by ``-v / s`` and
    ``1 / s``; column ``r`` of it holds the projection of ``k_r`` on the others, its diagonal the inverse distance.
    """
    b, r, lost, s = Q.shape[0], 0, np.inf, k_tt
    for j in range(b):
        s -= k_t[j] * v[j]
    spanned = s <= DEPENDENT * k_tt
    if not spanned:
        for j in range(b):
            loses = weight(W, j) / (Q[j, j] + v[j] * v[j] / s)
            if loses < lost:
                r, lost = j, loses
    q = k_tt - max(s, 0.0)
    if spanned or step_cost(variant, loss, times * q, C) < step_cost(variant, loss, times * k_tt, C) + 0.5 * lost:
        shorter = step(variant, loss, times * q, C) / step(variant, loss, times * k_tt, C)
        for k in range(W.shape[0]):
            for j in range(b):
                W[k, j] += move[k, 0] * shorter * v[j]
        return -1
    c = np.empty(b)
    for j in range(b):
        c[j] = Q[j, r] + v[j] * v[r] / s
    c_t, c_r = -v[r] / s, c[r]
    for k in range(W.shape[0]):
        for j in range(b):
            if j != r:
                W[k, j] -= W[k, r] * c[j] / c_r
        move[k, 0] -= W[k, r] * c_t / c_r
    for i in range(b):  # the inverse with t joined and r gone, in whose place t comes
        joined, gone = v[i] / s, c[i] / c_r
        for j in range(b):
            Q[i, j] += joined * v[j] - gone * c[j]
    for j in range(b):
        Q[r, j] = Q[j, r] = -v[j] / s - c_t * c[j] / c_r
    Q[r, r] = 1.0 / s - c_t * c_t / c_r
    return r


@njit(cache=True, error_model="numpy")
def enter(W, K, near, r, move, k_t, k_tt):
    """Put an example in place ``r`` and keep the list of nearest vectors right."""
    for j in range(K.shape[0]):
        K[r, j] = K[j, r] = k_t[j]
    K[r, r] = k_tt
    W[:, r] = move[:, 0]
    for j in range(near.shape[0]):
        if j == r or near[j] == r or near[j] < 0:
            near[j] = nearest_to(K, K[j], j)
        elif k_tt - 2.0 * K[j, r] < K[near[j], near[j]] - 2.0 * K[j, near[j]]:
            near[j] = r


@njit(cache=True, error_model="numpy")
def loss_of(y, scores, move, epsilon):
    """The loss behind a step: of a score for a target, or of the margin between the two classes that move."""
    if scores.shape[0] == 1:
        return abs(y - scores[0, 0]) - max(epsilon, 0.0)
    margin = 0.0
    for k in range(scores.shape[0]):
        if move[k, 0] != 0.0:
            margin += scores[k, 0] if k == int(y) else -scores[k, 0]
    return abs(1.0 - margin)


@njit(cache=True, error_model="numpy")
def learn_block(at, gram, KB, y, numbers, W, K, Q, near, held, came, state, C, rule, asking, counts, trace, policy):
    """Pass the examples of a block, from ``at`` on, through the linear pass one by one, within the budget.

    ``KB`` holds the kernel values of the block with the vectors and ``gram`` those within the block; ``numbers`` and
    ``held`` are the examples' and vectors' numbers in the stream, ``came`` when a vector came. ``state`` holds how many
    vectors there are and how many exchanges ``Q`` is good for. Everything is changed in place.
    Returns where it stopped, before the end if ``Q`` has to be made anew, a number that is finite exactly if every
    score was, and the sum of the losses.
    """
    n_rows, b = W.shape
    variant, epsilon = rule.variant, rule.epsilon
    start, moved, drift = np.zeros((1, n_rows)), np.zeros((2, n_rows)), np.zeros((2, 0))
    norm, target, price, draw, order = np.zeros((1, 1)), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(0, np.int64)
    size, losses, times = 0.0, 0.0, 1.0 if n_rows == 1 else 2.0
    rows, change = Rows(norm, None, None, start, 0.0, 0.0), State(moved, drift, counts)
    one = Asking(asking.query, draw, asking.delta, asking.rate, asking.budget)
    for t in range(at, y.shape[0]):
        if policy == PROJECTION and state[0] == b and state[1] == 0:
            return t, size, losses
        for k in range(n_rows):
            start[0, k] = dot(KB, t, W, k)
        norm[0, 0], target[0], price[0], moved[:] = gram[t, t], y[t], C[t], 0.0
        if asking.draws.shape[0] > 0:
            draw[0] = asking.draws[t]
        if n_rows == 1:
            moved_by, loss = learn_two(rows, target, order, price, rule, one, change, trace[t : t + 1])
        else:
            moved_by, loss = learn_multiclass(rows, target, order, price, rule, one, change, trace[t : t + 1])
        size += moved_by
        losses += loss
        move = moved[:1].T.copy()
        if not move.any():
            continue
        r = -1
        for j in range(state[0]):
            if held[j] == numbers[t]:
                r = j
        if r >= 0:  # seen in an earlier pass, and still held
            W[:, r] += move[:, 0]
            continue
        if state[0] < b:
            r = state[0]
            state[0] += 1
        elif policy == OLDEST:
            r = np.argmin(came)
        elif policy == SMALLEST:
            r = 0
            for j in range(b):
                if weight(W, j) < weight(W, r):
                    r = j
        else:
            loss = loss_of(y[t], start.T.copy(), move, epsilon)
            C_t = C[t]
            if policy == PROJECTION:
                v = np.empty(b)
                for j in range(b):
                    v[j] = dot(Q, j, KB, t)
                r = by_projection(W, move, Q, v, KB[t], norm[0, 0], variant, loss, times, C_t)
                state[1] -= r >= 0
            else:
                r = by_pairs(W, move, K, near, KB[t], norm[0, 0], variant, loss, times, C_t)
            if r < 0:
                counts[N_UPDATES] -= policy == REMOVAL
                continue
        enter(W, K, near if state[0] == b else near[:0], r, move, KB[t], norm[0, 0])
        KB[:, r] = gram[:, t]
        held[r], came[r] = numbers[t], counts[N_SEEN]
    return y.shape[0], size, losses


class Budget(Expansion):
    """An expansion of at most ``budget`` vectors, in arrays of that size.

    Examples
    --------
    >>> from pa_lab import KernelPAClassifier
    >>> X = np.linspace(-3.0, 3.0, 50)[:, None]
    >>> KernelPAClassifier(budget=5).fit(X, np.abs(X[:, 0]) > 1).support_vectors_.shape
    (5, 1)
    """

    changes = ("W", "K", "Q", "near", "rows", "right", "ids", "came", "state")

    def __init__(self, kernel, n_rows, rows, budget, policy):
        b = budget
        self.kernel, self.policy, right = kernel, policy, kernel.right(rows[:1], np.zeros(1, np.int64))
        self.rows, self.right = (np.zeros((b, *A.shape[1:]), A.dtype) for A in (rows, right))
        self.ids, self.came, self.state = np.full(b, -1), np.zeros(b, np.int64), np.zeros(2, np.int64)
        self.W, self.K, self.drift = np.zeros((n_rows, b)), np.zeros((b, b)), np.empty((0, b))
        self.Q = np.zeros((b, b) if policy == PROJECTION else (0, 0))
        self.near = np.full(b if policy == NEAREST else 0, -1)

    @property
    def n(self):
        """How many vectors there are."""
        return int(self.state[0])

    def learn(self, block):
        """Pass a block through the loop, within the budget."""
        X, ids, y = block.X, block.ids, block.y
        left, right = self.kernel.left(X), self.kernel.right(X, ids)
        gram, KB = self.kernel.gram(left, right).astype(np.float64), np.zeros((len(y), len(self.ids)))
        if self.n:
            KB[:, : self.n] = self.kernel(left, self.right[: self.n])
        place, at, sums = {number: at for at, number in enumerate(ids.tolist())}, 0, np.zeros(2)
        while at < len(y):
            if self.policy == PROJECTION and self.n == len(self.ids) and self.state[1] == 0:
                self._invert(KB)
            before = self.ids.copy()
            at, *total = learn_block(
                at, gram, KB, y, ids, self.W, self.K, self.Q, self.near, self.ids, self.came, self.state,
                block.C, block.rule, block.asking, block.counts, block.trace, self.policy,
            )  # fmt: skip
            sums += total
            new = np.flatnonzero(before != self.ids)
            come = [place[number] for number in self.ids[new].tolist()]
            self.rows[new], self.right[new] = X[come], right[come]
        return sums

    def _invert(self, KB):
        """Make ``Q``. Vectors that others span are first folded into these, which changes nothing but frees places."""
        factor, keep = pivoted_cholesky(self.K, DEPENDENT)
        b, n = len(self.K), len(keep)
        if n == b:
            self.Q[np.ix_(keep, keep)] = cho_solve((factor, True), np.eye(b))
            self.state[1] = b
            return
        gone = np.setdiff1d(np.arange(b), keep)
        self.W[:, keep] += self.W[:, gone] @ cho_solve((factor, True), self.K[np.ix_(keep, gone)]).T
        self.K[:n, :n], self.W[:, :n], KB[:, :n] = self.K[np.ix_(keep, keep)], self.W[:, keep], KB[:, keep]
        self.K[n:], self.K[:, n:], self.W[:, n:], KB[:, n:] = 0.0, 0.0, 0.0, 0.0
        for A in (self.rows, self.right, self.ids, self.came):
            A[:n] = A[keep]
        self.ids[n:], self.state[0] = -1, n
