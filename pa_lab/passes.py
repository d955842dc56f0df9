"""One pass over the rows of a stream, compiled: two classes and regression, many classes, mini-batches.

The three passes stand side by side and do the same for each example: score it, decide whether to ask for its label,
measure the loss, take the step (Crammer et al., 2006, Figure 1). They change a `State` in place.

Glossary: ``w`` or ``W`` weights, feature by feature, the intercept last; ``drift`` what lazy averaging needs; ``p``
score; ``tau`` step size; ``C`` aggressiveness of each row; ``size`` the sum of the norms of all moves, finite exactly
if every number that took part was.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pa_lab.batch import (
    LOSS,
    PRICE,
    RIGHT,
    ROW,
    SIDE,
    STEP,
    TAU,
    WHEN,
    WRONG,
    make_batch,
    solve_equations,
    solve_inequalities,
)
from pa_lab.compiled import INNER
from pa_lab.queries import ALL, N_MISTAKES, N_QUERIES, N_SEEN, N_UPDATES, query_probability
from pa_lab.rows import add, best_two, is_zero, product, score, score_classes, slices, squared_norm, take
from pa_lab.rules import direction, is_equation, is_mistake, loss_of, n_walls, step

NO_TRACE = np.empty((0, 2))
IN_ORDER = np.empty(0, dtype=np.int64)  # the rows as they stand; None would have each pass compiled twice


class State(NamedTuple):
    """What a pass changes in place.

    ``weights`` and ``drift`` have the shape (n_features + 1, n_classes), one column for two classes and regression;
    ``drift`` has no columns unless weights are averaged. ``counts`` are indexed by ``N_SEEN`` and so on.
    """

    weights: np.ndarray
    drift: np.ndarray
    counts: np.ndarray


def run(rows, y, order, C, rule, asking, state, trace=NO_TRACE, batch_size=1, one_vs_rest=False):
    """Make one pass over the rows, in the given order (empty: as they stand), in slices: Ctrl-C can stop it in between.

    ``y`` holds -1.0 and 1.0, class indices, or regression targets; ``C`` the aggressiveness of each row. Labels not
    asked for are not read. A ``trace`` with a row per example of the pass records the score before the update and
    tau, which is NaN if the label was not asked for.

    Returns ``(size, loss)``: a number that is finite exactly if all went well, and the sum of the losses.
    """
    n, n_outputs = len(order) or len(y), state.weights.shape[1]
    if batch_size > 1:
        batch_size = min(batch_size, max(n, 2))
        learn, options = learn_batches, (batch_size,)
    elif n_outputs == 1:
        learn, options = learn_two, ()
    else:
        learn, options = learn_one_vs_rest if one_vs_rest else learn_multiclass, ()
    parts = slices(rows, n, n_outputs * batch_size, batch_size)
    if len(parts) == 1:
        return learn(rows, y, order, C, rule, asking, state, trace, *options)
    sums = np.zeros(2)
    for part in parts:
        some = asking._replace(draws=asking.draws[part])
        if len(order):
            sums += learn(rows, y, order[part], C, rule, some, state, trace[part], *options)
        else:
            sums += learn(take(rows, part), y[part], order, C[part], rule, some, state, trace[part], *options)
    return sums


@njit(cache=True, error_model="numpy", nogil=True)
def learn_two(rows, y, order, C, rule, asking, state, trace):
    """One pass of two-class PA (``y`` in {-1, +1}) or of PA regression; see `run`."""
    data, indices, indptr, base, norm_one, step_one = rows
    query, draws, delta, rate, budget = asking
    counts = state.counts
    w, drift = state.weights.ravel(), state.drift.ravel()
    size = losses = 0.0
    for t in range(order.shape[0] if order.shape[0] > 0 else y.shape[0]):
        i = order[t] if order.shape[0] > 0 else t
        p = score(data, indices, indptr, base, i, w)
        size += p - p
        if trace.shape[0] > 0:
            trace[t, 0] = p
            trace[t, 1] = np.nan
        counts[N_SEEN] += 1
        # Asking stands in each of the passes: as a function of its own, even inlined, it slows this one by a tenth.
        if counts[N_QUERIES] >= budget:
            continue
        if query != ALL and draws[t] >= query_probability(query, p, delta, rate):
            continue
        counts[N_QUERIES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = 0.0
        target = y[i]
        loss = loss_of(rule, target, p)
        if loss == 0.0:
            continue
        losses += loss
        counts[N_MISTAKES] += is_mistake(rule, target, p)
        sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
        tau = step(rule.variant, loss, sqnorm, C[i])
        size += tau * np.sqrt(sqnorm)
        if tau == 0.0:
            if sqnorm == 0.0 and not is_zero(data, indptr, base, i):
                size = np.nan
            continue
        counts[N_UPDATES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = tau
        move = tau * direction(rule, target, p)
        add(data, indices, indptr, base, i, step_one, move, w)
        if drift.shape[0] > 0:
            late = move * (counts[N_SEEN] - 1)
            size += abs(late) * np.sqrt(sqnorm)
            add(data, indices, indptr, base, i, step_one, late, drift)
    return size, losses


@njit(cache=True, error_model="numpy", nogil=True)
def learn_multiclass(rows, y, order, C, rule, asking, state, trace):
    """One pass of multiclass PA; ``y`` holds class indices; see `run` (Crammer et al., section 7).

    The right class is set against the highest-scoring wrong one; both move, so the squared norm counts twice.
    """
    data, indices, indptr, base, norm_one, step_one = rows
    query, draws, delta, rate, budget = asking
    W, drift, counts = state
    lanes = np.empty((5, W.shape[1]))
    scores = lanes[4]
    size = losses = 0.0
    for t in range(order.shape[0] if order.shape[0] > 0 else y.shape[0]):
        i = order[t] if order.shape[0] > 0 else t
        score_classes(data, indices, indptr, base, i, W, lanes)
        first, second, finite = best_two(scores)
        size += finite
        p = scores[first] - scores[second]
        if trace.shape[0] > 0:
            trace[t, 0] = p
            trace[t, 1] = np.nan
        counts[N_SEEN] += 1
        if counts[N_QUERIES] >= budget:
            continue
        if query != ALL and draws[t] >= query_probability(query, p, delta, rate):
            continue
        counts[N_QUERIES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = 0.0
        right = int(y[i])
        wrong = second if first == right else first
        margin = scores[right] - scores[wrong]
        loss = loss_of(rule, 1.0, margin)
        if loss == 0.0:
            continue
        losses += loss
        counts[N_MISTAKES] += first != right
        sqnorm = 2.0 * squared_norm(data, indices, indptr, base, i, norm_one)
        tau = step(rule.variant, loss, sqnorm, C[i])
        size += tau * np.sqrt(sqnorm)
        if tau == 0.0:
            if sqnorm == 0.0 and not is_zero(data, indptr, base, i):
                size = np.nan
            continue
        counts[N_UPDATES] += 1
        if trace.shape[0] > 0:
            trace[t, 1] = tau
        move = tau * direction(rule, 1.0, margin)
        add(data, indices, indptr, base, i, step_one, move, W[:, right])
        add(data, indices, indptr, base, i, step_one, -move, W[:, wrong])
        if drift.shape[1] > 0:
            late = move * (counts[N_SEEN] - 1)
            size += abs(late) * np.sqrt(sqnorm)
            add(data, indices, indptr, base, i, step_one, late, drift[:, right])
            add(data, indices, indptr, base, i, step_one, -late, drift[:, wrong])
    return size, losses


@njit(cache=True, error_model="numpy", nogil=True)
def learn_one_vs_rest(rows, y, order, C, rule, asking, state, trace):
    """One pass of as many two-class learners as there are classes, each against the rest; see `run`.

    An example counts as an update if it moved the weights of any class, and its ``tau`` on record is that of its own.
    """
    data, indices, indptr, base, norm_one, step_one = rows
    query, draws, delta, rate, budget = asking
    W, drift, counts = state
    lanes = np.empty((5, W.shape[1]))
    scores = lanes[4]
    size = losses = 0.0
    for t in range(order.shape[0] if order.shape[0] > 0 else y.shape[0]):
        i = order[t] if order.shape[0] > 0 else t
        score_classes(data, indices, indptr, base, i, W, lanes)
        first, second, finite = best_two(scores)
        size += finite
        p = scores[first] - scores[second]
        if trace.shape[0] > 0:
            trace[t, 0] = p
            trace[t, 1] = np.nan
        counts[N_SEEN] += 1
        if counts[N_QUERIES] >= budget:
            continue
        if query != ALL and draws[t] >= query_probability(query, p, delta, rate):
            continue
        counts[N_QUERIES] += 1
        right = int(y[i])
        counts[N_MISTAKES] += first != right
        if trace.shape[0] > 0:
            trace[t, 1] = 0.0
        sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
        moved = False
        for k in range(W.shape[1]):
            side = 1.0 if k == right else -1.0
            loss = loss_of(rule, side, scores[k])
            losses += loss
            tau = step(rule.variant, loss, sqnorm, C[i])
            size += tau * np.sqrt(sqnorm)
            if loss > 0.0 and sqnorm == 0.0 and not is_zero(data, indptr, base, i):
                size = np.nan
            if tau == 0.0:
                continue
            moved = True
            if trace.shape[0] > 0 and side > 0.0:
                trace[t, 1] = tau
            move = tau * direction(rule, side, scores[k])
            add(data, indices, indptr, base, i, step_one, move, W[:, k])
            if drift.shape[1] > 0:
                late = move * (counts[N_SEEN] - 1)
                size += abs(late) * np.sqrt(sqnorm)
                add(data, indices, indptr, base, i, step_one, late, drift[:, k])
        counts[N_UPDATES] += moved
    return size, losses


# ---------------------------------------------------------------- mini-batches


def learn_batches(rows, y, order, C, rule, asking, state, trace, batch_size):
    """One pass over groups of ``batch_size`` rows, the last maybe shorter; see `run`.

    A group's scores, queries and mistakes come from the weights before its update. Only the examples asked for enter
    the problem. Two classes give the constraint with ``side = y``; more have the right class and the highest-scoring
    wrong one; regression with a tube has two constraints, one for each wall.
    """
    n, n_classes = len(order) or len(y), state.weights.shape[1]
    batch = make_batch(min(batch_size, max(1, n)) * n_walls(rule))
    lanes = np.empty((5, n_classes)) if n_classes > 1 else None
    equations = True if is_equation(rule.variant) else None
    return learn_groups(
        rows, y, order, C, rule, asking, state, trace, batch_size, n_walls(rule), batch, lanes, equations
    )


@njit(cache=True, error_model="numpy", nogil=True)
def learn_groups(rows, y, order, C, rule, asking, state, trace, batch_size, walls, batch, lanes, equations):
    """`learn_batches` with memory to write on.

    Two classes and regression have no ``lanes``, inequalities are no ``equations``. Then these are None, and the
    compiler drops what they stand for.
    """
    data, indices, indptr, base, _, _ = rows
    query, draws, delta, rate, budget = asking
    W, _, counts = state
    _, _, x, s = batch
    w = W.ravel()  # the only column, of two classes and of regression
    n = order.shape[0] if order.shape[0] > 0 else y.shape[0]
    size = losses = 0.0
    for start in range(0, n, batch_size):
        before, suffered, m = counts[N_SEEN], 0.0, np.int64(0)
        for t in range(start, min(start + batch_size, n)):
            i = order[t] if order.shape[0] > 0 else t
            if lanes is None:
                p = score(data, indices, indptr, base, i, w)
                size += p - p
            else:
                score_classes(data, indices, indptr, base, i, W, lanes)
                first, second, finite = best_two(lanes[4])
                size += finite
                p = lanes[4, first] - lanes[4, second]
            if trace.shape[0] > 0:
                trace[t, 0] = p
                trace[t, 1] = np.nan
            counts[N_SEEN] += 1
            if counts[N_QUERIES] >= budget:
                continue
            if query != ALL and draws[t] >= query_probability(query, p, delta, rate):
                continue
            counts[N_QUERIES] += 1
            if trace.shape[0] > 0:
                trace[t, 1] = 0.0
            if lanes is None:
                target = y[i]
                counts[N_MISTAKES] += is_mistake(rule, target, p)
            else:
                right, target = int(y[i]), 1.0
                wrong = second if first == right else first
                p = lanes[4, right] - lanes[4, wrong]
                counts[N_MISTAKES] += first != right
                s[RIGHT, m], s[WRONG, m] = right, wrong
            suffered += loss_of(rule, target, p)
            for wall in range(walls):
                s[ROW, m], s[WHEN, m], x[PRICE, m] = i, t, C[i]
                x[SIDE, m], x[LOSS, m] = target, 1.0 - target * p
                if rule.regression:
                    x[SIDE, m] = 1.0 - 2.0 * wall
                    x[LOSS, m] = x[SIDE, m] * (target - p) - rule.epsilon
                m += 1
        if suffered > 0.0:
            losses += suffered
            size += take_step(rows, rule, state, trace, m, batch, before, lanes, equations)
    return size, losses


@njit(**INNER)
def take_step(rows, rule, state, trace, m, batch, before, lanes, equations):
    """Solve the problem of ``m`` constraints and move the weights; returns a number that is finite if all went well."""
    A, L, x, s = batch
    size = fill_gram(rows, m, A, x, s, lanes)
    if equations is None:
        solve_inequalities(rule.variant, m, A, L, x, s)
    else:
        solve_equations(rule.variant, m, A, L, x, s)
    return size + apply(rows, state, trace, m, A, x, s, before, lanes)


@njit(**INNER)
def fill_gram(rows, m, A, x, s, lanes):
    """Inner products of the directions of ``m`` constraints into ``A``; returns 0, or NaN if a squared norm is lost."""
    data, indices, indptr, base, norm_one, _ = rows
    finite = 0.0
    for k in range(m):
        i = s[ROW, k]
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
        if A[k, k] == 0.0 and not is_zero(data, indptr, base, i):
            finite = np.nan
    return finite


@njit(**INNER)
def apply(rows, state, trace, m, A, x, s, before, lanes):
    """Move the weights by the solved steps; returns the sum of the norms of the moves."""
    data, indices, indptr, base, _, step_one = rows
    W, drift, counts = state
    w, v = W.ravel(), drift.ravel()
    size = 0.0
    for k in range(m):
        i, t, tau = s[ROW, k], s[WHEN, k], x[TAU, k]
        if tau == 0.0:
            continue
        other = x[TAU, k - 1] if k > 0 and s[WHEN, k - 1] == t else 0.0  # the same example's other wall
        counts[N_UPDATES] += other == 0.0
        if trace.shape[0] > 0:
            trace[t, 1] = tau if other == 0.0 else abs(tau - other)
        step = x[STEP, k]
        size += abs(step * max(1, before if drift.shape[1] > 0 else 1)) * np.sqrt(A[k, k])
        move = x[SIDE, k] * step
        if lanes is None:
            add(data, indices, indptr, base, i, step_one, move, w)
            if drift.shape[1] > 0:
                add(data, indices, indptr, base, i, step_one, move * before, v)
        else:
            for sign, column in ((1.0, s[RIGHT, k]), (-1.0, s[WRONG, k])):
                add(data, indices, indptr, base, i, step_one, sign * move, W[:, column])
                if drift.shape[1] > 0:
                    add(data, indices, indptr, base, i, step_one, sign * move * before, drift[:, column])
    return size


# ---------------------------------------------------------------- scores of new rows


@njit(cache=True, error_model="numpy", nogil=True)
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
            out[i] = lanes[4]
