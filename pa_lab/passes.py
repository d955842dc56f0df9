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

from pa_lab.batch import make_workspace, solve
from pa_lab.queries import ALL, N_MISTAKES, N_QUERIES, N_SEEN, N_UPDATES, query_probability
from pa_lab.rows import add, best_two, is_zero, product, score, score_classes, slices, squared_norm, take
from pa_lab.rules import direction, is_mistake, loss_of, n_walls, step

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


class Batch(NamedTuple):
    """The constraints of one mini-batch: ``side (W[right] - W[wrong]) . x_when >= ...``, ``wrong`` < 0 for none."""

    when: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    side: np.ndarray
    loss: np.ndarray
    C: np.ndarray
    tau: np.ndarray
    lanes: np.ndarray


@njit(cache=True, error_model="numpy")
def make_batch(n, n_classes):
    """Memory for a batch of at most ``n`` constraints."""
    return Batch(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((5, n_classes)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True)
def learn_batches(rows, y, order, C, rule, asking, state, trace, batch_size):
    """One pass over groups of ``batch_size`` rows, the last maybe shorter; see `run`.

    A group's scores, queries and mistakes come from the weights before its update. Only the examples asked for enter
    the problem. Two classes give the constraint with ``side = y``; more have the right class and the highest-scoring
    wrong one; regression with a tube has two constraints, one for each wall.
    """
    n = order.shape[0] if order.shape[0] > 0 else y.shape[0]
    most = min(batch_size, max(1, n)) * n_walls(rule)
    batch, A, work = make_batch(most, state.weights.shape[1]), np.zeros((most, most)), make_workspace(most)
    size = losses = 0.0
    for start in range(0, n, batch_size):
        before = state.counts[N_SEEN]
        stop = min(start + batch_size, n)
        m, finite, loss = gather(rows, y, order, C, rule, asking, state, trace, batch, start, stop)
        size += finite
        losses += loss
        if loss > 0.0:
            fill_gram(rows, order, batch, m, A)
            solve(rule.variant, m, A, batch.loss, batch.C, batch.tau, work)
            size += apply(rows, order, state, trace, batch, m, A, before)
    return size, losses


@njit(cache=True, forceinline=True, error_model="numpy")
def gather(rows, y, order, C, rule, asking, state, trace, batch, start, stop):
    """Score a group, ask for labels and collect its constraints: their number, a finiteness check, the losses' sum."""
    data, indices, indptr, base, norm_one, _ = rows
    query, draws, delta, rate, budget = asking
    W, _, counts = state
    w, n_classes = W.ravel(), W.shape[1]
    lanes, walls = batch.lanes, n_walls(rule)
    scores = lanes[4]
    m, finite, losses = np.int64(0), 0.0, 0.0  # a plain 0 would have all that is called with it compiled once more
    for t in range(start, stop):
        i = order[t] if order.shape[0] > 0 else t
        first = second = 0
        if n_classes > 1:
            score_classes(data, indices, indptr, base, i, W, lanes)
            first, second, total = best_two(scores)
            finite += total
            p = scores[first] - scores[second]
        else:
            p = score(data, indices, indptr, base, i, w)
            finite += p - p
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
        target, margin = y[i], p
        if n_classes > 1:
            right = int(target)
            wrong = second if first == right else first
            target, margin = 1.0, scores[right] - scores[wrong]
            counts[N_MISTAKES] += first != right
        else:
            right, wrong = 0, -1
            counts[N_MISTAKES] += is_mistake(rule, target, p)
        loss = loss_of(rule, target, margin)
        if loss > 0.0:
            losses += loss
            sqnorm = squared_norm(data, indices, indptr, base, i, norm_one)
            finite += sqnorm - sqnorm
            if sqnorm == 0.0 and not is_zero(data, indptr, base, i):
                finite = np.nan
        for wall in range(walls):
            batch.when[m], batch.right[m], batch.wrong[m], batch.C[m] = t, right, wrong, C[i]
            if rule.regression:
                batch.side[m] = 1.0 - 2.0 * wall
                batch.loss[m] = batch.side[m] * (target - p) - rule.epsilon
            else:
                batch.side[m] = 1.0 if n_classes > 1 else target
                batch.loss[m] = 1.0 - target * margin
            m += 1
    return m, finite, losses


@njit(cache=True, forceinline=True, error_model="numpy")
def fill_gram(rows, order, batch, m, A):
    """Inner products of the directions of ``m`` constraints into ``A``."""
    data, indices, indptr, base, norm_one, _ = rows
    when, right, wrong, side = batch.when, batch.right, batch.wrong, batch.side
    for k in range(m):
        i = order[when[k]] if order.shape[0] > 0 else when[k]
        for l in range(k + 1):
            j = order[when[l]] if order.shape[0] > 0 else when[l]
            both = side[k] * side[l]
            if wrong[k] >= 0:
                both = float((right[k] == right[l]) + (wrong[k] == wrong[l])
                             - (right[k] == wrong[l]) - (wrong[k] == right[l]))  # fmt: skip
            A[k, l] = A[l, k] = both * product(data, indices, indptr, base, i, j, norm_one) if both != 0.0 else 0.0


@njit(cache=True, forceinline=True, error_model="numpy")
def apply(rows, order, state, trace, batch, m, A, before):
    """Move the weights by the solved steps; returns the sum of the norms of the moves."""
    data, indices, indptr, base, _, step_one = rows
    W, drift, counts = state
    w, v = W.ravel(), drift.ravel()  # the only column, of two classes and of regression
    size = 0.0
    for k in range(m):
        t, tau = batch.when[k], batch.tau[k]
        if tau == 0.0:
            continue
        i = order[t] if order.shape[0] > 0 else t
        other = batch.tau[k - 1] if k > 0 and batch.when[k - 1] == t else 0.0  # the same example's other wall
        counts[N_UPDATES] += other == 0.0
        if trace.shape[0] > 0:
            trace[t, 1] = tau if other == 0.0 else abs(tau - other)
        size += abs(tau * max(1, before if drift.shape[1] > 0 else 1)) * np.sqrt(A[k, k])
        move = batch.side[k] * tau
        if W.shape[1] == 1:
            add(data, indices, indptr, base, i, step_one, move, w)
            if drift.shape[1] > 0:
                add(data, indices, indptr, base, i, step_one, move * before, v)
            continue
        for sign, column in ((1.0, batch.right[k]), (-1.0, batch.wrong[k])):
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
