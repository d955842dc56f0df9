"""The pass: one compiled loop over the rows of a stream, for two classes, several, regression and mini-batches.

For each example it does what Crammer et al. (2006, Figure 1) say: score it, decide whether to ask for its label,
measure the loss, take the step. It changes a `State` in place. What does not apply is None, and the compiler drops it.

Glossary: ``w`` or ``W`` weights, feature by feature, the intercept last; ``drift`` what their mean needs; ``p`` score;
``tau`` step size; ``C`` aggressiveness of each row; ``sentinel`` the sum of the norms of all moves, finite exactly if
every number that took part was.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from pa_lab.batch import (
    LOSS,
    PRICE,
    RIGHT,
    ROW,
    SIDE,
    STEP,
    STOP,
    TAU,
    WHEN,
    WRONG,
    Batch,
    make_batch,
    solve_equations,
    solve_inequalities,
)
from pa_lab.compiled import COMPILED, INLINED, INNER
from pa_lab.jit import njit
from pa_lab.queries import (
    N_AVERAGED,
    N_CAPPED,
    N_MISTAKES,
    N_QUERIES,
    N_SEEN,
    N_UNANSWERED,
    N_UPDATES,
    NO_LIMIT,
    Asking,
    chance,
    is_asked,
)
from pa_lab.rows import AT_ONCE, add, best_two, is_zero, product, score, score_classes, slices, squared_norm, take
from pa_lab.rules import TINY, Rule, direction, is_capped, is_equation, is_mistake, loss_of, n_walls, step, worst_rival

SPAN = 512  # half-lives of rows that the terms of ``drift`` may span: they stay below 2^512
SHORTEST = 1 / 64  # a half-life below this is that of the last weights: all before weigh less than 2^-64
LN2 = math.log(2.0)
SERIES = tuple(1.0 / math.factorial(k) for k in range(15, 0, -1))
MOST = NO_LIMIT // 16
NO_TRACE = np.empty((0, 4))
IN_ORDER = np.empty(0, dtype=np.int64)  # the rows as they stand; None would have each pass compiled twice


class Examples(NamedTuple):
    """What belongs to the rows of a pass.

    ``y`` holds -1.0 and 1.0, class indices, or regression targets; ``C`` the aggressiveness of each row; ``order`` the
    rows one after the other, empty for all as they stand. A ``trace`` with a row per example of the pass records the
    score before the update; tau, which is NaN if the label was not asked for; the probability of asking; and, among
    the labels asked for, whether the prediction was wrong.
    """

    y: np.ndarray
    C: np.ndarray
    order: np.ndarray = IN_ORDER
    trace: np.ndarray = NO_TRACE


class Way(NamedTuple):
    """How to learn from examples: the rule, which labels to ask for, and what shares an update."""

    rule: Rule
    asking: Asking
    batch_size: int = 1
    one_vs_rest: bool = False


NO_FADING = (0.0, 0.0)


class State(NamedTuple):
    """What a pass changes in place.

    ``weights`` and ``drift`` have the shape (n_features + 1, n_classes), one column for two classes and regression;
    ``drift`` has no columns unless weights are averaged. ``counts`` are indexed by ``N_SEEN`` and so on. ``fading`` is
    how fast their mean forgets, from `fading_of`.
    """

    weights: np.ndarray
    drift: np.ndarray
    counts: np.ndarray
    fading: tuple[float, float] = NO_FADING


class Group(NamedTuple):
    """Mini-batches of ``size`` rows, which have ``walls`` constraints each, with memory to solve one.

    A batch is a problem of either ``inequalities`` or ``equations``: the other is None.
    """

    size: int
    walls: int
    batch: Batch
    inequalities: bool | None
    equations: bool | None


def run(rows, examples, way, state):
    """Make one pass over the rows, in slices: Ctrl-C can stop it in between. Labels not asked for are not read.

    Returns ``(sentinel, losses)``: a number that is finite exactly if all went well, and the sum of the losses.
    """
    y, C, order, trace = examples
    n, n_outputs = len(order) or len(y), state.weights.shape[1]
    size = min(way.batch_size, max(n, 2)) if way.batch_size > 1 else 1
    parts = slices(rows, n, n_outputs * size, size)
    if len(parts) == 1:
        return run_slice(rows, examples, way, state)
    sums = np.zeros(2)
    for part in parts:
        some = way._replace(asking=way.asking._replace(draws=way.asking.draws[part]), batch_size=size)
        if len(order):
            sums += run_slice(rows, Examples(y, C, order[part], trace[part]), some, state)
        else:
            sums += run_slice(take(rows, part), Examples(y[part], C[part], order, trace[part]), some, state)
    return sums


def run_slice(rows, examples, way, state):
    """Make one pass over rows, whatever their number, with memory for class scores and batches.

    Large problems can take minutes. A thread of its own then works on them, and is told to stop if this one is
    interrupted.
    """
    n, n_outputs = len(examples.order) or len(examples.y), state.weights.shape[1]
    lanes = np.empty((5, n_outputs)) if n_outputs > 1 else None
    one_vs_rest = True if way.one_vs_rest and n_outputs > 1 else None
    how = way.rule, way.asking, state, lanes, one_vs_rest
    if way.batch_size == 1:
        return learn(rows, examples, *how, None)
    group = make_group(min(way.batch_size, max(n, 2)), way.rule)
    if n * len(group.batch.L) ** 2 < AT_ONCE // (4 if group.equations else 1):  # eigenvectors take longer
        return learn(rows, examples, *how, group)
    learn(rows, examples._replace(y=examples.y[:0], order=IN_ORDER), *how, group)  # no rows: compiles, interruptibly
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(learn, rows, examples, *how, group).result()
        finally:
            group.batch.s[STOP] = 1


def make_group(size, rule):
    """Return memory for batches of ``size`` rows."""
    walls, equations = n_walls(rule), is_equation(rule.variant)
    return Group(size, walls, make_batch(size * walls), None if equations else True, True if equations else None)


# ---------------------------------------------------------------- the mean of the weights


@njit(**COMPILED)
def entry(before, fading):
    """The factor with which a move enters ``drift``, where ``before`` examples have counted in the mean already.

    Their number, or ``2^(before / half_life) - 1``, which the limit of long half-lives makes proportional to it.

    >>> entry(3, NO_FADING), entry(3, fading_of(1.0)), round(entry(10, fading_of(1e9)) / 1e-8, 6)
    (3.0, 7.0, 0.693147)
    """
    if fading[0] == 0.0:
        return float(before)
    doublings = before * fading[0]  # exact, see `fading_of`
    whole = math.floor(doublings + 0.5)
    rest = (doublings - whole + before * fading[1]) * LN2
    series = 0.0  # (e^rest - 1) / rest, summed as here on every processor
    for term in SERIES:
        series = series * rest + term
    power = math.ldexp(1.0, int(whole))
    return power * rest * series + (power - 1.0)


def mean(last, drift, counts, fading=NO_FADING):
    """Return the mean of the weights after each of ``T`` examples, or the last ones if there is no ``drift``.

    The mean is ``w_{T+1} - drift / f_{T+1}``, with ``drift = sum f_t (w_{t+1} - w_t)`` and ``f_t`` the `entry` of the
    ``t - 1`` examples before: these are the terms of the mean, sorted by the moves that are in them.

    >>> mean(np.array([[3.0]]), np.array([[4.0]]), np.array([0, 0, 0, 0, 0, 2])).tolist()
    [[1.0]]
    """
    if not drift.shape[1]:
        return last
    return last - drift / entry(min(max(int(counts[N_AVERAGED]), 1), room(fading) // 2 * 3), fading)


def fading_of(half_life):
    """Return ``1 / half_life`` as a number of 24 digits, whose products with a count are exact, and the rest.

    >>> sum(fading_of(4.0)), fading_of(None)
    (0.25, (0.0, 0.0))
    """
    if half_life is None:
        return NO_FADING
    rate = 1.0 / float(half_life)
    return float(np.float32(rate)), rate - float(np.float32(rate))


@njit(**COMPILED)
def room(fading):
    """Return how many examples may count in a mean before `shrink`.

    >>> room(fading_of(10.0))
    5120
    """
    return int(min(SPAN / (fading[0] + fading[1]), MOST)) if fading[0] > 0.0 else MOST


@njit(**COMPILED)
def shrink(drift, counts, fading):
    """Divide ``drift`` by a power of 2, before its terms overflow.

    The counter of the mean goes back to 64 half-lives: what was before them weighs nothing.

    >>> drift, counts = np.full((1, 1), 2.0**500), np.array([0, 0, 0, 0, 0, 500])
    >>> shrink(drift, counts, fading_of(1.0))
    >>> drift[0, 0] == 2.0**64, counts[N_AVERAGED]
    (np.True_, np.int64(64))
    """
    before, kept = counts[N_AVERAGED], room(fading) // 8
    if before > kept:
        counts[N_AVERAGED] = kept
        power = 1.0 + entry(min(before - kept, 12 * kept), fading)
        for j in range(drift.shape[0]):
            for k in range(drift.shape[1]):
                drift[j, k] /= power


def widen(weights, places, n, half):
    """Return weights, or their drift, of some classes at their places among ``n``, with zeros for the others.

    The one column of two classes becomes two, ``half`` of it each, with opposite signs.

    >>> widen(np.array([[4.0]]), [0, 2], 3, 0.5).tolist()
    [[-2.0, 0.0, 2.0]]
    """
    if not weights.shape[1]:
        return weights.copy()
    out = np.zeros((len(weights), n))
    out[:, places] = weights * [-half, half] if weights.shape[1] == 1 else weights
    return out


# ---------------------------------------------------------------- the loop


@njit(**COMPILED, nogil=True)
def learn(rows, examples, rule, asking, state, lanes, one_vs_rest, group):
    """One pass; see `run`.

    ``lanes`` of shape (5, n_classes) is memory for the scores of several classes. They are one problem, in which the
    right class is set against the highest-scoring wrong one, or with costs the worst rival; both move, so the squared
    norm counts twice (Crammer et al., sections 7 and 8). Or, ``one_vs_rest``, as many problems as there are classes. An
    example then counts as an update if any class moved, and its ``tau`` on record is that of its own.

    Scores, queries and mistakes in a ``group`` come from the weights before its update, and only the examples asked
    for enter its problem.
    """
    data, indices, indptr, base, norm_one, step_one = rows
    y, C, order, trace = examples
    query, draws, delta, rate, budget, n_rows, memory = asking
    W, drift, counts, fading = state
    w, v = W.ravel(), drift.ravel()  # the only column, of two classes and of regression
    sentinel = losses = sqnorm = 0.0
    n = order.shape[0] if order.shape[0] > 0 else y.shape[0]
    n_problems, right = 1, 0
    together = max(n, 1)  # rows between two looks at the group
    enough = room(fading)
    if one_vs_rest is not None:
        n_problems = W.shape[1]
    if group is not None:
        together = group.size
    for start in range(0, n, together):
        if counts[N_AVERAGED] >= enough:
            shrink(drift, counts, fading)
        before, suffered, m = counts[N_AVERAGED], 0.0, np.int64(0)
        for t in range(start, min(start + together, n)):
            i = order[t] if order.shape[0] > 0 else t
            if lanes is None:
                p = score(data, indices, indptr, base, i, w)
                sentinel += p - p
            else:
                score_classes(data, indices, indptr, base, i, W, lanes)
                first, second, finite = best_two(lanes[4])
                p = lanes[4, first] - lanes[4, second]
                sentinel += finite
            if trace.shape[0] > 0:
                trace[t, 0] = p
                trace[t, 1] = np.nan
            if group is None:
                if counts[N_AVERAGED] >= enough:
                    shrink(drift, counts, fading)
                before = counts[N_AVERAGED]
            counts[N_SEEN] += 1
            counts[N_AVERAGED] += counts[N_QUERIES] < budget or counts[N_UNANSWERED] > 0
            probability = chance(query, delta, rate, budget, n_rows, memory, counts, p)
            if trace.shape[0] > 0:
                trace[t, 2] = probability
            if not is_asked(probability, draws, t):
                continue
            counts[N_QUERIES] += 1
            if trace.shape[0] > 0:
                trace[t, 1] = 0.0
                trace[t, 3] = is_mistake(rule, y[i], p) if lanes is None else first != int(y[i])
            goal = 1.0  # the margin to ask for
            if lanes is None:
                target = y[i]
                if rule.goals.shape[0] > 0:
                    goal = rule.goals[int(target > 0.0), int(target <= 0.0)]
            else:
                right, target = int(y[i]), 1.0
                wrong = second if first == right else first
                if rule.goals.shape[0] > 0:
                    wrong = worst_rival(lanes[4], rule.goals, right)
                    goal = rule.goals[right, wrong]
                p = lanes[4, right] - lanes[4, wrong]
                counts[N_MISTAKES] += first != right
            if goal != 1.0:
                p /= goal
            if group is not None:
                if lanes is None:
                    counts[N_MISTAKES] += is_mistake(rule, target, p)
                else:
                    group.batch.s[RIGHT, m], group.batch.s[WRONG, m] = right, wrong
                suffered += goal * loss_of(rule, target, p)
                m = put_constraints(rule, group.walls, i, t, C[i], target, p, goal, group.batch.x, group.batch.s, m)
                continue
            if one_vs_rest is not None:
                sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
            moved = capped = False
            for k in range(n_problems):
                column = right
                if one_vs_rest is not None:
                    column, target, p = k, 1.0 if k == right else -1.0, lanes[4, k]
                loss = goal * loss_of(rule, target, p)
                if loss == 0.0:
                    continue
                losses += loss
                if lanes is None:
                    counts[N_MISTAKES] += is_mistake(rule, target, p)
                if one_vs_rest is None:
                    sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
                    if lanes is not None:
                        sqnorm *= 2.0
                tau = step(rule.variant, loss, sqnorm, C[i])
                sentinel += tau * np.sqrt(sqnorm)
                if tau == 0.0:
                    if sqnorm < TINY and not is_zero(data, indptr, base, i):
                        sentinel = np.nan
                    continue
                moved = True
                capped |= is_capped(loss - tau * sqnorm, loss)
                if trace.shape[0] > 0 and column == right:
                    trace[t, 1] = tau
                move = tau * direction(rule, target, p)
                late = move * entry(before, fading)
                if lanes is None:
                    add(data, indices, indptr, base, i, step_one, move, w)
                else:
                    add(data, indices, indptr, base, i, step_one, move, W[:, column])
                    if one_vs_rest is None:
                        add(data, indices, indptr, base, i, step_one, -move, W[:, wrong])
                if drift.shape[1] == 0:
                    continue
                sentinel += abs(late) * np.sqrt(sqnorm)
                if lanes is None:
                    add(data, indices, indptr, base, i, step_one, late, v)
                else:
                    add(data, indices, indptr, base, i, step_one, late, drift[:, column])
                    if one_vs_rest is None:
                        add(data, indices, indptr, base, i, step_one, -late, drift[:, wrong])
            counts[N_UPDATES] += moved
            counts[N_CAPPED] += capped
        if group is not None:
            losses += suffered
            if suffered > 0.0:
                sentinel += take_step(rows, rule, state, trace, m, group.batch, before, lanes, group.inequalities,
                                      group.equations)  # fmt: skip
    return sentinel, losses


# ---------------------------------------------------------------- mini-batches


@njit(**INLINED)
def put_constraints(rule, walls, i, t, C, target, p, goal, x, s, m):
    """Put the constraints of an example behind the ``m`` that are there; returns how many there are now."""
    for wall in range(walls):
        s[ROW, m], s[WHEN, m], x[PRICE, m] = i, t, C
        x[SIDE, m], x[LOSS, m] = target, goal * (1.0 - target * p)
        if rule.regression:
            x[SIDE, m] = 1.0 - 2.0 * wall
            x[LOSS, m] = x[SIDE, m] * (target - p) - rule.epsilon
        m += 1
    return m


@njit(**INNER)
def take_step(rows, rule, state, trace, m, batch, before, lanes, inequalities, equations):
    """Solve the problem of ``m`` constraints and move the weights; returns a number that is finite if all went well."""
    A, L, x, s = batch
    sentinel = fill_gram(rows, m, A, x, s, lanes)
    if inequalities is not None:
        solve_inequalities(rule.variant, m, A, L, x, s)
    if equations is not None:
        solve_equations(rule.variant, m, A, L, x, s)
    if s[STOP, 0]:
        return sentinel
    return sentinel + apply(rows, state, trace, m, A, x, s, before, lanes)


@njit(**INNER)
def fill_gram(rows, m, A, x, s, lanes):
    """Inner products of the directions of ``m`` constraints into ``A``; returns 0, or NaN if a squared norm is lost."""
    data, indices, indptr, base, norm_one, _ = rows
    finite = 0.0
    for k in range(m):
        i = s[ROW, k]
        if s[STOP, 0]:
            break
        for l in range(k + 1):
            both = x[SIDE, k] * x[SIDE, l]
            if lanes is not None:
                both = (1.0 * (s[RIGHT, k] == s[RIGHT, l]) + 1.0 * (s[WRONG, k] == s[WRONG, l])
                        - 1.0 * (s[RIGHT, k] == s[WRONG, l]) - 1.0 * (s[WRONG, k] == s[RIGHT, l]))  # fmt: skip
            value = 0.0
            if both != 0.0:
                value = both * product(data, indices, indptr, base, i, s[ROW, l], norm_one)
            A[k, l] = A[l, k] = value
        finite += A[k, k] - A[k, k]
        if A[k, k] < TINY and not is_zero(data, indptr, base, i):
            finite = np.nan
    return finite


@njit(**INNER)
def apply(rows, state, trace, m, A, x, s, before, lanes):
    """Move the weights by the solved steps; returns the sum of the norms of the moves."""
    data, indices, indptr, base, _, step_one = rows
    W, drift, counts, fading = state
    w, v = W.ravel(), drift.ravel()
    sentinel = 0.0
    for k in range(m):
        i, t, tau = s[ROW, k], s[WHEN, k], x[TAU, k]
        if tau == 0.0:
            continue
        other = x[TAU, k - 1] if k > 0 and s[WHEN, k - 1] == t else 0.0  # the same example's other wall
        counts[N_UPDATES] += other == 0.0
        left = x[LOSS, k]
        for l in range(m):
            left -= A[k, l] * x[STEP, l]
        counts[N_CAPPED] += is_capped(left, x[LOSS, k])
        if trace.shape[0] > 0:
            trace[t, 1] = tau if other == 0.0 else abs(tau - other)
        move = x[SIDE, k] * x[STEP, k]
        late = move * entry(before, fading)
        sentinel += max(abs(move), abs(late) if drift.shape[1] > 0 else 0.0) * np.sqrt(A[k, k])
        if lanes is None:
            add(data, indices, indptr, base, i, step_one, move, w)
            if drift.shape[1] > 0:
                add(data, indices, indptr, base, i, step_one, late, v)
        else:
            for sign, column in ((1.0, s[RIGHT, k]), (-1.0, s[WRONG, k])):
                add(data, indices, indptr, base, i, step_one, sign * move, W[:, column])
                if drift.shape[1] > 0:
                    add(data, indices, indptr, base, i, step_one, sign * late, drift[:, column])
    return sentinel


# ---------------------------------------------------------------- scores of new rows


@njit(**COMPILED, nogil=True)
def score_rows(rows, W, out):
    """Scores of every row for every column of ``W`` into ``out`` (n_rows, n_classes), summed as in the passes."""
    data, indices, indptr, base, _, _ = rows
    lanes = np.empty((5, W.shape[1]))
    w = W.ravel()
    for i in range(out.shape[0]):
        if W.shape[1] == 1:
            out[i, 0] = score(data, indices, indptr, base, i, w)
        else:
            score_classes(data, indices, indptr, base, i, W, lanes)
            for k in range(W.shape[1]):
                out[i, k] = lanes[4, k]
