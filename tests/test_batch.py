"""Mini-batches: the dual against a QP solver, closed forms and KKT conditions; the passes against plain loops."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

import oracles
from pa_lab import PAClassifier, PARegressor, passes
from pa_lab.batch import make_batch, solve_batch
from pa_lab.passes import IN_ORDER, Examples, State, Way
from pa_lab.queries import ASK_ALL, N_COUNTERS, N_UPDATES
from pa_lab.rows import GramRows, make_rows
from pa_lab.rules import PA1, PA2, PALS, VARIANTS, make_rule, n_walls, step

DUALS = {"PA-I": PA1, "PA-II": PA2}
BATCHED = ("PA-I", "PA-II", "PALS")
RNG = np.random.default_rng(0)


def solve(variant, A, loss, C):
    """``tau`` and the relative gap of one problem: ``A`` of shape (n, n), losses, prices; as the passes solve it."""
    b = make_batch(len(loss))
    b.A[:], b.c.loss, b.c.price = A, loss, C
    gap = solve_batch(b, variant, len(loss))
    return b.c.tau, gap


def ask(variant, A, loss, C):
    """`solve` by name: (tau, relative gap)."""
    return solve(VARIANTS.index(variant), A, loss, C)


def quadratic(variant, A, C):
    return A + np.diag(0.5 / C) if variant != "PA-I" else A


def dual(H, loss, tau):
    return loss @ tau - 0.5 * tau @ H @ tau


@st.composite
def problems(draw, most=64):
    """Gram matrix with signs, losses and C of a batch: duplicated rows, of either label, and zero rows included."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 30))
    X = rng.standard_normal((n, d)) * 10 ** draw(st.floats(-1, 1))
    twins = rng.random(n) < draw(st.sampled_from([0.0, 0.3]))
    X[twins] = X[rng.integers(0, n, twins.sum())]
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    y = rng.choice([-1.0, 1.0], n)
    A = (X @ X.T + draw(st.sampled_from([0.0, 1.0]))) * np.outer(y, y)
    loss = 1 - rng.standard_normal(n) * 10 ** draw(st.floats(-2, 1))
    C = 10 ** draw(st.floats(-4, 2)) * np.where(y > 0, draw(st.sampled_from([1.0, 7.0])), 1.0)
    return (A + A.T) / 2, loss, C


@pytest.mark.parametrize("variant", VARIANTS)
@given(problems(most=1))
@settings(max_examples=100, deadline=None)
def test_one_example_has_the_closed_form(variant, problem):
    A, loss, C = problem
    tau, _ = ask(variant, A, loss, C)
    suffered = abs(loss[0]) if variant == "PALS" else max(0.0, loss[0])
    expected = step(VARIANTS.index(variant), suffered, A[0, 0], C[0])
    assert abs(tau[0]) == pytest.approx(expected, rel=1e-12, abs=0)
    assert tau[0] * loss[0] >= 0


@pytest.mark.parametrize("variant", DUALS)
@given(problems())
@settings(max_examples=300, deadline=None)
def test_duality_gap(variant, problem):
    """Primal minus dual, worked out here: 1e-10 of the dual, or what rounding the losses costs at the price C."""
    A, loss, C = problem
    tau, claimed = ask(variant, A, loss, C)
    keep = np.diag(A) > 0
    assert (tau >= 0).all() and (variant == "PA-II" or (tau <= C).all()) and not tau[~keep].any()
    A, loss, C, tau = A[np.ix_(keep, keep)], loss[keep], C[keep], tau[keep]
    slack = np.maximum(0, loss - A @ tau)
    price = C @ slack if variant == "PA-I" else C @ slack**2
    reached = 0.5 * tau @ A @ tau + price - dual(quadratic(variant, A, C), loss, tau)
    rounding = 2.3e-16 * C @ (np.abs(loss) + np.abs(A) @ tau) * (1 if variant == "PA-I" else 1 + slack.max(initial=0))
    best = max(0.0, dual(quadratic(variant, A, C), loss, tau))
    assert reached <= 1e-10 * best + rounding + 1e-14 * (tau @ np.abs(A) @ tau + np.abs(loss) @ tau + price)
    assert claimed * best <= 1e-10 * best + rounding


