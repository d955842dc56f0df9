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

from pa_lab.compiled import COMPILED, INNER
from pa_lab.expansion import Expansion, invert_lower, multiply_transposed, pivoted_cholesky
from pa_lab.kernels import Vectors
from pa_lab.passes import State, learn_multiclass, learn_one_vs_rest, learn_two
from pa_lab.queries import N_SEEN, N_UPDATES, Asking
from pa_lab.rows import AT_ONCE, Rows, dot_vector
from pa_lab.rules import loss_of, step, step_cost

POLICIES = ("removal", "nearest", "projection", "oldest", "smallest")
REMOVAL, NEAREST, PROJECTION, OLDEST, SMALLEST = range(5)
DEPENDENT = 1e-10  # a vector closer than this (squared, relative) to the span of others counts as in it


class Held(NamedTuple):
    """What is held within a budget of ``b`` vectors, in arrays that the loops change in place.

    ``n`` holds the number of vectors and how many exchanges `Inverse` is still good for; ``W`` of shape (b, n_outputs)
    the weights; ``ids`` the vectors' numbers in the stream and ``came`` when each came; ``norms`` their ``k(s, s)``;
    ``near`` the vector nearest to each, if the policy wants to know.
    """

    n: np.ndarray
    W: np.ndarray
    ids: np.ndarray
    came: np.ndarray
    norms: np.ndarray
    near: np.ndarray


class Pairs(NamedTuple):
    """What "nearest" needs besides: the kernel values ``K`` of the vectors, of shape (b, b)."""

    K: np.ndarray


class Inverse(NamedTuple):
    """What "projection" needs besides: the kernel values ``K`` of the vectors and their inverse ``Q``."""

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


@njit(**INNER)
def cost_along(variant, wanted, q):
    """Return the objective of the step taken along a direction of squared norm ``q``, summed over the outputs."""
    total = 0.0
    for loss in wanted.losses:
        total += step_cost(variant, loss, wanted.times * q, wanted.C)
    return total / wanted.times


@njit(**INNER)
def move_along(variant, wanted, q, output):
    """Return the move of an output along a direction of squared norm ``q`` instead of ``norm``."""
    if wanted.losses[output] == 0.0:
        return 0.0
    shorter = step(variant, wanted.losses[output], wanted.times * q, wanted.C)
    return wanted.move[output] * shorter / step(variant, wanted.losses[output], wanted.times * wanted.norm, wanted.C)


@njit(**INNER)
def gives_up_example(wanted, variant, q, lost):
    """Whether to give up the example itself, with a step along ``q``, is better than to give up a vector.

    ``q`` is the squared norm of the direction then left, ``lost`` the squared norm of what goes with the vector.
    """
    return cost_along(variant, wanted, q) < cost_along(variant, wanted, wanted.norm) + 0.5 * lost


@njit(**INNER)
def squared_weight(W, r):
    """Return the squared norm of the weights of vector ``r`` over the outputs."""
    total = 0.0
    for output in range(W.shape[1]):
        total += W[r, output] * W[r, output]
    return total


@njit(**INNER)
def nearest_to(norms, k, r):
    """Return the vector nearest to one with kernel values ``k``, other than ``r``; -1 if there is none."""
    best, found = np.inf, -1
    for j in range(norms.shape[0]):
        if j != r and norms[j] - 2.0 * k[j] < best:
            best, found = norms[j] - 2.0 * k[j], j
    return found


@njit(**INNER)
def project_on_pair(held, K, wanted, r, j):
    """Project ``k_r`` on the span of ``k_t`` and ``k_j``: coefficients on ``t`` and ``j``, squared distance to it.

    ``j`` is left out if it is -1 or if ``t`` alone spans it.
    """
    k, norm, norms = wanted.k, wanted.norm, held.norms
    det = norm * norms[j] - k[j] * k[j] if j >= 0 else 0.0
    if j < 0 or det <= DEPENDENT * norm * norms[j]:
        return k[r] / norm, 0.0, max(0.0, norms[r] - k[r] * k[r] / norm)
    on_t = (norms[j] * k[r] - k[j] * K[r, j]) / det
    on_j = (norm * K[r, j] - k[j] * k[r]) / det
    return on_t, on_j, max(0.0, norms[r] - on_t * k[r] - on_j * K[r, j])


