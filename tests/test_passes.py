"""What a pass returns, counts and records, against the plain loop."""

import numpy as np
import pytest

from oracles import VARIANTS
from pa_lab.passes import IN_ORDER, Examples, State, Way, run
from pa_lab.plain import step
from pa_lab.queries import ASK_ALL, N_COUNTERS, N_MISTAKES, N_QUERIES, N_SEEN, N_UPDATES
from pa_lab.rows import make_rows
from pa_lab.rules import make_rule

N, C, EPSILON = 80, 0.3, 0.1


def directions(task, y, scores):
    """Yield the scores that an example has to raise, as sums of outputs: weights of the outputs, and their goal."""
    others = [k for k in range(3) if k != y]
    if task == "numbers":
        yield np.array([1.0 if y > scores[0] else -1.0]), (y if y > scores[0] else -y)
    elif task == "two":
        yield np.array([y]), 1.0
    elif task == "many":
        wrong = max(others, key=lambda k: scores[k])
        yield np.eye(3)[int(y)] - np.eye(3)[wrong], 1.0
    else:
        for k in range(3):
            yield np.eye(3)[k] * (1.0 if k == y else -1.0), 1.0


def plain_pass(task, variant, Z, y, asked):
    """The pass by its definition: weights, counters, sum of the losses, and the trace."""
    W = np.zeros((3 if task in ("many", "rest") else 1, Z.shape[1]))
    mistakes = updates = total = 0
    trace = np.full((N, 2), np.nan)
    for t in range(N):
        scores, steps = W @ Z[t], []
        best = np.sort(scores)[::-1]
        trace[t, 0] = best[0] - best[1] if len(W) > 1 else scores[0]
        if not asked[t]:
            continue
        tube = EPSILON if task == "numbers" and variant != "PALS" else 0.0
        for side, goal in directions(task, y[t], scores):
            residual = goal - side @ scores - tube
            total += abs(residual) if variant == "PALS" else max(0.0, residual)
            steps.append((side, step(residual, (side @ side) * (Z[t] @ Z[t]), C, variant)))
        if task == "numbers":
            mistakes += residual > 0
        else:
            mistakes += (scores.argmax() != y[t]) if len(W) > 1 else (scores[0] > 0) != (y[t] > 0)
        updates += any(tau != 0 for _, tau in steps)
        trace[t, 1] = abs(steps[int(y[t])][1] if task == "rest" else steps[0][1])
        W = W + sum(tau * np.outer(side, Z[t]) for side, tau in steps)
    counts = {N_SEEN: N, N_QUERIES: sum(asked), N_MISTAKES: mistakes, N_UPDATES: updates}
    return W.T, counts, total, trace


@pytest.mark.parametrize("budget, some", [(N, False), (30, False), (N, True)])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", ["two", "numbers", "many", "rest"])
def test_a_pass_returns_counts_and_records_what_the_plain_loop_does(task, variant, budget, some):
    """All rows as they stand, within a budget of labels or not, or some of more rows in another order."""
    rng = np.random.default_rng(1)
    n = 2 * N if some else N
    order = rng.permutation(n)[:N] if some else IN_ORDER
    X = rng.normal(size=(n, 4))
    y = {"two": rng.choice([-1.0, 1.0], n), "numbers": rng.normal(size=n)}.get(task, rng.integers(0, 3, n) * 1.0)
    seen = order if some else np.arange(N)
    W, counts, total, record = plain_pass(task, variant, np.c_[X, np.ones(n)][seen], y[seen], np.arange(N) < budget)
    state, trace = State(np.zeros(W.shape), np.empty((5, 0)), np.zeros(N_COUNTERS, np.int64)), np.zeros((N, 4))
    rule, asking = make_rule(variant, EPSILON if task == "numbers" else None), ASK_ALL._replace(budget=budget)
    examples, way = Examples(y, np.full(n, C), order, trace), Way(rule, asking, one_vs_rest=task == "rest")
    size, losses = run(make_rows(X, 1.0), examples, way, state)
    assert np.isfinite(size) and losses == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(state.weights, W, atol=1e-10)
    np.testing.assert_allclose(trace[:, :2], record, atol=1e-10)
    assert {place: state.counts[place] for place in counts} == counts


each_task = pytest.mark.parametrize("task", ["two", "numbers", "many", "rest"])


def small_pass(task, X, y, order, C):
    """PA-I over ``X`` without intercept: the state, the trace and the size it returns."""
    W = np.zeros((X.shape[1] + 1, 3 if task in ("many", "rest") else 1))
    state = State(W, np.empty((len(W), 0)), np.zeros(N_COUNTERS, np.int64))
    trace = np.zeros((len(order) or len(y), 4))
    rule = make_rule("PA-I", 0.0 if task == "numbers" else None)
    size, _ = run(make_rows(X, 0.0), Examples(y, C, order, trace), Way(rule, ASK_ALL, 1, task == "rest"), state)
    return state, trace, size


@each_task
def test_a_pass_over_one_row(task):
    X, y = np.diag([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 1.0, -1.0, 1.0] if task == "two" else [1.0, 1.0, 2.0, 1.0])
    state, trace, _ = small_pass(task, X, y, np.array([2]), np.full(4, 0.3))
    moved = np.flatnonzero(state.weights.any(axis=1))
    assert moved.tolist() == [2] and trace[0, 1] > 0.0 and state.counts[N_SEEN] == state.counts[N_UPDATES] == 1


@each_task
def test_a_row_without_weight_moves_nothing_and_overflows_nothing(task):
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, -1.0] if task == "two" else [1.0, 2.0])
    state, trace, size = small_pass(task, X, y, IN_ORDER, np.zeros(2))
    assert size == 0.0 and not state.weights.any() and not trace[:, 1].any() and state.counts[N_UPDATES] == 0
