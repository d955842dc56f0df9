"""Kernel passive-aggressive learning with at most ``b`` vectors: what to do when one more would be too many.

When an update at the example ``t`` would exceed the budget, the vector ``r`` is given up and the weights of the vectors
in ``V`` are chosen anew, so as to solve

    min over r and beta of 1/2 ||f - f_t||^2 + C xi   with  y f(x_t) >= 1 - xi,   f = f_t - a_r k_r + sum_V beta_i k_i

(Wang and Vucetic, 2010, for PA-I; here for every variant, with the variant's own price of slack). ``V`` is ``t``
alone (`Removal`), ``t`` and the nearest other vector to ``r`` (`Nearest`), or all but ``r`` (`Projection`).

For a given ``r`` the solution has two orthogonal parts. The first projects ``a_r k_r`` on the span of ``V``; what is
lost is ``D = a_r^2 x`` (squared distance of ``k_r`` to that span). The second is the ordinary step along the projection
of ``k_t`` on the span. If ``r`` is not ``t``, then ``k_t`` lies in the span: projecting does not change ``f(x_t)``, the
step is the usual one, and the best ``r`` has the least ``D``. It is set against giving up ``t`` itself, where nothing
is lost but the step is along the projection of ``k_t``, of squared norm ``q``. Nothing here supposes ``k(x, x) = 1``.

With several classes ``a_r`` is a vector of weights and ``a_r^2`` its squared norm; an example may then ask for a step
in several outputs at once.

A policy is a small type with two methods. ``exchange(held, wanted)`` makes room for an example: it changes weights and
move, and returns the place that becomes free, or STEP_ALONE or NOTHING where the example itself is better given up.
``enter(held, r, k)`` notes that a vector with kernel values ``k`` came in place ``r``.
"""

import copy
from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INNER
from pa_lab.expansion import Expansion, invert_lower, multiply_transposed, pivoted_cholesky
from pa_lab.jit import method, njit
from pa_lab.kernels import Vectors
from pa_lab.passes import Examples, State, Way, as_loops_take, learn
from pa_lab.queries import N_UPDATES, Asking
from pa_lab.rows import GramRows, all_zero, dot
from pa_lab.rules import loss_of, step, step_cost

# A vector closer than this (squared, relative) to the span of others counts as in it: kernel values of double and of
# single precision.
DEPENDENT, DEPENDENT_SINGLE = 1e-10, 3e-5
STEP_ALONE, NOTHING = -1, -2  # what `exchange` answers if the example is given up: after a step along others, or none


class Held(NamedTuple):
    """What is held within a budget of ``b`` vectors, in arrays that the loops change in place.

    ``n`` holds how many there are, ``left`` how many more exchanges the policy can make before `Budget` renews its
    inverse, ``W`` of shape (b, n_outputs) the weights, ``ids`` the vectors' numbers in the stream, ``norms`` their
    ``k(s, s)``.
    """

    n: np.ndarray
    left: np.ndarray
    W: np.ndarray
    ids: np.ndarray
    norms: np.ndarray


class Step(NamedTuple):
    """The step that an example asks for: kernel values ``k`` with the vectors, its own ``norm`` and ``C``.

    ``move`` holds the change of each output's score function in units of ``k_t`` and ``losses`` the loss behind it.
    With the right class set against a wrong one both move by the same loss, and ``times`` is 2; else it is 1.
    """

    variant: int
    k: np.ndarray
    norm: float
    C: float
    move: np.ndarray
    losses: np.ndarray
    times: float


class BlockValues(NamedTuple):
    """A block of the stream: kernel values ``gram`` within it and ``KB`` with the vectors, and the rows' numbers."""

    gram: np.ndarray
    KB: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    move: np.ndarray
    losses: np.ndarray


# ---------------------------------------------------------------- what policies share


@njit(**INNER)
def cost_along(wanted, q):
    """Return the objective of the step taken along a direction of squared norm ``q``, summed over the outputs."""
    total = 0.0
    for loss in wanted.losses:
        total += step_cost(wanted.variant, loss, wanted.times * q, wanted.C)
    return total / wanted.times


