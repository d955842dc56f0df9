"""The pass: one compiled loop over the rows of a stream, for two classes, several, regression and mini-batches.

For each example it does what Crammer et al. (2006, Figure 1) say: score it, decide whether to ask for its label,
measure the loss, take the step. It changes a `State` in place. What does not apply is None, and the compiler drops it.

Glossary: ``w`` or ``W`` weights, feature by feature, the intercept last; ``drift`` what their mean needs; ``p`` score;
``tau`` step size; ``C`` aggressiveness of each row; ``sentinel`` the sum of the norms of all moves, finite exactly if
every number that took part was.
"""

import math
from typing import NamedTuple

import numpy as np

from pa_lab.batch import make_batch, solve_batch
from pa_lab.compiled import COMPILED, INLINED, INNER
from pa_lab.jit import njit
from pa_lab.queries import (
    N_AVERAGED,
    N_CAPPED,
    N_MISTAKES,
    N_UPDATES,
    NO_LIMIT,
    Asking,
    decide,
)
from pa_lab.rows import add, best_but, best_two, is_zero, product, score, score_classes, slices
from pa_lab.rules import TINY, Rule, direction, is_capped, is_mistake, loss_of, n_walls, step

SPAN = 512  # half-lives of rows that the terms of ``drift`` may span: they stay below 2^512
SHORTEST = 1 / 64  # a half-life below this is taken for it: all before the last weights weigh less than 2^-64
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
    ``drift`` has no columns unless weights are averaged, and is then None in the loops. ``counts`` are indexed by
    ``N_SEEN`` and so on. ``fading`` is how fast their mean forgets, from `fading_of`, and ``room`` how many examples it
    may count, see `room`.
    """

    weights: np.ndarray
    drift: np.ndarray | None
    counts: np.ndarray
    fading: tuple[float, float] = NO_FADING
    room: int = MOST


class Demand(NamedTuple):
    """What a row asks for: its score ``p`` is to reach a ``target``, in units of the ``goal``.

    With several classes ``p`` is by how much ``right`` is ahead of ``wrong``.
    """

    p: float
    target: float
    goal: float = 1.0
    right: int = 0
    wrong: int = -1


def run(rows, examples, way, state):
    """Make one pass over the rows, in slices: Ctrl-C can stop it in between. Labels not asked for are not read.

    Returns ``(sentinel, losses)``: a number that is finite exactly if all went well, and the sum of the losses.
    """
    n, n_outputs = len(examples.order) or len(examples.y), state.weights.shape[1]
    size = min(way.batch_size, max(n, 2)) if way.batch_size > 1 else 1
    (W, lanes), one_vs_rest = as_loops_take(state.weights), way.one_vs_rest or None
    drift = as_loops_take(state.drift)[0] if state.drift.shape[1] else None
    state = State(W, drift, state.counts, state.fading, room(state.fading))
    b = make_batch(size, n_walls(way.rule)) if size > 1 else None
    sums, memory = np.zeros(2), (state, lanes, one_vs_rest if n_outputs > 1 else None, b)
    for part in slices(rows, n, n_outputs * size, size):
        sums += learn(rows, examples, way, *memory, part)
    return sums


def as_loops_take(W):
    """Return weights as the loops take them, those of one output as a vector, and memory for the scores of several."""
    return (W.ravel(), None) if W.shape[1] == 1 else (W, np.empty((5, W.shape[1])))


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
    rate = 1.0 / max(float(half_life), SHORTEST)
    return float(np.float32(rate)), rate - float(np.float32(rate))


def room(fading):
    """Return how many examples may count in a mean before `shrink`.

    >>> room(fading_of(10.0))
    5120
    """
    return int(min(SPAN / (fading[0] + fading[1]), MOST)) if fading[0] > 0.0 else MOST


@njit(**COMPILED)
def shrink(drift, counts, fading, room):
    """Divide ``drift`` by a power of 2, before its terms overflow.

    The counter of the mean goes back to 64 half-lives: what was before them weighs nothing.

    >>> drift, counts = np.full((1, 1), 2.0**500), np.array([0, 0, 0, 0, 0, 500])
    >>> shrink(drift, counts, fading_of(1.0), room(fading_of(1.0)))
    >>> drift.item() == 2.0**64, counts.tolist()[N_AVERAGED]
    (True, 64)
    """
    if drift is None:
        return
    before, kept = counts[N_AVERAGED], room // 8
    if before > kept:
        counts[N_AVERAGED] = kept
        power = 1.0 + entry(min(before - kept, 12 * kept), fading)
        for j in range(drift.size):
            drift.flat[j] /= power


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
def learn(rows, examples, way, state, lanes, one_vs_rest, b, part):
    """Pass a ``part`` of the examples, from a number up to another; see `run`.

    For two classes and regression, ``state`` holds its only column as a vector.

    ``lanes`` of shape (5, n_classes) is memory for the scores of several classes. They are one problem, in which the
    right class is set against the highest-scoring wrong one, or with costs the worst rival; both move, so the squared
    norm counts twice (Crammer et al., sections 7 and 8). Or, ``one_vs_rest``, as many problems as there are classes. An
    example then counts as an update if any class moved, and its ``tau`` on record is that of its own.

    Scores, queries and mistakes in a batch ``b`` come from the weights before its update, and only the examples asked
    for enter its problem.
    """
    y, C, order, trace = examples
    W, drift, counts, fading, enough = state
    rule = way.rule
    records = trace.shape[0] > 0
    sentinel = losses = 0.0
    together, n_problems, movers = 1, 1, 1.0  # rows that share an update, problems of a row, weight vectors in each
    if b is not None:
        together = b.move.shape[0] // b.walls
    if one_vs_rest is not None:
        n_problems = W.shape[1]
    elif lanes is not None:
        movers = 2.0
    for start in range(part[0], part[1], together):
        if counts[N_AVERAGED] >= enough:
            shrink(drift, counts, fading, enough)
        before, suffered, m = counts[N_AVERAGED], 0.0, np.int64(0)
        stop = start + 1
        if b is not None:
            stop = min(start + together, part[1])
        for t in range(start, stop):
            i = order[t] if order.shape[0] > 0 else t
            p, first, second, finite = look_at(rows, i, W, lanes)
            sentinel += finite
            probability, asked = decide(way.asking, counts, p, t)
            if records:
                trace[t, 0] = p
                trace[t, 1] = 0.0 if asked else np.nan
                trace[t, 2] = probability
            if not asked:
                continue
            mistake, demand = demand_of(rule, y[i], p, first, second, lanes)
            counts[N_MISTAKES] += mistake
            if records:
                trace[t, 3] = mistake
            if b is not None:
                suffered += demand.goal * loss_of(rule, demand.target, demand.p)
                m = put_constraints(rule, b, m, i, t, C[i], demand)
                continue
            moved = capped = False
            sqnorm = -1.0  # not known
            for k in range(n_problems):
                if one_vs_rest is not None:
                    demand = Demand(lanes[4, k], 1.0 if k == np.int64(y[i]) else -1.0, 1.0, k, -1)
                loss = demand.goal * loss_of(rule, demand.target, demand.p)
                if loss == 0.0:
                    continue
                losses += loss
                if sqnorm < 0.0:
                    sqnorm = movers * product(rows, i, i)
                tau = step(rule.variant, loss, sqnorm, C[i])
                sentinel += tau * np.sqrt(sqnorm)
                if tau == 0.0:
                    if sqnorm < TINY and not is_zero(rows, i):
                        sentinel = np.nan
                    continue
                moved = True
                capped |= is_capped(loss - tau * sqnorm, loss)
                if records and (one_vs_rest is None or demand.target > 0.0):
                    trace[t, 1] = tau
                move = tau * direction(demand.target, demand.p)
                late = move_weights(rows, i, state, drift, before, move, demand.right, demand.wrong)
                sentinel += late * np.sqrt(sqnorm)
            counts[N_UPDATES] += moved
            counts[N_CAPPED] += capped
        if b is not None:
            losses += suffered
            if suffered > 0.0:
                sentinel += take_step(rows, rule, state, trace, m, before, lanes, b)
    return sentinel, losses


@njit(**INNER, forceinline=True)
def look_at(rows, i, W, lanes):
    """Score a row: what the query rules look at, the two best classes, and 0, or NaN if a score is not finite."""
    if W.ndim == 1:
        p = score(rows, i, W)
        return p, 0, 0, p - p
    score_classes(rows, i, W, lanes)
    first, second, finite = best_two(lanes[4])
    return lanes[4, first] - lanes[4, second], first, second, finite


@njit(**INNER, forceinline=True)
def demand_of(rule, y, p, first, second, lanes):
    """Return whether the prediction is wrong, and what the row asks for."""
    right, wrong, goal = 0, -1, 1.0
    if lanes is None:
        if rule.goals.shape[0] > 0:
            goal = rule.goals[np.int64(y > 0.0), np.int64(y <= 0.0)]
        return is_mistake(rule, y, p), Demand(p / goal, y, goal, right, wrong)
    right = np.int64(y)
    wrong = second if first == right else first
    if rule.goals.shape[0] > 0:  # the class that falls short most (Crammer et al., section 8, max-loss)
        for k in range(lanes.shape[1]):
            lanes[0, k] = lanes[4, k] + rule.goals[right, k]
        wrong = best_but(lanes[0], right)
        goal = rule.goals[right, wrong]
    return first != right, Demand((lanes[4, right] - lanes[4, wrong]) / goal, 1.0, goal, right, wrong)


@njit(**INNER, forceinline=True)
def move_weights(rows, i, state, drift, before, move, right, wrong):
    """Move the weights along a row, and ``drift`` where there is one; returns by how much that moves.

    With several classes the weights of ``right`` move, and against them those of ``wrong`` unless that is -1.
    """
    add_to_classes(rows, i, move, state.weights, right, wrong)
    if drift is None:
        return 0.0
    late = move * entry(before, state.fading)
    add_to_classes(rows, i, late, drift, right, wrong)
    return abs(late)


@njit(**INNER, forceinline=True)
def add_to_classes(rows, i, scale, W, right, wrong):
    """Add a row to the only column, or to that of ``right``, and take it from that of ``wrong`` unless that is -1."""
    if W.ndim == 1:
        add(rows, i, scale, W)
    else:
        add(rows, i, scale, W[:, right])
        if wrong >= 0:
            add(rows, i, -scale, W[:, wrong])


# ---------------------------------------------------------------- mini-batches


@njit(**INNER)
def put_constraints(rule, b, m, i, t, C, demand):
    """Put the constraints of a row behind the ``m`` that are there; returns how many there are now."""
    for wall in range(b.walls):
        c = b.c[m + wall]
        c.row = i
        c.when = t
        c.right = demand.right
        c.wrong = demand.wrong
        c.price = C
        c.side = demand.target
        c.loss = demand.goal * (1.0 - demand.target * demand.p)
        if rule.regression:
            c.side = 1.0 - 2.0 * wall
            c.loss = c.side * (demand.target - demand.p) - rule.epsilon
    return m + b.walls


@njit(**INLINED)
def take_step(rows, rule, state, trace, m, before, lanes, b):
    """Solve the problem of ``m`` constraints and move the weights; returns a number that is finite if all went well."""
    sentinel = fill_gram(rows, m, b, lanes)
    solve_batch(b, rule.variant, m)
    for k in range(m):
        one = b.c[k]
        if one.tau == 0.0:
            continue
        note_step(b, m, k, state.counts, trace)
        move = one.side * one.tau
        late = move_weights(rows, one.row, state, state.drift, before, move, one.right, one.wrong)
        sentinel += max(abs(move), late) * np.sqrt(b.A[k, k])
    return sentinel


@njit(**INLINED)
def note_step(b, m, k, counts, trace):
    """Count the step along constraint ``k`` as an update, and as capped if C shortened it; put it on record.

    An example counts once, also if both walls of its tube push.
    """
    one, left = b.c[k], b.c[k].loss
    other_wall = b.c[k - 1].tau if k > 0 and b.c[k - 1].when == one.when else 0.0
    counts[N_UPDATES] += other_wall == 0.0
    for l in range(m):
        left -= b.A[k, l] * b.c[l].tau
    counts[N_CAPPED] += is_capped(left, one.loss)
    if trace.shape[0] > 0:
        trace[one.when, 1] = one.tau if other_wall == 0.0 else abs(one.tau - other_wall)


@njit(**INNER)
def fill_gram(rows, m, b, lanes):
    """Inner products of the directions of ``m`` constraints into ``A``; returns 0, or NaN if a squared norm is lost."""
    finite = 0.0
    for k in range(m):
        i, side = b.c[k].row, b.c[k].side
        for l in range(k + 1):
            both = side * b.c[l].side
            if lanes is not None:
                both = (1.0 * (b.c[k].right == b.c[l].right) + 1.0 * (b.c[k].wrong == b.c[l].wrong)
                        - 1.0 * (b.c[k].right == b.c[l].wrong) - 1.0 * (b.c[k].wrong == b.c[l].right))  # fmt: skip
            value = 0.0
            if both != 0.0:
                value = both * product(rows, i, b.c[l].row)
            b.A[k, l] = b.A[l, k] = value
        finite += b.A[k, k] - b.A[k, k]
        if b.A[k, k] < TINY and not is_zero(rows, i):
            finite = np.nan
    return finite


# ---------------------------------------------------------------- scores of new rows


def score_rows(rows, n, W):
    """Return scores of ``n`` rows, an array of shape (n, n_classes), summed as in the passes."""
    W, lanes = as_loops_take(np.ascontiguousarray(W))
    scores = np.empty((n, 1 if lanes is None else W.shape[1]))
    for part in slices(rows, n, scores.shape[1]):
        fill_scores(rows, W, lanes, scores, part)
    return scores


@njit(**COMPILED, nogil=True)
def fill_scores(rows, W, lanes, out, part):
    """Put the scores of a part of the rows into ``out``, as `score_rows` returns them."""
    for i in range(part[0], part[1]):
        if W.ndim == 1:
            out[i, 0] = score(rows, i, W)
        else:
            score_classes(rows, i, W, lanes)
            for k in range(W.shape[1]):
                out[i, k] = lanes[4, k]