@given(problems(most=20), st.sampled_from([1.0, 1e30]))
@settings(max_examples=200, deadline=None)
def test_least_squares_is_the_pseudo_inverse(problem, factor):
    """Weighted by the prices, as of two rows that contradict each other the dearer one counts more."""
    A, loss, C = problem
    keep = np.diag(A) > 0
    tau, _ = solve(PALS, A, loss, C * factor)
    S = np.diag(np.sqrt(C / C.max()))[np.ix_(keep, keep)]
    H = S @ quadratic("PALS", A, C * factor)[np.ix_(keep, keep)] @ S
    if H.size:
        values = np.linalg.eigvalsh(H) / np.linalg.norm(H, 2)
        if ((values > 1e-14) & (values < 1e-3)).any():
            return  # the ridge that every system has, a billionth of its diagonal, moves such a solution
        expected = S @ np.linalg.pinv(H, rcond=1e-10, hermitian=True) @ S @ loss[keep]
        B, largest = A[np.ix_(keep, keep)], np.abs(loss[keep]).max()
        np.testing.assert_allclose(B @ tau[keep], B @ expected, atol=1e-5 * largest)
    assert not tau[~keep].any()


def least_squares(rng):
    """Rows, labels, weights and prices of a batch in which rows may occur twice or depend on each other."""
    n, d, norm, kind = rng.integers(2, 7), rng.integers(1, 6), 10 ** rng.uniform(-1, 3), rng.integers(4)
    X = rng.standard_normal((n, d)) * norm
    if kind == 1:
        X[rng.integers(0, n, n // 2 + 1)] = X[0]
    if kind == 2:
        X = rng.integers(-2, 3, (n, d)) * np.ceil(norm)
    if kind == 3:
        X[1] = X[0] * (1 + 1e-6 * rng.standard_normal(d))
    y = rng.choice([-1.0, 1.0], n)
    C = 10 ** rng.uniform(-2, 7) / (X**2).sum(axis=1).max() * np.where(y > 0, rng.choice([1.0, 7.0]), 1.0)
    return X, y, rng.standard_normal(d) / norm, C, kind == 3


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_least_squares_meet_their_condition_where_rows_depend_on_each_other(kernel, seed):
    """``tau = 2 C`` times the loss left, in rational numbers, and the scores that the exact solution gives.

    The scores of almost equal rows hang on the last digits of their inner products. A kernel's learner holds
    coefficients of rows only, so here its rows have inner products without rounding.
    """
    X, y, w, C, almost = least_squares(np.random.default_rng(seed))
    if kernel:
        X, w = np.round(X), np.zeros(len(w))
    n = len(X)
    expected, _, loss = oracles.batch_least_squares(w, X, y, C)
    W, trace = np.r_[np.zeros(n) if kernel else w, 0.0][:, np.newaxis], np.zeros((n, 4))
    rows = GramRows(X @ X.T, np.zeros((n, 1))) if kernel else make_rows(X)
    state, rule = State(W, np.empty((len(W), 0)), np.zeros(N_COUNTERS, np.int64)), make_rule("PALS")
    passes.run(rows, Examples(y, C, IN_ORDER, trace), Way(rule, ASK_ALL, n), state)
    reached = [Fraction(v) for v in W[:-1, 0].tolist()]
    if kernel:
        reached = [sum(a * Fraction(v) for a, v in zip(reached, column, strict=True)) for column in X.T.tolist()]
    coefficients = np.linalg.lstsq(X.T, np.array(expected, float) - w, rcond=1e-12)[0]
    terms = abs(X @ X.T) @ abs(coefficients)  # of the scores' change; large for almost equal rows
    bound = max(1e-7 * float(max(map(abs, loss))), 1e-14 * terms.max())
    for x, label, price, tau in zip(X.tolist(), y.tolist(), C.tolist(), trace[:, 1].tolist(), strict=True):
        score, wanted = (sum(Fraction(a) * b for a, b in zip(x, v, strict=True)) for v in (reached, expected))
        assert almost or abs(float(score - wanted)) <= bound
        if any(x):
            assert abs(float(1 - int(label) * score - Fraction(tau) / (2 * Fraction(price)))) <= bound


def test_a_pivot_that_rounding_left_is_not_taken_for_regular():
    """Five rows in four dimensions, at a price that leaves no ridge: the last pivot should be 0 and is rounding."""
    X = np.array([[1.0, -2, 1, 1], [-1, 1, 3, -3], [2, -3, 1, 2], [2, 2, -2, 1], [2, -3, -2, -1]])
    loss = np.array([2.0, 2, 3, 3, 3])
    tau, _ = solve(PALS, X @ X.T, loss, np.full(5, 1e30))
    np.testing.assert_allclose(X.T @ tau, np.linalg.pinv(X) @ loss, atol=1e-7)


@pytest.mark.parametrize("seed, variant", [(8960, PA2), (12070, PA1), (12203, PA2), (30235, PA2)])
def test_what_rounding_left_is_mended_until_the_gap_is_as_promised(seed, variant):
    """Rows of very different lengths: after a single round the gap, in rational numbers, is far above the promise."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 16), rng.integers(1, 12)
    X = rng.integers(-3, 4, (n, d)) * 2.0 ** rng.integers(-10, 11, (n, 1)) * rng.choice([-1.0, 1.0], n)[:, np.newaxis]
    loss, C = rng.integers(-3, 9, n) / 4.0, 2.0 ** rng.integers(0, 50)
    tau = solve(variant, X @ X.T, loss, np.full(n, C))[0]
    A, l, t = (np.array([Fraction(v) for v in M.ravel().tolist()]).reshape(M.shape) for M in (X @ X.T, loss, tau))
    keep, C = np.diag(A) > 0, Fraction(C)
    A, l, t = A[np.ix_(keep, keep)], l[keep], t[keep]
    slack = np.maximum(0, l - A @ t)
    price, ridge = (C * slack, 0) if variant == PA1 else (C * slack**2, t @ t / (4 * C))
    dual = l @ t - t @ A @ t / 2 - ridge
    rounding = Fraction(2e-16) * C * (abs(l) + abs(A) @ t).sum()
    assert t @ A @ t / 2 + price.sum() - dual <= max(Fraction(1e-10) * dual, rounding)


@pytest.mark.parametrize("price", [1.0, 2.0**46], ids=["regular", "dependent"])
@pytest.mark.parametrize("variant", ["PA", *BATCHED])
def test_units_of_length_change_nothing(variant, price):
    """Rows half as long and C four times as large make steps four times as large, to the last bit."""
    X, loss, C = RNG.normal(size=(9, 4)), RNG.uniform(0.0, 2.0, 9), RNG.uniform(0.1, 1.0, 9) * price
    A = X[:4] @ X[:4].T if variant == "PA" else X @ X.T
    n, code = len(A), VARIANTS.index(variant)
    expected = solve(code, A, loss[:n], C[:n])[0]
    for unit in (4.0**-60, 4.0**-5, 4.0**40):
        np.testing.assert_array_equal(solve(code, A * unit, loss[:n], C[:n] / unit)[0] * unit, expected)


def test_contradiction_without_slack_is_reported():
    assert ask("PA", np.array([[2.0, -2.0], [-2.0, 2.0]]), np.ones(2), np.ones(2))[1] == np.inf
    assert ask("PA", np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2), np.ones(2))[0] == pytest.approx([1 / 3, 1 / 3])


# ---------------------------------------------------------------- passes


def stream(n=90, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.3] = 0.0
    X[5], X[8:12] = X[6], 0.0
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1, -1)


def run(X, y, variant, *, classes=1, epsilon=None, query=0, draws=None, batch_size=None):
    """One pass of the compiled loop: weights, drift, counters and trace."""
    W, counts, trace = np.zeros((X.shape[1] + 1, classes)), np.zeros(N_COUNTERS, np.int64), np.zeros((len(y), 4))
    drift = np.zeros_like(W)
    asking = ASK_ALL if draws is None else ASK_ALL._replace(query=query, draws=draws)
    examples, rule = Examples(y.astype(float), np.full(len(y), 0.4), IN_ORDER, trace), make_rule(variant, epsilon)
    (weights, lanes), group = passes.as_loops_take(W), make_batch(batch_size, n_walls(rule)) if batch_size else None
    state = State(weights, drift.reshape(weights.shape), counts)
    passes.learn(make_rows(X, 1.0), examples, Way(rule, asking), state, lanes, None, group, (0, len(y)))
    return W, drift, counts, np.abs(trace)


@pytest.mark.parametrize("variant", BATCHED)
@pytest.mark.parametrize("task", ["two", "many", "regression", "query"])
def test_batches_of_one_are_the_single_steps(variant, task):
    X, y = stream()
    options = {"two": {}, "regression": {"epsilon": 0.0 if variant == "PALS" else 0.2}}.get(task, {})
    if task == "many":
        y, options = np.random.default_rng(1).integers(0, 4, len(y)), {"classes": 4}
    if task == "query":
        options = {"query": 1, "draws": np.random.default_rng(2).random(len(y))}
    for rows in (X, sp.csr_matrix(X)):
        single = run(rows, y, variant, **options)
        batched = run(rows, y, variant, batch_size=1, **options)
        for a, b in zip(single, batched, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("variant", BATCHED)
@pytest.mark.parametrize("batch_size", [2, 7, 64])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes_follow_the_plain_loop(variant, batch_size, fit_intercept):
    """90 rows: the last batch is short, or the only one is."""
    X, y = stream()
    weight = (1.0, 3.0)
    expected = oracles.pa_batch(X, y, variant, 0.2, fit_intercept, batch_size, class_weight=weight)
    for rows in (X, sp.csr_matrix(X)):
        model = PAClassifier(variant, 0.2, fit_intercept, batch_size=batch_size, class_weight={-1: 1.0, 1: 3.0})
        model.fit(rows, y)
        np.testing.assert_allclose(model.coef_[0], expected["w"], atol=1e-8)
        assert model.intercept_[0] == pytest.approx(expected["b"], abs=1e-8)
        assert model.n_mistakes_ == expected["n_mistakes"]
        assert model.n_seen_ == model.n_queries_ == 90


@pytest.mark.parametrize("variant", BATCHED)
def test_more_classes_set_the_right_one_against_the_best_wrong_one(variant):
    rng = np.random.default_rng(3)
    X, y = stream(40)[0], rng.integers(0, 3, 40)
    model = PAClassifier(variant, 0.3, batch_size=6).fit(X, y)
    W, Z = np.zeros((3, 8)), np.c_[X, np.ones(40)]
    for start in range(0, 40, 6):
        directions = []
        for x, right in zip(Z[start : start + 6], y[start : start + 6], strict=True):
            scores = W @ x
            wrong = max((k for k in range(3) if k != right), key=lambda k: (scores[k], -k))
            directions.append((np.outer(np.arange(3) == right, x) - np.outer(np.arange(3) == wrong, x)).ravel())
        W = oracles.batch_step(W.ravel(), directions, np.ones(len(directions)), variant, 0.3)[0].reshape(3, 8)
    np.testing.assert_allclose(model.coef_, W[:, :-1], atol=1e-8)


@pytest.mark.parametrize("variant", BATCHED)
def test_regression_has_two_walls(variant):
    X = stream(50)[0]
    target, epsilon, C = X @ np.arange(7.0) + 1, 0.3, 0.7
    model = PARegressor(variant, C, epsilon, batch_size=8).fit(X, target)
    Z, w = np.c_[X, np.ones(50)], np.zeros(8)
    for start in range(0, 50, 8):
        rows, error = Z[start : start + 8], target[start : start + 8] - Z[start : start + 8] @ w
        if variant == "PALS":
            w = w + rows.T @ np.linalg.solve(rows @ rows.T + np.eye(len(rows)) / (2 * C), error)
            continue
        G, h, m = np.vstack([rows, -rows]), np.r_[error - epsilon, -error - epsilon], 2 * len(rows)
        ridge, high = (np.zeros(m), np.full(m, C)) if variant == "PA-I" else (np.full(m, 0.5 / C), np.full(m, np.inf))
        w = w + G.T @ oracles.box_qp(G, h, ridge, np.zeros(m), high)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], w, atol=1e-7)


@pytest.mark.parametrize("d", [6, 13, 30])
def test_an_example_between_two_walls_counts_once(d):
    """Without a tube both walls of an example may have a step; the move is their difference."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, target = rng.standard_normal((12, d)), rng.standard_normal(12)
        W, _, counts, steps = run(X, target, "PA-I", epsilon=0.0, batch_size=12)
        assert counts[N_UPDATES] <= 12
        if d > 12:  # the rows are independent, so the weights tell the steps
            solved = np.linalg.lstsq(np.c_[X, np.ones(12)].T, W[:, 0])[0]
            np.testing.assert_allclose(steps[:, 1], abs(solved), atol=1e-10)


@pytest.mark.parametrize("average", [False, True])
def test_a_large_step_late_in_the_stream_overflows_the_average_alone(average):
    """The average adds each step times the number of rows before it."""
    X, y = np.r_[np.tile([1.0, 0.0], (1003, 1)), [[0.0, 1.0]]], np.r_[np.zeros(1003), 1e306]
    model = PARegressor(C=1e307, fit_intercept=False, batch_size=4, average=average)
    if average:
        with pytest.raises(ValueError, match="overflow"):
            model.fit(X, y)
    else:
        assert model.fit(X, y).coef_.tolist() == [0.0, 1e306]


def test_only_the_labels_asked_for_enter():
    """Under a budget of 5 labels and batches of 4, the second batch is its first row alone."""
    X, y = stream()
    model = PAClassifier("PA-II", 0.3, batch_size=4, label_budget=5).fit(X, y)
    expected = PAClassifier("PA-II", 0.3, batch_size=4).partial_fit(X[:4], y[:4], classes=[-1, 1])
    expected.partial_fit(X[4:5], y[4:5])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-14)
    assert (model.n_seen_, model.n_queries_) == (90, 5)


@pytest.mark.parametrize("model", [PAClassifier(batch_size=4), PARegressor(batch_size=4)])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # scikit-learn's own, on infinite labels
@pytest.mark.filterwarnings("ignore:the labels come in long runs")
def test_scikit_learn_accepts_it(model):
    check_estimator(model, on_skip=None, on_fail="raise", expected_failed_checks=oracles.expected_failed_checks(model))


# ---------------------------------------------------------------- tolerances


def test_rows_almost_opposite_are_within_tolerance_told_from_opposite_ones():
    apart = 2.0**-44  # one minus the inner product of two rows of length 1, whose labels differ
    tau = solve(PA1, np.array([[1.0, apart - 1.0], [apart - 1.0, 1.0]]), np.ones(2), np.full(2, 1e15))[0]
    np.testing.assert_allclose(tau, 1.0 / apart, rtol=0.01)


def test_a_small_loss_beside_a_large_one_is_not_within_tolerance():
    tau = solve(PA1, np.eye(2), np.array([1.0, 5e-12]), np.ones(2))[0]
    np.testing.assert_allclose(tau, [1.0, 5e-12], rtol=1e-9)
