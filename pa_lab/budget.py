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

A policy is a small type with three methods, which say what `exchange` asks for. ``span(held, wanted)`` gives ``q`` and
the squared distance ``s`` of ``k_t`` to the span of the vectors that would take over if ``t`` were given up, and leaves
the coefficients of its projection in ``held.v``; ``q`` is -1 if none would, NaN if ``t`` is never given up.
``lost_with(held, wanted, r, s)`` is ``D``, or what else decides which vector goes. ``hand_over(held, wanted, r, s)``
notes that ``t`` takes the place of ``r`` and lets the other vectors take over what they can of it; it returns the
coefficient of ``k_t`` in the projection of ``k_r``, times a number that it returns too.
"""

import copy
from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INNER
from pa_lab.expansion import Expansion, invert_factor, multiply_transposed
from pa_lab.jit import method, njit
from pa_lab.kernels import Vectors
from pa_lab.passes import Examples, State, as_loops_take, learn
from pa_lab.queries import N_UPDATES, NO_LIMIT
from pa_lab.rows import GramRows, dot
from pa_lab.rules import loss_of, step, step_cost

# A vector closer than this (squared, relative) to the span of others counts as in it: kernel values of double and of
# single precision.
DEPENDENT, DEPENDENT_SINGLE = 1e-10, 3e-5
STEP_ALONE, NOTHING = -1, -2  # what `exchange` answers if the example is given up: after a step along others, or none


class Held(NamedTuple):
    """What is held within a budget of ``b`` vectors, in arrays that the loops change in place.

    ``W`` of shape (b, n_outputs) holds the weights, ``ids`` the vectors' numbers in the stream, -1 for a place that is
    free, ``norms`` their ``k(s, s)``, ``left`` how many more exchanges the ``policy`` can make before `Budget` renews
    what it knows of all vectors. ``v`` holds the coefficients of a projection on them.
    """

    policy: NamedTuple
    W: np.ndarray
    ids: np.ndarray
    norms: np.ndarray
    v: np.ndarray
    left: np.ndarray


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
def squared_weight(W, r):
    """Return the squared norm of the weights of vector ``r`` over the outputs."""
    total = 0.0
    for output in range(W.shape[1]):
        total += W[r, output] * W[r, output]
    return total


@njit(**INNER)
def exchange(held, wanted):
    """Make room for an example, by its policy: weights and move are changed.

    Returns the place that becomes free, or STEP_ALONE or NOTHING where the example itself is better given up.
    """
    policy, W, _, _, v, _ = held
    q, s = span(policy, held, wanted)
    r, lost = np.int64(0), np.inf  # a plain 0 would have what is called with it compiled twice
    for j in range(W.shape[0]):
        loses = lost_with(policy, held, wanted, j, s)
        if loses < lost:
            r, lost = j, loses
    if cost_along(wanted, q) < cost_along(wanted, wanted.norm) + 0.5 * lost:
        for output in range(W.shape[1]):
            along = move_along(wanted, q, output)
            for j in range(W.shape[0]):
                W[j, output] += along * v[j]
        return STEP_ALONE if q >= 0.0 else NOTHING
    on_t, whole = hand_over(policy, held, wanted, r, s)
    for output in range(W.shape[1]):
        wanted.move[output] += W[r, output] * on_t / whole
        W[r, output] = 0.0
    return r


# ---------------------------------------------------------------- policies


class Oldest(NamedTuple):
    """The vector that came first goes; ``came`` says which exchange each came by, and at its end the last of them."""

    came: np.ndarray

    def span(self, held, wanted):
        """Return NaN: the example is kept."""
        return np.nan, 0.0

    def lost_with(self, held, wanted, r, s):
        """Return when a vector came; at first they stand in the order in which they did."""
        return self.came[r]

    def hand_over(self, held, wanted, r, s):
        """Return 0: nothing is taken over."""
        self.came[-1] += 1.0
        self.came[r] = self.came[-1]
        return 0.0, 1.0


class Smallest(NamedTuple):
    """The vector with the least weight goes."""

    span = Oldest.span

    def lost_with(self, held, wanted, r, s):
        """Return the squared weight."""
        return squared_weight(held.W, r)

    def hand_over(self, held, wanted, r, s):
        """Return 0: nothing is taken over."""
        return 0.0, 1.0


class Removal(NamedTuple):
    """The example takes over what it can of the vector that goes."""

    def span(self, held, wanted):
        """Return -1: without the example nothing would take over."""
        return -1.0, wanted.norm

    def lost_with(self, held, wanted, r, s):
        """Return what is lost with a vector."""
        k = wanted.k[r]
        return squared_weight(held.W, r) * max(0.0, held.norms[r] - k * k / wanted.norm)

    def hand_over(self, held, wanted, r, s):
        """Return the coefficient of the example."""
        return wanted.k[r] / wanted.norm, 1.0


class Nearest(NamedTuple):
    """The example and the nearest vector to the one that goes take over what they can of it.

    ``near`` holds the nearest vector to each, -1 if there is no other, ``K`` the vectors' kernel values
    with each other, ``dependent`` the tolerance.
    """

    near: np.ndarray
    K: np.ndarray
    dependent: float

    def span(self, held, wanted):
        """Project the example on the nearest vector to it."""
        beside = nearest_to(held.norms, wanted.k, np.int64(-1))
        held.v[:] = 0.0
        held.v[beside] = wanted.k[beside] / held.norms[beside]
        return wanted.k[beside] * held.v[beside], 0.0

    def lost_with(self, held, wanted, r, s):
        """Return what is lost with a vector."""
        near, norms = self.near[r], held.norms
        pair = project_on_pair(self.K, norms, wanted.k, wanted.norm, r, near, self.dependent)
        return squared_weight(held.W, r) * pair[2]

    def hand_over(self, held, wanted, r, s):
        """Project a vector on the example and its nearest, and bring ``K`` and ``near`` up to date."""
        near, norms, K = self.near, held.norms, self.K
        on_t, on_near, _ = project_on_pair(K, norms, wanted.k, wanted.norm, r, near[r], self.dependent)
        for output in range(held.W.shape[1]):
            held.W[near[r], output] += held.W[r, output] * on_near
        norms[r] = wanted.norm
        for j in range(K.shape[0]):
            K[r, j] = K[j, r] = wanted.k[j]
        for j in range(near.shape[0]):
            if j == r or near[j] == r:
                near[j] = nearest_to(norms, K[j], j)
            elif norms[r] - 2.0 * K[j, r] < norms[near[j]] - 2.0 * K[j, near[j]]:
                near[j] = r
        return on_t, 1.0


@njit(**INNER)
def nearest_to(norms, k, r):
    """Return the vector nearest to one with kernel values ``k``, other than ``r``; -1 if there is none."""
    nearest, least = -1, np.inf
    for j in range(norms.shape[0]):
        distance = norms[j] - 2.0 * k[j]  # squared, but for what all have in common
        if j != r and distance < least:
            nearest, least = j, distance
    return nearest


@njit(**INNER, forceinline=True)
def project_on_pair(K, norms, k, norm, r, j, dependent):
    """Project ``k_r`` on the span of ``k_t`` and ``k_j``.

    The vectors have kernel values ``K`` with each other and ``norms`` with themselves, the example ``t`` has ``k`` with
    them and ``norm`` with itself. Returns the coefficients on ``t`` and ``j``, and the squared distance of ``k_r`` to
    the span. ``j`` is left out if it is -1 or if ``t`` alone spans it.
    """
    tt, jj, tj, tr, jr = norm, norms[j], k[j], k[r], K[r, j]
    determinant = tt * jj - tj * tj
    if j < 0 or determinant <= dependent * tt * jj:
        return tr / tt, 0.0, max(0.0, norms[r] - tr * tr / tt)
    on_t = (jj * tr - tj * jr) / determinant
    on_j = (tt * jr - tj * tr) / determinant
    return on_t, on_j, max(0.0, norms[r] - on_t * tr - on_j * jr)


class Projection(NamedTuple):
    """All others take over what they can of the vector that goes.

    ``Q`` is the inverse of the vectors' kernel values with each other, ``c`` memory, ``dependent`` the tolerance. With
    ``v = Q k_t`` and ``s = k_tt - k_t.v``, the inverse once ``t`` has joined is ``Q + v v' / s``, bordered by
    ``-v / s`` and ``1 / s``; column ``r`` of it holds the projection of ``k_r`` on the others, its diagonal the inverse
    squared distance.
    """

    Q: np.ndarray
    c: np.ndarray
    dependent: float

    def span(self, held, wanted):
        """Project the example on all vectors."""
        s = wanted.norm
        for j in range(self.Q.shape[0]):
            held.v[j] = dot(self.Q[j], wanted.k, self.Q.shape[0])
            s -= wanted.k[j] * held.v[j]
        return wanted.norm - max(s, 0.0), s

    def lost_with(self, held, wanted, r, s):
        """Return what is lost with a vector; if others span the example, this is to be given up."""
        if s <= self.dependent * wanted.norm:
            return np.inf
        return squared_weight(held.W, r) / (self.Q[r, r] + held.v[r] * held.v[r] / s)

    def hand_over(self, held, wanted, r, s):
        """Project a vector on the others and the example, which takes its place in the inverse ``Q``."""
        W, c = held.W, self.c
        on_t = take_place(self.Q, held.v, c, s, r)
        for output in range(W.shape[1]):
            for j in range(W.shape[0]):
                if j != r:
                    W[j, output] -= W[r, output] * c[j] / c[r]
        held.left[0] -= 1
        return on_t, -c[r]


@njit(**INNER)
def take_place(Q, v, c, s, r):
    """Put the example in place ``r`` of the inverse; ``c`` becomes the column of ``r`` once the example has joined.

    Returns the example's entry in this column.
    """
    c_t = -v[r] / s
    for j in range(v.shape[0]):
        c[j] = Q[j, r] + v[j] * v[r] / s
    for i in range(v.shape[0]):
        joined, gone = v[i] / s, c[i] / c[r]
        for j in range(v.shape[0]):
            Q[i, j] += joined * v[j] - gone * c[j]
    for j in range(v.shape[0]):
        Q[r, j] = Q[j, r] = -v[j] / s - c_t * c[j] / c[r]
    Q[r, r] = 1.0 / s - c_t * c_t / c[r]
    return c_t


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
        "came": np.zeros(b + 1),
        "near": np.zeros(b, np.int64),
        "K": np.zeros((b, b)),
        "Q": np.zeros((b, b)),
        "c": np.zeros(b),
        "dependent": dependent,
    }
    return POLICIES[name](**{field: fields[field] for field in POLICIES[name]._fields})


span = method("span")
lost_with = method("lost_with")
hand_over = method("hand_over")


# ---------------------------------------------------------------- the loop


@njit(**COMPILED, nogil=True)
def learn_block(start, gram, KB, ids, moves, examples, way, state, held, lanes, one_vs_rest):
    """Pass the examples of a block, from ``start`` on, through the linear pass one by one, within the budget.

    ``gram`` holds the kernel values within the block, ``KB`` those with the vectors, ``ids`` the rows' numbers. Each
    example is the only row of its pass, so the order of the ``examples`` is all 0. ``moves`` is memory for a `Step`,
    whose first two rows are the weights in the ``state``; this, ``lanes`` and ``one_vs_rest`` are as in
    `pa_lab.passes.learn`.

    Returns where it stopped, before the end if what the policy knows has to be made anew, a number that is finite
    exactly if every score was, and the sum of the losses.
    """
    y, C, order, trace = examples
    move, losses, scores = moves[0], moves[2], moves[3:]
    n_outputs, counts, rule = held.W.shape[1], state.counts, way.rule
    sentinel, total, times = 0.0, 0.0, 1.0
    if lanes is not None and one_vs_rest is None:
        times = 2.0
    for t in range(start, len(ids)):
        if held.left[0] == 0 and held.ids[-1] >= 0:
            return t, sentinel, total
        for output in range(n_outputs):
            scores[0, output] = dot(KB[t], held.W[:, output], KB.shape[1])
            move[output] = 0.0
        row, example = GramRows(gram[t : t + 1, t : t + 1], scores), Examples(y[t : t + 1], C[t : t + 1], order, trace)
        finite, loss = learn(row, example, way, state, lanes, one_vs_rest, None, (t, t + 1))
        sentinel += finite
        total += loss
        if not move.any():
            continue
        r = place_for(held.ids, ids[t])
        if r < 0:
            for output in range(n_outputs):
                losses[output] = loss if move[output] != 0.0 else 0.0
                if one_vs_rest is not None:
                    losses[output] = loss_of(rule, 1.0 if output == np.int64(y[t]) else -1.0, scores[0, output])
            r = exchange(held, Step(rule.variant, KB[t], gram[t, t], C[t], move, losses, times))
            if r < 0:
                counts[N_UPDATES] -= r == NOTHING
                continue
        for output in range(n_outputs):
            held.W[r, output] += move[output]
        if held.ids[r] != ids[t]:  # not one seen in an earlier pass, and still held
            held.norms[r], held.ids[r] = gram[t, t], ids[t]
            for i in range(gram.shape[0]):
                KB[i, r] = gram[i, t]
    return len(ids), sentinel, total


@njit(**INNER)
def place_for(ids, number):
    """Return where the vector with a number in the stream stands, or else the first free place, -1 if there is none."""
    for j in range(ids.shape[0]):
        if ids[j] == number or ids[j] < 0:
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

    def __init__(self, kernel, rows, ids, n_outputs, budget, policy, single=False):
        super().__init__(kernel, rows, ids, n_outputs, fading=None)
        policy = make_policy(policy, budget, DEPENDENT_SINGLE if single else DEPENDENT)
        self.W, self.drift = np.zeros((budget, n_outputs)), np.zeros((budget, 0))
        self.held = Held(policy, self.W, np.full(budget, -1), *np.zeros((2, budget)), np.zeros(1, np.int64))

    def fork(self, first, n_rows):
        """Return a model that learns on, with memory of its own."""
        new = super().fork(first, n_rows)
        new.held, new.vectors = copy.deepcopy((self.held, self.vectors))
        return new

    def learn(self, block):
        """Pass a block through the learner, within the budget."""
        X, ids, (b, n_outputs) = block.X, block.ids, self.W.shape
        held = self.held._replace(W=self.W)
        gram, KB = self.kernel.gram(X, ids, block.threads), np.zeros((len(ids), b))
        KB[:, : self.vectors.n] = self.kernel.values(X, self.vectors, block.threads)
        moves = np.zeros((4, n_outputs))
        W, lanes = as_loops_take(moves[:2])
        state, examples = State(W, None, block.counts), block.examples._replace(order=np.zeros(len(ids), np.int64))
        one_vs_rest = (block.way.one_vs_rest or None) if n_outputs > 1 else None
        memory = moves, examples, block.way, state, held, lanes, one_vs_rest
        at, sums = 0, np.zeros(2)
        while at < len(ids):
            if held.left[0] == 0 and held.ids[-1] >= 0:
                self._renew(held, KB)
            before = held.ids.copy()
            at, sentinel, loss = learn_block(at, gram, KB, ids, *memory)
            sums += sentinel, loss
            new = np.flatnonzero(before != held.ids)
            come = held.ids[new]
            self.vectors.put(new, X[(ids == come[:, np.newaxis]).argmax(axis=1)], come)
        return sums

    def _renew(self, held, KB):
        """Make what a policy knows of the vectors' kernel values with each other, once there are all of them."""
        policy = held.policy
        if isinstance(policy, Projection):
            self._invert(held, KB)
        else:
            held.left[0] = NO_LIMIT
        if isinstance(policy, Nearest):
            policy.K[:] = self.kernel.gram(self.vectors.rows(), held.ids)
            apart = held.norms - 2.0 * policy.K
            np.fill_diagonal(apart, np.inf)
            policy.near[:] = apart.argmin(axis=1) if len(apart) > 1 else -1

    def _invert(self, held, KB):
        """Make ``Q``. Vectors that others span are first folded into these, which changes nothing but frees places."""
        K = self.kernel.gram(self.vectors.rows(), held.ids)
        inverse, keep = invert_factor(K, held.policy.dependent)
        n, inverse = len(keep), multiply_transposed(inverse, inverse)
        if n == len(K):
            held.policy.Q[np.ix_(keep, keep)] = inverse
            held.left[0] = n
            return
        gone = np.setdiff1d(np.arange(len(K)), keep)
        folded = multiply_transposed(K[np.ix_(gone, keep)], held.W[gone])
        held.W[keep] += multiply_transposed(inverse, folded)
        for array in (held.W, held.norms, held.ids, KB.T):
            array[:n] = array[keep]
            array[n:] = 0
        held.ids[n:] = -1
        self.vectors = Vectors(self.vectors.rows()[keep], held.ids[:n], self.kernel.dtype)