@njit(**INNER)
def move_along(wanted, q, output):
    """Return the move of an output along a direction of squared norm ``q`` instead of ``norm``."""
    if wanted.losses[output] == 0.0:
        return 0.0
    shorter = step(wanted.variant, wanted.losses[output], wanted.times * q, wanted.C)
    whole = step(wanted.variant, wanted.losses[output], wanted.times * wanted.norm, wanted.C)
    return wanted.move[output] * shorter / whole


@njit(**INNER)
def gives_up_example(wanted, q, lost):
    """Whether to give up the example itself, with a step along ``q``, is better than to give up a vector.

    ``q`` is the squared norm of the direction then left, ``lost`` the squared norm of what goes with the vector.
    """
    return cost_along(wanted, q) < cost_along(wanted, wanted.norm) + 0.5 * lost


@njit(**INNER)
def squared_weight(W, r):
    """Return the squared norm of the weights of vector ``r`` over the outputs."""
    total = 0.0
    for output in range(W.shape[1]):
        total += W[r, output] * W[r, output]
    return total


# ---------------------------------------------------------------- policies


class Oldest(NamedTuple):
    """The vector that came first goes; ``came`` says when each came, and at its end how many have come."""

    came: np.ndarray

    def exchange(self, held, wanted):
        """Return the vector to give up."""
        return np.argmin(self.came)

    def enter(self, held, r, k):
        """Count the arrivals."""
        self.came[-1] += 1
        self.came[r] = self.came[-1]


class Smallest(NamedTuple):
    """The vector with the least weight goes."""

    def enter(self, held, r, k):
        """Note nothing."""

    def exchange(self, held, wanted):
        """Return the vector to give up."""
        r = np.int64(0)  # a plain 0 would have what is called with it compiled twice
        for j in range(held.W.shape[0]):
            if squared_weight(held.W, j) < squared_weight(held.W, r):
                r = j
        return r


class Removal(NamedTuple):
    """The example takes over what it can of the vector that goes."""

    def enter(self, held, r, k):
        """Note nothing."""

    def exchange(self, held, wanted):
        """Return the vector to give up, once its part is in the move."""
        k, norm, r, lost = wanted.k, wanted.norm, NOTHING, np.inf
        for j in range(held.W.shape[0]):
            loses = squared_weight(held.W, j) * max(0.0, held.norms[j] - k[j] * k[j] / norm)
            if loses < lost:
                r, lost = j, loses
        if gives_up_example(wanted, 0.0, lost):
            return NOTHING
        for output in range(held.W.shape[1]):
            wanted.move[output] += held.W[r, output] * (k[r] / norm)
        return r


class Nearest(NamedTuple):
    """The example and the nearest vector to the one that goes take over what they can of it.

    ``near`` holds the nearest vector to each, -1 for none, ``K`` the vectors' kernel values with each other,
    ``dependent`` the tolerance.
    """

    near: np.ndarray
    K: np.ndarray
    dependent: float

    def exchange(self, held, wanted):
        """Return the vector to give up, once its part is in the move and the weights of the nearest."""
        W, K, r, lost = held.W, self.K, np.int64(0), np.inf
        for j in range(W.shape[0]):
            loses = squared_weight(W, j) * project_on_pair(held, K, wanted, j, self.near[j], self.dependent)[2]
            if loses < lost:
                r, lost = j, loses
        beside = nearest_to(held.norms, wanted.k, np.int64(-1))  # where the step goes if the example is given up
        on_beside = wanted.k[beside] / held.norms[beside]
        q = wanted.k[beside] * on_beside
        if gives_up_example(wanted, q, lost):
            for output in range(W.shape[1]):
                W[beside, output] += move_along(wanted, q, output) * on_beside
            return STEP_ALONE
        j = self.near[r]
        on_t, on_j, _ = project_on_pair(held, K, wanted, r, j, self.dependent)
        for output in range(W.shape[1]):
            wanted.move[output] += W[r, output] * on_t
            if j >= 0:
                W[j, output] += W[r, output] * on_j
        return r

    def enter(self, held, r, k):
        """Note the kernel values of the vector that came in place ``r``, and what it is the nearest to."""
        near, norms, K = self.near, held.norms, self.K
        for j in range(K.shape[0]):
            K[r, j] = K[j, r] = k[j]
        if held.n[0] < near.shape[0]:
            return
        for j in range(near.shape[0]):
            if j == r or near[j] == r or near[j] < 0:
                near[j] = nearest_to(norms, K[j], j)
            elif norms[r] - 2.0 * K[j, r] < norms[near[j]] - 2.0 * K[j, near[j]]:
                near[j] = r