@njit(**INNER)
def exchange_by_removal(held, wanted, variant):
    """Removal: change the move, return the vector given up, -1 for the example itself."""
    k, norm, r, lost = wanted.k, wanted.norm, -1, np.inf
    for j in range(held.W.shape[0]):
        loses = squared_weight(held.W, j) * max(0.0, held.norms[j] - k[j] * k[j] / norm)
        if loses < lost:
            r, lost = j, loses
    if gives_up_example(wanted, variant, 0.0, lost):
        return -1
    for output in range(held.W.shape[1]):
        wanted.move[output] += held.W[r, output] * (k[r] / norm)
    return r


@njit(**INNER)
def exchange_by_pairs(held, K, wanted, variant):
    """Nearest: change weights and move, return the vector given up, -1 for the example itself."""
    W, r, lost = held.W, -1, np.inf
    for j in range(W.shape[0]):
        loses = squared_weight(W, j) * project_on_pair(held, K, wanted, j, held.near[j])[2]
        if loses < lost:
            r, lost = j, loses
    beside = nearest_to(held.norms, wanted.k, np.int64(-1))  # where the step goes, if the example itself is given up
    on_beside = wanted.k[beside] / held.norms[beside]
    q = wanted.k[beside] * on_beside
    if gives_up_example(wanted, variant, q, lost):
        for output in range(W.shape[1]):
            W[beside, output] += move_along(variant, wanted, q, output) * on_beside
        return -1
    on_t, on_j, _ = project_on_pair(held, K, wanted, r, held.near[r])
    for output in range(W.shape[1]):
        wanted.move[output] += W[r, output] * on_t
        if held.near[r] >= 0:
            W[held.near[r], output] += W[r, output] * on_j
    return r


@njit(**INNER)
def exchange_by_projection(held, Q, wanted, variant):
    """Projection: change weights, move and ``Q``, return the vector given up, -1 for the example itself.

    With ``v = Q k_t`` and ``s = k_tt - k_t.v``, the inverse once ``t`` has joined is ``Q + v v' / s``, bordered by
    ``-v / s`` and ``1 / s``; column ``r`` of it holds the projection of ``k_r`` on the others, its diagonal the inverse
    squared distance.
    """
    W, move, k, b = held.W, wanted.move, wanted.k, Q.shape[0]
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
    if spanned or gives_up_example(wanted, variant, q, lost):
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


@njit(**INNER)
def update_nearest(held, K, r):
    """Bring the list of nearest vectors up to date, once the vector in place ``r`` is another one."""
    near, norms = held.near, held.norms
    for j in range(near.shape[0]):
        if j == r or near[j] == r or near[j] < 0:
            near[j] = nearest_to(norms, K[j], j)
        elif norms[r] - 2.0 * K[j, r] < norms[near[j]] - 2.0 * K[j, near[j]]:
            near[j] = r


@njit(**INNER)
def put_values(K, r, k):
    """Put the kernel values of a new vector in place ``r``."""
    for j in range(K.shape[0]):
        K[r, j] = K[j, r] = k[j]


