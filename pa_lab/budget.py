"""Kernel passive-aggressive learning with at most ``b`` vectors: what to do when one more would be too many.

When an update at the example ``t`` would exceed the budget, the vector ``r`` is given up and the weights of the vectors
in ``V`` are chosen anew, so as to solve

    min over r and beta of 1/2 ||f - f_t||^2 + C xi   with  y f(x_t) >= 1 - xi,   f = f_t - a_r k_r + sum_V beta_i k_i

(Wang and Vucetic, 2010, for PA-I; here for every variant, with the variant's own price of slack). ``V`` is ``t``
alone ("removal"), ``t`` and the nearest other vector to ``r`` ("nearest"), or all but ``r`` ("projection").

For a given ``r`` the solution has two orthogonal parts. The first projects ``a_r k_r`` on the span of ``V``; what is
lost is ``D = a_r^2 x`` (squared distance of ``k_r`` to that span). The second is the ordinary step along the projection
of ``k_t`` on the span. If ``r`` is not ``t``, then ``k_t`` lies in the span: projecting does not change ``f(x_t)``, the
step is the usual one, and the best ``r`` has the least ``D``. It is set against giving up ``t`` itself, where nothing
is lost but the step is along the projection of ``k_t``, of squared norm ``q``. Nothing here supposes ``k(x, x) = 1``.

With several classes ``a_r`` is a vector of weights and ``a_r^2`` its squared norm; an example may then ask for a step
in several outputs at once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pa_lab.expansion import Expansion, invert_lower, multiply_transposed, pivoted_cholesky
from pa_lab.kernels import Vectors
from pa_lab.passes import State, learn_multiclass, learn_one_vs_rest, learn_two
from pa_lab.queries import N_SEEN, N_UPDATES, Asking
from pa_lab.rows import Rows, dot_vector
from pa_lab.rules import loss_of, step, step_cost

POLICIES = ("removal", "nearest", "projection", "oldest", "smallest")
REMOVAL, NEAREST, PROJECTION, OLDEST, SMALLEST = range(5)
DEPENDENT = 1e-10  # a vector closer than this (squared, relative) to the span of others counts as in it


class Held(NamedTuple):
    """What is held within a budget of ``b`` vectors, in arrays that the loops change in place.

    ``n`` holds the number of vectors and how many exchanges ``Q`` is still good for; ``W`` of shape (b, n_outputs) the
    weights; ``ids`` the vectors' numbers in the stream and ``came`` when each came; ``norms`` their ``k(s, s)``;
    ``near`` the vector nearest to each; ``K`` their kernel values and ``Q`` its inverse, each (b, b). What a policy
    does not need has length 0.
    """

    n: np.ndarray
    W: np.ndarray
    ids: np.ndarray
    came: np.ndarray
    norms: np.ndarray
    near: np.ndarray
    K: np.ndarray
    Q: np.ndarray


class Step(NamedTuple):
    """The step that an example asks for: kernel values ``k`` with the vectors, its own ``norm`` and ``C``.

    ``move`` holds the change of each output's score function in units of ``k_t`` and ``losses`` the loss behind it.
    With the right class set against a wrong one both move by the same loss, and ``times`` is 2; else it is 1.
    """

    k: np.ndarray
    norm: float
    C: float
    move: np.ndarray
    losses: np.ndarray
    times: float


@njit(cache=True, error_model="numpy")
def cost_along(variant, wanted, q):
    """Return the objective of the step taken along a direction of squared norm ``q``, summed over the outputs."""
    total = 0.0
    for loss in wanted.losses:
        total += step_cost(variant, loss, wanted.times * q, wanted.C)
    return total / wanted.times


@njit(cache=True, error_model="numpy")
def move_along(variant, wanted, q, output):
    """Return the move of an output along a direction of squared norm ``q`` instead of ``norm``."""
    if wanted.losses[output] == 0.0:
        return 0.0
    shorter = step(variant, wanted.losses[output], wanted.times * q, wanted.C)
    return wanted.move[output] * shorter / step(variant, wanted.losses[output], wanted.times * wanted.norm, wanted.C)


@njit(cache=True, error_model="numpy")
def squared_weight(W, r):
    """Return the squared norm of the weights of vector ``r`` over the outputs."""
    total = 0.0
    for output in range(W.shape[1]):
        total += W[r, output] * W[r, output]
    return total


@njit(cache=True, error_model="numpy")
def nearest_to(norms, k, r):
    """Return the vector nearest to one with kernel values ``k``, other than ``r``; -1 if there is none."""
    best, found = np.inf, -1
    for j in range(norms.shape[0]):
        if j != r and norms[j] - 2.0 * k[j] < best:
            best, found = norms[j] - 2.0 * k[j], j
    return found


@njit(cache=True, error_model="numpy")
def project_on_pair(held, wanted, r, j):
    """Project ``k_r`` on the span of ``k_t`` and ``k_j``: coefficients on ``t`` and ``j``, squared distance to it.

    ``j`` is left out if it is -1 or if ``t`` alone spans it.
    """
    k, norm = wanted.k, wanted.norm
    det = norm * held.norms[j] - k[j] * k[j] if j >= 0 else 0.0
    if j < 0 or det <= DEPENDENT * norm * held.norms[j]:
        return k[r] / norm, 0.0, max(0.0, held.norms[r] - k[r] * k[r] / norm)
    on_t = (held.norms[j] * k[r] - k[j] * held.K[r, j]) / det
    on_j = (norm * held.K[r, j] - k[j] * k[r]) / det
    return on_t, on_j, max(0.0, held.norms[r] - on_t * k[r] - on_j * held.K[r, j])


@njit(cache=True, error_model="numpy")
def exchange_by_pairs(held, wanted, variant):
    """Removal (``near`` empty) and nearest: change weights and move, return the vector given up, -1 for ``t``."""
    W, move, pairs = held.W, wanted.move, held.near.shape[0] > 0
    r, lost = -1, np.inf
    for j in range(W.shape[0]):
        loses = squared_weight(W, j) * project_on_pair(held, wanted, j, held.near[j] if pairs else -1)[2]
        if loses < lost:
            r, lost = j, loses
    beside, q = -1, 0.0  # where the step goes, and its squared norm, if t itself is given up
    if pairs:
        beside = nearest_to(held.norms, wanted.k, -1)
        q = wanted.k[beside] * wanted.k[beside] / held.norms[beside]
    if cost_along(variant, wanted, q) < cost_along(variant, wanted, wanted.norm) + 0.5 * lost:
        for output in range(W.shape[1]):
            if beside >= 0:
                on_beside = wanted.k[beside] / held.norms[beside]
                W[beside, output] += move_along(variant, wanted, q, output) * on_beside
        return -1
    j = held.near[r] if pairs else -1
    on_t, on_j, _ = project_on_pair(held, wanted, r, j)
    for output in range(W.shape[1]):
        move[output] += W[r, output] * on_t
        if j >= 0:
            W[j, output] += W[r, output] * on_j
    return r


@njit(cache=True, error_model="numpy")
def exchange_by_projection(held, wanted, variant):
    """Projection: change weights, move and ``Q``, return the vector given up, -1 for ``t``.

    With ``v = Q k_t`` and ``s = k_tt - k_t.v``, the inverse once ``t`` has joined is ``Q + v v' / s``, bordered by
    ``-v / s`` and ``1 / s``; column ``r`` of it holds the projection of ``k_r`` on the others, its diagonal the inverse
    squared distance.
    """
    W, Q, move, k, b = held.W, held.Q, wanted.move, wanted.k, held.Q.shape[0]
    v, c = np.empty(b), np.empty(b)
    s = wanted.norm
    for j in range(b):
        v[j] = dot_vector(Q, j, k)
        s -= k[j] * v[j]
    spanned = s <= DEPENDENT * wanted.norm
    r, lost = 0, np.inf
    if not spanned:
        for j in range(b):
            loses = squared_weight(W, j) / (Q[j, j] + v[j] * v[j] / s)
            if loses < lost:
                r, lost = j, loses
    q = wanted.norm - max(s, 0.0)
    if spanned or cost_along(variant, wanted, q) < cost_along(variant, wanted, wanted.norm) + 0.5 * lost:
        for output in range(W.shape[1]):
            along = move_along(variant, wanted, q, output)
            for j in range(b):
                W[j, output] += along * v[j]
        return -1
    for j in range(b):
        c[j] = Q[j, r] + v[j] * v[r] / s
    c_t, c_r = -v[r] / s, c[r]
    for output in range(W.shape[1]):
        for j in range(b):
            if j != r:
                W[j, output] -= W[r, output] * c[j] / c_r
        move[output] -= W[r, output] * c_t / c_r
    for i in range(b):  # the inverse with t joined and r gone, in whose place t comes
        joined, gone = v[i] / s, c[i] / c_r
        for j in range(b):
            Q[i, j] += joined * v[j] - gone * c[j]
    for j in range(b):
        Q[r, j] = Q[j, r] = -v[j] / s - c_t * c[j] / c_r
    Q[r, r] = 1.0 / s - c_t * c_t / c_r
    return r


@njit(cache=True, error_model="numpy")
def enter(held, r, wanted):
    """Put an example in place ``r``."""
    held.W[r] = wanted.move
    held.norms[r] = wanted.norm
    for j in range(held.K.shape[0]):
        held.K[r, j] = held.K[j, r] = wanted.k[j]
    if held.K.shape[0] > 0:
        held.K[r, r] = wanted.norm


@njit(cache=True, error_model="numpy")
def update_nearest(held, r):
    """Bring the list of nearest vectors up to date, once the vector in place ``r`` is another one."""
    near, norms, K = held.near, held.norms, held.K
    for j in range(near.shape[0]):
        if j == r or near[j] == r or near[j] < 0:
            near[j] = nearest_to(norms, K[j], j)
        elif norms[r] - 2.0 * K[j, r] < norms[near[j]] - 2.0 * K[j, near[j]]:
            near[j] = r


@njit(cache=True, error_model="numpy")
def losses_behind(rule, y, scores, move, one_vs_rest, losses):
    """Fill in the loss behind the move of each output; see `Step`."""
    losses[:] = 0.0
    if scores.shape[0] == 1:
        losses[0] = loss_of(rule, y, scores[0])
        return
    right, margin = int(y), 0.0
    for output in range(scores.shape[0]):
        if move[output] != 0.0:
            margin += scores[output] if output == right else -scores[output]
    for output in range(scores.shape[0]):
        if move[output] != 0.0 and one_vs_rest:
            losses[output] = loss_of(rule, 1.0 if output == right else -1.0, scores[output])
        elif move[output] != 0.0:
            losses[output] = loss_of(rule, 1.0, margin)


@njit(cache=True, error_model="numpy", nogil=True)
def learn_block(start, gram, KB, y, ids, C, rule, asking, counts, trace, held, spare, policy, one_vs_rest):
    """Pass the examples of a block, from ``start`` on, through the linear pass one by one, within the budget.

    ``KB`` holds the kernel values of the block with the vectors and ``gram`` those within the block. ``K`` and ``Q``
    stay as they are if ``spare`` is another pair, which then takes them up at the first exchange.

    Returns where it stopped, before the end if ``Q`` has to be made anew, a number that is finite exactly if every
    score was, the sum of the losses, and whether ``spare`` is in use.
    """
    b, n_outputs = held.W.shape
    moves, drift, losses = np.zeros((2, n_outputs)), np.zeros((2, 0)), np.zeros(n_outputs)
    base, norm, target, C_t = np.zeros((1, n_outputs)), np.zeros((1, 1)), np.zeros(1), np.zeros(1)
    draw, order = np.zeros(1), np.zeros(0, np.int64)
    row, state = Rows(norm, None, None, base, 0.0, 0.0), State(moves, drift, counts)
    one = Asking(asking.query, draw, asking.delta, asking.rate, asking.budget)
    size, total, in_spare = 0.0, 0.0, False
    for t in range(start, y.shape[0]):
        if policy == PROJECTION and held.n[0] == b and held.n[1] == 0:
            return t, size, total, in_spare
        for output in range(n_outputs):
            base[0, output] = dot_vector(KB, t, held.W[:, output])
        norm[0, 0], target[0], C_t[0] = gram[t, t], y[t], C[t]
        moves[:] = 0.0
        if asking.draws.shape[0] > 0:
            draw[0] = asking.draws[t]
        if n_outputs == 1:
            finite, loss = learn_two(row, target, order, C_t, rule, one, state, trace[t : t + 1])
        elif one_vs_rest:
            finite, loss = learn_one_vs_rest(row, target, order, C_t, rule, one, state, trace[t : t + 1])
        else:
            finite, loss = learn_multiclass(row, target, order, C_t, rule, one, state, trace[t : t + 1])
        size += finite
        total += loss
        if not moves[0].any():
            continue
        r = -1
        for j in range(held.n[0]):
            if held.ids[j] == ids[t]:
                r = j
        if r >= 0:  # seen in an earlier pass, and still held
            held.W[r] += moves[0]
            continue
        losses_behind(rule, y[t], base[0], moves[0], one_vs_rest, losses)
        times = 1.0 if n_outputs == 1 or one_vs_rest else 2.0
        wanted = Step(KB[t], gram[t, t], C[t], moves[0], losses, times)
        if held.n[0] < b:
            r = held.n[0]
            held.n[0] += 1
        else:
            if spare[0].shape[0] > 0 and not in_spare:
                in_spare = True
                spare[0][:] = held.K
                spare[1][:] = held.Q
                held = Held(held.n, held.W, held.ids, held.came, held.norms, held.near, spare[0], spare[1])
            if policy == OLDEST:
                r = np.argmin(held.came)
            elif policy == SMALLEST:
                r = 0
                for j in range(b):
                    if squared_weight(held.W, j) < squared_weight(held.W, r):
                        r = j
            elif policy == PROJECTION:
                r = exchange_by_projection(held, wanted, rule.variant)
                held.n[1] -= r >= 0
            else:
                r = exchange_by_pairs(held, wanted, rule.variant)
            if r < 0:
                counts[N_UPDATES] -= policy == REMOVAL
                continue
        enter(held, r, wanted)
        if held.n[0] == b:
            update_nearest(held, r)
        KB[:, r] = gram[:, t]
        held.ids[r], held.came[r] = ids[t], counts[N_SEEN]
    return y.shape[0], size, total, in_spare


class Budget(Expansion):
    """A sum of at most ``budget`` kernel functions.

    Examples
    --------
    >>> from pa_lab import KernelPAClassifier
    >>> X = np.linspace(-3.0, 3.0, 50)[:, None]
    >>> KernelPAClassifier(budget=5).fit(X, np.abs(X[:, 0]) > 1).support_vectors_.shape
    (5, 1)
    """

    def __init__(self, kernel, n_features, n_outputs, budget, policy):
        super().__init__(kernel, n_features, n_outputs, average=False)
        b, self.policy = budget, policy
        pairs, inverse = (b if policy in (NEAREST, PROJECTION) else 0), (b if policy == PROJECTION else 0)
        self.held = Held(np.zeros(2, np.int64), np.zeros((b, n_outputs)), np.full(b, -1), np.zeros(b, np.int64),
                         np.zeros(b), np.full(b if policy == NEAREST else 0, -1), np.zeros((pairs, pairs)),
                         np.zeros((inverse, inverse)))  # fmt: skip
        self.W, self.drift = self.held.W, np.zeros((b, 0))
        self.spare, self.shares = None, False

    def fork(self):
        """Return a model that learns on; it shares ``K`` and ``Q`` up to its first exchange."""
        new = super().fork()
        *small, K, Q = self.held
        new.held = Held(*(array.copy() for array in small), K, Q)
        new.W, new.shares = new.held.W, True
        new.spare = self.spare or (np.empty_like(K), np.empty_like(Q))
        return new

    def learn(self, block):
        """Pass a block through the learner, within the budget."""
        X, ids, b = block.X, block.ids, len(self.W)
        gram, KB = self.kernel.gram(X, ids, block.threads), np.zeros((len(ids), b))
        KB[:, : self.vectors.n] = self.kernel.values(X, self.vectors, block.threads)
        rows = {number: row for row, number in enumerate(ids.tolist())}
        at, sums, none = 0, np.zeros(2), np.empty((0, 0))
        while at < len(ids):
            if self.policy == PROJECTION and self.held.n.tolist() == [b, 0]:
                self._invert(KB)
            before = self.held.ids.copy()
            at, size, loss, in_spare = learn_block(
                at, gram, KB, block.y, ids, block.C, block.rule, block.asking, block.counts, block.trace, self.held,
                self.spare if self.shares else (none, none), self.policy, block.one_vs_rest,
            )  # fmt: skip
            sums += size, loss
            new = np.flatnonzero(before != self.held.ids)
            come = self.held.ids[new]
            undo = block.undo if self.shares else None
            self.vectors.put(new, X[[rows[number] for number in come.tolist()]], come, undo)
            if in_spare:
                kept = self.held.K, self.held.Q
                self.held = self.held._replace(K=self.spare[0], Q=self.spare[1])
                self.spare, self.shares = kept, False
        return sums

    def _invert(self, KB):
        """Make ``Q``. Vectors that others span are first folded into these, which changes nothing but frees places."""
        held, b = self.held, len(self.W)
        factor, keep = pivoted_cholesky(held.K, DEPENDENT)
        n, inverse = len(keep), invert_lower(factor)
        inverse = multiply_transposed(inverse, inverse)
        if n == b:
            Q = np.zeros((b, b))
            Q[np.ix_(keep, keep)] = inverse
            self.held, held.n[1] = held._replace(Q=Q), b
            return
        gone, K = np.setdiff1d(np.arange(b), keep), np.zeros((b, b))
        folded = multiply_transposed(held.K[np.ix_(gone, keep)], held.W[gone])
        held.W[keep] += multiply_transposed(inverse, folded)
        for array in (held.W, held.norms, held.ids, held.came, KB.T):
            array[:n] = array[keep]
            array[n:] = 0
        held.ids[n:], held.n[0] = -1, n
        K[:n, :n] = held.K[np.ix_(keep, keep)]
        self.held = held._replace(K=K)
        rows, self.vectors = self.vectors.rows()[keep], Vectors(self.vectors.n_features, self.vectors.dtype)
        self.vectors.put(np.arange(n), rows, held.ids[:n])