@njit(**INNER)
def nearest_to(norms, k, r):
    """Return the vector nearest to one with kernel values ``k``, other than ``r``; -1 if there is none."""
    best, found = np.inf, -1
    for j in range(norms.shape[0]):
        if j != r and norms[j] - 2.0 * k[j] < best:
            best, found = norms[j] - 2.0 * k[j], j
    return found


@njit(**INNER)
def project_on_pair(held, K, wanted, r, j, dependent):
    """Project ``k_r`` on the span of ``k_t`` and ``k_j``: coefficients on ``t`` and ``j``, squared distance to it.

    ``j`` is left out if it is -1 or if ``t`` alone spans it.
    """
    k, norm, norms = wanted.k, wanted.norm, held.norms
    det = norm * norms[j] - k[j] * k[j] if j >= 0 else 0.0
    if j < 0 or det <= dependent * norm * norms[j]:
        return k[r] / norm, 0.0, max(0.0, norms[r] - k[r] * k[r] / norm)
    on_t = (norms[j] * k[r] - k[j] * K[r, j]) / det
    on_j = (norm * K[r, j] - k[j] * k[r]) / det
    return on_t, on_j, max(0.0, norms[r] - on_t * k[r] - on_j * K[r, j])


class Projection(NamedTuple):
    """All others take over what they can of the vector that goes.

    ``Q`` is the inverse of the vectors' kernel values with each other, ``dependent`` the tolerance, ``v`` and ``c`` are
    memory.
    """

    Q: np.ndarray
    v: np.ndarray
    c: np.ndarray
    dependent: float

    def enter(self, held, r, k):
        """Note nothing."""

    def exchange(self, held, wanted):
        """Return the vector to give up, once its part is in the move and the weights, and ``Q`` brought up to date.

        With ``v = Q k_t`` and ``s = k_tt - k_t.v``, the inverse once ``t`` has joined is ``Q + v v' / s``, bordered by
        ``-v / s`` and ``1 / s``; column ``r`` of it holds the projection of ``k_r`` on the others, its diagonal the
        inverse squared distance.
        """
        W, Q, v = held.W, self.Q, self.v
        s, r, lost = wanted.norm, np.int64(0), np.inf
        for j in range(Q.shape[0]):
            v[j] = dot(Q[j], wanted.k, Q.shape[0])
            s -= wanted.k[j] * v[j]
        spanned = s <= self.dependent * wanted.norm
        if not spanned:
            for j in range(Q.shape[0]):
                loses = squared_weight(W, j) / (Q[j, j] + v[j] * v[j] / s)
                if loses < lost:
                    r, lost = j, loses
        q = wanted.norm - max(s, 0.0)
        if spanned or gives_up_example(wanted, q, lost):
            for output in range(W.shape[1]):
                along = move_along(wanted, q, output)
                for j in range(Q.shape[0]):
                    W[j, output] += along * v[j]
            return STEP_ALONE
        take_place(self, W, wanted.move, s, r)
        held.left[0] -= 1
        return r