@njit(**INNER)
def copy_into(target, source):
    """Copy a matrix."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit(**INNER)
def losses_behind(rule, y, scores, move, one_vs_rest, losses):
    """Fill in the loss behind the move of each output; see `Step`."""
    right, margin = int(y), 0.0
    for output in range(scores.shape[0]):
        losses[output] = 0.0
        if move[output] != 0.0:
            margin += scores[output] if output == right else -scores[output]
    for output in range(scores.shape[0]):
        if move[output] == 0.0:
            continue
        if scores.shape[0] == 1:
            losses[output] = loss_of(rule, y, scores[output])
        elif one_vs_rest:
            losses[output] = loss_of(rule, 1.0 if output == right else -1.0, scores[output])
        else:
            losses[output] = loss_of(rule, 1.0, margin)


@njit(**COMPILED, nogil=True)
def learn_block(start, stop, gram, KB, y, ids, C, rule, asking, counts, trace, held, policy, alone, pairs, inverse,
                spare, two, several):  # fmt: skip
    """Pass the examples ``start`` to ``stop`` of a block through the linear pass one by one, within the budget.

    ``KB`` holds the kernel values of the block with the vectors and ``gram`` those within the block. ``spare`` has a
    matrix for each of `Pairs` or `Inverse`, to take its place at the first exchange, so that the old one stays as it
    is; or empty matrices. What does not apply is None, and the compiler drops its part: ``alone`` stands for the
    policy "removal", ``pairs`` for "nearest", ``inverse`` for "projection", ``two`` for a single output; ``several``
    says of several outputs whether each class is learnt against the rest.

    Returns where it stopped, before ``stop`` if the inverse has to be made anew, a number that is finite exactly if
    every score was, the sum of the losses, and whether the spare matrices are in use.
    """
    b, n_outputs = held.W.shape
    moves, drift, losses = np.zeros((2, n_outputs)), np.zeros((2, 0)), np.zeros(n_outputs)
    base, norm, target, price = np.zeros((1, n_outputs)), np.zeros((1, 1)), np.zeros(1), np.zeros(1)
    draw, order = np.zeros(1), np.zeros(0, np.int64)
    row, state = Rows(norm, None, None, base, 0.0, 0.0), State(moves, drift, counts)
    one = Asking(asking.query, draw, asking.delta, asking.rate, asking.budget)
    size, total, in_spare, times, one_vs_rest = 0.0, 0.0, False, 1.0, False
    if several is not None:
        one_vs_rest = several
        times = 1.0 if several else 2.0
    for t in range(start, stop):
        if policy == PROJECTION and held.n[0] == b and held.n[1] == 0:
            return t, size, total, in_spare
        for output in range(n_outputs):
            base[0, output] = dot_vector(KB, t, held.W[:, output])
            moves[0, output] = 0.0
        norm[0, 0], target[0], price[0] = gram[t, t], y[t], C[t]
        if asking.draws.shape[0] > 0:
            draw[0] = asking.draws[t]
        if two is not None:
            finite, loss = learn_two(row, target, order, price, rule, one, state, trace[t : t + 1])
        if several is not None:
            if one_vs_rest:
                finite, loss = learn_one_vs_rest(row, target, order, price, rule, one, state, trace[t : t + 1])
            else:
                finite, loss = learn_multiclass(row, target, order, price, rule, one, state, trace[t : t + 1])
        size += finite
        total += loss
        moved = False
        for output in range(n_outputs):
            moved = moved or moves[0, output] != 0.0
        if not moved:
            continue
        r = -1
        for j in range(held.n[0]):
            if held.ids[j] == ids[t]:
                r = j
        if r >= 0:  # seen in an earlier pass, and still held
            for output in range(n_outputs):
                held.W[r, output] += moves[0, output]
            continue
        losses_behind(rule, y[t], base[0], moves[0], one_vs_rest, losses)
        wanted = Step(KB[t], gram[t, t], C[t], moves[0], losses, times)
        if held.n[0] < b:
            r = held.n[0]
            held.n[0] += 1
        else:
            if not in_spare and spare[0].shape[0] > 0:
                in_spare = True
                if pairs is not None:
                    copy_into(spare[0], pairs.K)
                if inverse is not None:
                    copy_into(spare[0], inverse.K)
                    copy_into(spare[1], inverse.Q)
            if policy == OLDEST:
                r = 0
                for j in range(b):
                    if held.came[j] < held.came[r]:
                        r = j
            elif policy == SMALLEST:
                r = 0
                for j in range(b):
                    if squared_weight(held.W, j) < squared_weight(held.W, r):
                        r = j
            if alone is not None:
                r = exchange_by_removal(held, wanted, rule.variant)
            if pairs is not None:
                r = exchange_by_pairs(held, spare[0] if in_spare else pairs.K, wanted, rule.variant)
            if inverse is not None:
                r = exchange_by_projection(held, spare[1] if in_spare else inverse.Q, wanted, rule.variant)
                held.n[1] -= r >= 0
            if r < 0:
                counts[N_UPDATES] -= policy == REMOVAL
                continue
        for output in range(n_outputs):
            held.W[r, output] = moves[0, output]
        held.norms[r], held.ids[r], held.came[r] = gram[t, t], ids[t], counts[N_SEEN]
        for i in range(gram.shape[0]):
            KB[i, r] = gram[i, t]
        if pairs is not None:
            K = spare[0] if in_spare else pairs.K
            put_values(K, r, KB[t])
            if held.n[0] == b:
                update_nearest(held, K, r)
        if inverse is not None:
            put_values(spare[0] if in_spare else inverse.K, r, KB[t])
    return stop, size, total, in_spare


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
        self.held = Held(np.zeros(2, np.int64), np.zeros((b, n_outputs)), np.full(b, -1), np.zeros(b, np.int64),
                         np.zeros(b), np.full(b, -1))  # fmt: skip
        self.W, self.drift = self.held.W, np.zeros((b, 0))
        n_matrices = {NEAREST: 1, PROJECTION: 2}.get(policy, 0)
        self.matrices = tuple(np.zeros((b, b)) for _ in range(n_matrices))  # K, Q
        self.spare = tuple(np.empty((0, 0)) for _ in self.matrices)
        self.forked = self.shares = False

    def fork(self, first, n_rows):
        """Return a model that learns on; it shares ``K`` and ``Q`` up to its first exchange."""
        new = super().fork(first, n_rows)
        new.held = Held(*(array.copy() for array in self.held))
        new.W, new.forked, new.shares = new.held.W, True, True
        if self.matrices and not len(self.spare[0]):
            new.spare = tuple(np.empty_like(matrix) for matrix in self.matrices)
        return new

    def learn(self, block):
        """Pass a block through the learner, within the budget."""
        X, ids, b = block.X, block.ids, len(self.W)
        gram, KB = self.kernel.gram(X, ids, block.threads), np.zeros((len(ids), b))
        KB[:, : self.vectors.n] = self.kernel.values(X, self.vectors, block.threads)
        rows = {number: row for row, number in enumerate(ids.tolist())}
        at, sums, one_output = 0, np.zeros(2), self.W.shape[1] == 1
        while at < len(ids):
            if self.policy == PROJECTION and self.held.n.tolist() == [b, 0]:
                self._invert(KB)
            costly = self.held.n[1] > 0  # the exchanges by projection, of which each reads and writes the inverse
            stop = min(at + max(1, AT_ONCE // b**2), len(ids)) if costly else len(ids)
            before = self.held.ids.copy()
            spare = self.spare if self.shares else tuple(np.empty((0, 0)) for _ in self.spare)
            at, size, loss, in_spare = learn_block(
                at, stop, gram, KB, block.y, ids, block.C, block.rule, block.asking, block.counts, block.trace,
                self.held, self.policy, True if self.policy == REMOVAL else None,
                Pairs(*self.matrices) if self.policy == NEAREST else None,
                Inverse(*self.matrices) if self.policy == PROJECTION else None, spare or (np.empty((0, 0)),),
                True if one_output else None, None if one_output else block.one_vs_rest,
            )  # fmt: skip
            sums += size, loss
            new = np.flatnonzero(before != self.held.ids)
            come = self.held.ids[new]
            self.vectors.put(new, X[[rows[number] for number in come.tolist()]], come,
                             block.undo if self.forked else None)  # fmt: skip
            if in_spare:
                self.matrices, self.spare, self.shares = self.spare, self.matrices, False
        return sums

    def _invert(self, KB):
        """Make ``Q``. Vectors that others span are first folded into these, which changes nothing but frees places."""
        held, b, (K, _) = self.held, len(self.W), self.matrices
        factor, keep = pivoted_cholesky(K, DEPENDENT)
        n, inverse = len(keep), invert_lower(factor)
        inverse = multiply_transposed(inverse, inverse)
        if n == b:
            Q = np.zeros((b, b))
            Q[np.ix_(keep, keep)] = inverse
            self.matrices, held.n[1] = (K, Q), b
            return
        gone, kept = np.setdiff1d(np.arange(b), keep), np.zeros((b, b))
        folded = multiply_transposed(K[np.ix_(gone, keep)], held.W[gone])
        held.W[keep] += multiply_transposed(inverse, folded)
        kept[:n, :n] = K[np.ix_(keep, keep)]
        for array in (held.W, held.norms, held.ids, held.came, KB.T):
            array[:n] = array[keep]
            array[n:] = 0
        held.ids[n:], held.n[0] = -1, n
        self.matrices = kept, np.zeros((b, b))
        rows, self.vectors = self.vectors.rows()[keep], Vectors(self.vectors.n_features, self.vectors.dtype)
        self.vectors.put(np.arange(n), rows, held.ids[:n])