@njit(**INNER)
def take_place(policy, W, move, s, r):
    """Project vector ``r`` on the others and the example, and put the example in its place in the inverse ``Q``."""
    Q, v, c, _ = policy
    c_t = -v[r] / s  # the column of ``r`` once the example has joined
    for j in range(v.shape[0]):
        c[j] = Q[j, r] + v[j] * v[r] / s
    for output in range(W.shape[1]):
        for j in range(v.shape[0]):
            if j != r:
                W[j, output] -= W[r, output] * c[j] / c[r]
        move[output] -= W[r, output] * c_t / c[r]
    for i in range(v.shape[0]):
        joined, gone = v[i] / s, c[i] / c[r]
        for j in range(v.shape[0]):
            Q[i, j] += joined * v[j] - gone * c[j]
    for j in range(v.shape[0]):
        Q[r, j] = Q[j, r] = -v[j] / s - c_t * c[j] / c[r]
    Q[r, r] = 1.0 / s - c_t * c_t / c[r]


POLICIES = {
    "removal": Removal,
    "nearest": Nearest,
    "projection": Projection,
    "oldest": Oldest,
    "smallest": Smallest,
}


def make_policy(name, b, dependent):
    """Return a policy for ``b`` vectors."""
    fields = {
        "came": np.zeros(b + 1, np.int64),
        "near": np.full(b, -1),
        "K": np.zeros((b, b)),
        "Q": np.zeros((b, b)),
        "v": np.zeros(b),
        "c": np.zeros(b),
        "dependent": dependent,
    }
    return POLICIES[name](**{field: fields[field] for field in POLICIES[name]._fields})


exchange = method("exchange")
enter = method("enter")


# ---------------------------------------------------------------- the loop


@njit(**COMPILED, nogil=True)
def learn_block(start, block, examples, way, state, held, policy, lanes, one_vs_rest):
    """Pass the examples of a block, from ``start`` on, through the linear pass one by one, within the budget.

    ``state``, ``lanes`` and ``one_vs_rest`` are as in `pa_lab.passes.learn`.

    Returns where it stopped, before the end if the inverse has to be made anew, a number that is finite exactly if
    every score was, and the sum of the losses.
    """
    gram, KB, ids, scores, move, losses = block
    y, C, order, trace = examples
    query, draws, delta, rate, budget, n_rows, steering = way.asking
    n_outputs, counts, rule = held.W.shape[1], state.counts, way.rule
    sentinel, total, times = 0.0, 0.0, 1.0
    if lanes is not None and one_vs_rest is None:
        times = 2.0
    for t in range(start, len(ids)):
        if held.left[0] == 0 and held.n[0] == held.W.shape[0]:
            return t, sentinel, total
        for output in range(n_outputs):
            scores[0, output] = dot(KB[t], held.W[:, output], KB.shape[1])
            move[output] = 0.0
        asking = Asking(query, draws[t : t + 1], delta, rate, budget, n_rows, steering)
        example = Examples(y[t : t + 1], C[t : t + 1], order, trace[t : t + 1])
        finite, loss = learn(GramRows(gram[t : t + 1, t : t + 1], scores), example, Way(rule, asking, 1, False), state,
                             lanes, one_vs_rest, None)  # fmt: skip
        sentinel += finite
        total += loss
        if all_zero(move):
            continue
        r = place_of(held, ids[t])
        if r >= 0:  # seen in an earlier pass, and still held
            for output in range(n_outputs):
                held.W[r, output] += move[output]
            continue
        if held.n[0] < held.W.shape[0]:
            r = held.n[0]
            held.n[0] += 1
        else:
            for output in range(n_outputs):
                losses[output] = loss if move[output] != 0.0 else 0.0
                if one_vs_rest is not None:
                    losses[output] = loss_of(rule, 1.0 if output == np.int64(y[t]) else -1.0, scores[0, output])
            r = exchange(policy, held, Step(rule.variant, KB[t], gram[t, t], C[t], move, losses, times))
            if r < 0:
                counts[N_UPDATES] -= r == NOTHING
                continue
        for output in range(n_outputs):
            held.W[r, output] = move[output]
        held.norms[r], held.ids[r] = gram[t, t], ids[t]
        for i in range(gram.shape[0]):
            KB[i, r] = gram[i, t]
        enter(policy, held, r, KB[t])
    return len(ids), sentinel, total


@njit(**INNER)
def place_of(held, number):
    """Return where the vector with a number in the stream stands, -1 if it is not held."""
    for j in range(held.n[0]):
        if held.ids[j] == number:
            return j
    return -1


class Budget(Expansion):
    """A sum of at most ``budget`` kernel functions.

    Examples
    --------
    >>> from pa_lab import KernelPAClassifier
    >>> X = np.linspace(-3.0, 3.0, 50)[:, None]
    >>> KernelPAClassifier(budget=5).fit(X, np.abs(X[:, 0]) > 1).support_vectors_.shape
    (5, 1)
    """

    def __init__(self, kernel, n_features, n_outputs, budget, policy, single=False):
        super().__init__(kernel, n_features, n_outputs, fading=None)
        self.policy = make_policy(policy, budget, DEPENDENT_SINGLE if single else DEPENDENT)
        self.needs_inverse = isinstance(self.policy, Projection)
        self.held = Held(np.zeros(1, np.int64), np.full(1, 0 if self.needs_inverse else 1),
                         np.zeros((budget, n_outputs)), np.full(budget, -1), np.zeros(budget))  # fmt: skip
        self.W, self.drift = self.held.W, np.zeros((budget, 0))

    def fork(self, first, n_rows):
        """Return a model that learns on, with memory of its own."""
        new = super().fork(first, n_rows)
        new.held, new.policy, new.vectors = copy.deepcopy((self.held, self.policy, self.vectors))
        new.W = new.held.W
        return new

    def widened(self, places, n, half):
        """Return a model of more classes, with the same vectors."""
        new = super().widened(places, n, half)
        new.held = self.held._replace(W=new.W)
        return new

    def learn(self, block):
        """Pass a block through the learner, within the budget."""
        X, ids, b = block.X, block.ids, len(self.W)
        gram, KB = self.kernel.gram(X, ids, block.threads), np.zeros((len(ids), b))
        KB[:, : self.vectors.n] = self.kernel.values(X, self.vectors, block.threads)
        moves, n_outputs = np.zeros((2, self.W.shape[1])), self.W.shape[1]
        values = BlockValues(gram, KB, ids, np.zeros((1, n_outputs)), moves[0], np.zeros(n_outputs))
        W, lanes = as_loops_take(moves)
        state = State(W, None, block.counts)
        outputs = state, self.held, self.policy, lanes, (block.way.one_vs_rest or None) if n_outputs > 1 else None
        rows = {number: row for row, number in enumerate(ids.tolist())}
        at, sums = 0, np.zeros(2)
        while at < len(ids):
            if self.held.left[0] == 0 and self.held.n[0] == b:
                self._invert(KB)
            before = self.held.ids.copy()
            at, sentinel, loss = learn_block(at, values, block.examples, block.way, *outputs)
            sums += sentinel, loss
            new = np.flatnonzero(before != self.held.ids)
            come = self.held.ids[new]
            self.vectors.put(new, X[[rows[number] for number in come.tolist()]], come)
        return sums

    def _invert(self, KB):
        """Make ``Q``. Vectors that others span are first folded into these, which changes nothing but frees places."""
        held, Q, K = self.held, self.policy.Q, self.kernel.gram(self.vectors.rows(), self.held.ids)
        factor, keep = pivoted_cholesky(K, self.policy.dependent)
        n, inverse = len(keep), invert_lower(factor)
        inverse = multiply_transposed(inverse, inverse)
        if n == len(K):
            Q[np.ix_(keep, keep)] = inverse
            held.left[0] = n
            return
        gone = np.setdiff1d(np.arange(len(K)), keep)
        folded = multiply_transposed(K[np.ix_(gone, keep)], held.W[gone])
        held.W[keep] += multiply_transposed(inverse, folded)
        for array in (held.W, held.norms, held.ids, KB.T):
            array[:n] = array[keep]
            array[n:] = 0
        held.ids[n:], held.n[0] = -1, n
        rows, self.vectors = self.vectors.rows()[keep], Vectors(self.vectors.n_features, self.kernel.dtype)
        self.vectors.put(np.arange(n), rows, held.ids[:n])
