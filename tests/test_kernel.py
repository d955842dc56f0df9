"""Kernel learners against the one-at-a-time loop, the brute-force budget step, the linear learners and themselves."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import (
    VARIANTS,
    expected_failed_checks,
    pa_active,
    pa_batch,
    pa_kernel,
    pa_multiclass,
    pa_regression,
)
from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, expansion, plain
from pa_lab.budget import DEPENDENT, POLICIES
from pa_lab.kernel import cluster_means
from pa_lab.kernels import BLOCK, KINDS

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 0.7},
    "laplacian": {"gamma": 0.4},
}
SOLVED = ("removal", "nearest", "projection")


def problem(n=120, d=4, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    radius = (X**2).sum(1) + rng.normal(size=n) / 2
    if n_classes == 2:
        return X, np.where(radius > d, 1, -1)
    return X, np.digitize(radius, np.quantile(radius, np.arange(1, n_classes) / n_classes))


def gram(kernel, X, Z=None):
    return pairwise_kernels(X, Z, metric=kernel, **KERNELS[kernel])


def close(a, b, tolerance=1e-9):
    return np.shape(a) == np.shape(b) and np.abs(np.subtract(a, b)).max() < tolerance * max(1.0, np.abs(b).max())


def counters(model):
    return model.n_seen_, model.n_updates_, model.n_mistakes_, model.n_queries_


@parametrize_with_checks(
    [
        KernelPAClassifier(),
        KernelPARegressor(),
        KernelPAClassifier(kernel="laplacian", landmarks=8, average=True),
        KernelPAClassifier("PA-II", batch_size=4, shuffle=True, random_state=0),
        KernelPAClassifier(budget=8),
        KernelPARegressor(budget=60, budget_policy="nearest", max_iter=5),
    ],
    expected_failed_checks=expected_failed_checks,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:the labels come in long runs")
def test_scikit_learn_interface(estimator, check):
    check(estimator)


def by_class(factors):
    """Return factors for the labels -1 and 1 as a parameter; None if they are 1, as PA has no ``C`` to multiply."""
    return None if factors == (1.0, 1.0) else dict(zip((-1, 1), factors, strict=True))


# ---------------------------------------------------------------- the exact expansion


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kernel", KINDS)
def test_equals_the_plain_loop(kernel, variant):
    X, y = problem(600)
    X[300:310] = X[:10]  # the same vector again is another example, but the same example again is not another vector
    K = gram(kernel, X)
    factors = (1.0, 1.0) if variant == "PA" else (0.5, 2.0)
    fast = KernelPAClassifier(variant, 0.6, kernel, class_weight=by_class(factors), max_iter=2, **KERNELS[kernel])
    for average in (False, True):
        slow = pa_kernel(K, y, variant, 0.6, epochs=2, average=average, class_weight=factors)
        fast.set_params(average=average).fit(X, y)
        assert fast.support_.tolist() == slow["support"]
        assert close(fast.dual_coef_[0], slow["coef"])
        assert fast.n_updates_ == slow["n_updates"] and fast.n_mistakes_ == slow["n_mistakes"]
    assert close(fast.decision_function(X[:50] / 2), gram(kernel, X[:50] / 2, X[fast.support_]) @ slow["coef"])
    assert np.array_equal(fast.support_vectors_, X[fast.support_])


@pytest.mark.parametrize("variant", VARIANTS)
def test_regression_equals_the_plain_loop(variant):
    X, _ = problem(500)
    y, K = np.sin(X[:, 0]) + X[:, 1] ** 2, gram("rbf", X)
    slow = pa_kernel(K, y, variant, 0.8, 0.2)
    fast = KernelPARegressor(variant, 0.8, 0.2, gamma=0.7).fit(X, y)
    assert fast.support_.tolist() == slow["support"] and close(fast.dual_coef_[0], slow["coef"])
    assert close(fast.predict(X[:9]), K[:9][:, fast.support_] @ slow["coef"])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", [{}, {"query": "margin"}, {"query": "random", "query_rate": 0.4}, {"batch_size": 5},
                                     {"label_budget": 50}, {"shuffle": True, "max_iter": 3}, {"average": True},
                                     {"class_weight": "balanced"}, {"variant": "PALS"}], ids=str)  # fmt: skip
def test_linear_kernel_equals_the_linear_learner(options, n_classes):
    X, y = problem(601, 6, n_classes=n_classes)
    linear = PAClassifier(C=0.3, fit_intercept=False, random_state=3).set_params(**options).fit(X, y)
    kernel = KernelPAClassifier(C=0.3, kernel="linear", random_state=3).set_params(**options).fit(X, y)
    assert close(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_)
    assert close(kernel.decision_function(X), linear.decision_function(X))
    assert np.array_equal(kernel.predict(X), linear.predict(X)) and counters(kernel) == counters(linear)


def test_batches_equal_the_general_solver():
    X, y = problem(90)
    K = gram("rbf", X)
    slow = pa_batch(np.linalg.cholesky(K + 1e-12 * np.eye(90)), y, "PA-II", 2.0, False, 6)
    fast = KernelPAClassifier("PA-II", 2.0, gamma=0.7, batch_size=6).fit(X, y)
    full = np.zeros(90)
    full[fast.support_] = fast.dual_coef_[0]
    assert close(full, slow["taus"] * y, 1e-7)


@pytest.mark.parametrize("options", [{}, {"landmarks": 40}, {"landmarks": 40, "landmark_norm": "euclidean"},
                                     {"budget": 30}, {"budget": 30, "budget_policy": "nearest"}], ids=str)  # fmt: skip
def test_one_fit_equals_many_partial_fits(options):
    X, y = problem(700)
    options |= {"query": "margin", "gamma": 0.5, "random_state": 1}
    whole, parts = KernelPAClassifier(**options).fit(X, y), KernelPAClassifier(**options)
    for at in (0, 100, 101, 400):
        stop = {0: 100, 100: 101, 101: 400, 400: 700}[at]
        parts.partial_fit(X[at:stop], y[at:stop], classes=[-1, 1])
    assert np.array_equal(whole.support_, parts.support_) and close(whole.dual_coef_, parts.dual_coef_, 1e-7)
    assert counters(whole) == counters(parts)


@pytest.mark.parametrize("options", [{}, {"landmarks": 20}, {"budget": 20}], ids=str)
def test_one_answer_whatever_the_form(options):
    X, y = problem(300)
    X[np.abs(X) < 0.5] = 0.0
    model = KernelPAClassifier(gamma=0.5, **options).fit(X, y)
    sparse = KernelPAClassifier(gamma=0.5, **options).fit(csr_matrix(X), y)
    assert np.array_equal(model.dual_coef_, sparse.dual_coef_)
    assert np.array_equal(model.decision_function(X), sparse.decision_function(csr_matrix(X)))
    named = KernelPAClassifier(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.5), **options).fit(X, y)
    given_ = KernelPAClassifier(kernel="precomputed", **options).fit(rbf_kernel(X, gamma=0.5), y)
    for other in (named, given_):
        assert sorted(other.support_) == sorted(model.support_)
        order = [other.support_.tolist().index(i) for i in model.support_]  # landmarks stand in pivoting order
        assert close(other.dual_coef_[:, order], model.dual_coef_, 1e-6)
    assert np.array_equal(given_.predict(rbf_kernel(X, gamma=0.5)), model.predict(X))
    assert np.array_equal(KernelPAClassifier(gamma=0.5, **options).fit(X, y).dual_coef_, model.dual_coef_)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:50] + 0.1, y[:50])
    assert np.array_equal(again.dual_coef_, model.partial_fit(X[:50] + 0.1, y[:50]).dual_coef_)


def test_answers_may_come_in_parts():
    X, y = problem(30)
    model = KernelPAClassifier(gamma=0.5)
    asked, ids = model.should_query(X, return_ids=True)
    assert asked.all()
    for part in (slice(0, 20), slice(20, 25), slice(25, 30)):
        model.partial_fit(X[part], y[part], classes=[-1, 1], asked=ids[part])
    whole = KernelPAClassifier(gamma=0.5).fit(X, y)
    assert np.array_equal(model.support_, whole.support_) and close(model.dual_coef_, whole.dual_coef_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gamma_is_the_same_for_dense_and_sparse_rows_far_from_the_origin(dtype):
    X = (np.random.default_rng(0).normal(size=(600, 3)) + 1e4).astype(dtype)
    X[::7, 1] = 0.0
    for rows in (X, X - dtype(1e4)):
        dense, sparse = (KernelPAClassifier().fit(form(rows), X[:, 0] > 1e4).gamma_ for form in (np.array, csr_matrix))
        assert dense == pytest.approx(1 / (3 * rows.astype(np.float64).var()), rel=1e-9)
        assert sparse == pytest.approx(dense, rel=1e-12)
    assert KernelPAClassifier(gamma="auto").fit(X, X[:, 0] > 1e4).gamma_ == pytest.approx(1 / 3)


# ---------------------------------------------------------------- landmarks


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("norm", "m"), [("kernel", 20), ("kernel", BLOCK), ("euclidean", 20)])
def test_landmarks_equal_the_plain_loop_over_blocks(norm, m, variant):
    """The landmark step is the linear step on the features ``L^-1 k(x)``, or ``k(x)``."""
    n = 2 * BLOCK + 90
    X, y = problem(n)
    k, classes, target = gram("rbf", X, X[:m]), problem(n, n_classes=3)[1], np.sin(X[:, 0])
    F = k if norm == "euclidean" else np.linalg.solve(np.linalg.cholesky(k[:m]), k.T).T
    shared = {"C": 0.4, "gamma": 0.7, "landmarks": X[:m], "landmark_norm": norm, "variant": variant}
    factors = (1.0, 1.0) if variant == "PA" else (0.5, 2.0)
    asking = {"query": "margin", "class_weight": by_class(factors), "random_state": 4}
    for average, budget in ((False, 400), (True, None)):
        fast = KernelPAClassifier(**shared, **asking, average=average, label_budget=budget, max_iter=2).fit(X, y)
        draws = np.random.default_rng(4).spawn(2)[1].random(2 * n)
        slow = pa_active(F, y, draws, variant, 0.4, label_budget=budget, fit_intercept=False, epochs=2, average=average,
                         class_weight=factors)  # fmt: skip
        assert close(fast.decision_function(X), F @ slow["w"], 1e-6) and fast.n_queries_ == slow["n_queries"]
        assert (fast.n_updates_, fast.n_mistakes_) == (slow["n_updates"], slow["n_mistakes_queried"])
        fast = KernelPAClassifier(**shared, average=average).fit(X, classes)
        slow = pa_multiclass(F, classes, 3, variant, 0.4, False, average=average)
        assert close(fast.decision_function(X), F @ slow["w"].T, 1e-6) and fast.n_updates_ == slow["n_updates"]
        fast = KernelPARegressor(**shared, epsilon=0.2, average=average).fit(X, target)
        slow = pa_regression(F, target, variant, 0.4, 0.2, False, average=average)
        assert close(fast.predict(X), F @ slow["w"], 1e-6) and fast.n_updates_ == slow["n_updates"]
    if variant != "PA":
        fast = KernelPAClassifier(**shared, batch_size=6).fit(X[:300], y[:300])
        slow = pa_batch(F[:300], y[:300], variant, 0.4, False, 6)
        assert close(fast.decision_function(X), F @ slow["w"], 1e-6)


def test_landmarks_that_others_span_are_left_out():
    X, y = problem(200)
    twice = np.vstack([X[:10], X[:10]])
    once, doubled = (KernelPAClassifier(gamma=0.7, landmarks=L).fit(X, y) for L in (X[:10], twice))
    assert len(doubled.support_vectors_) == 10 and close(doubled.decision_function(X), once.decision_function(X), 1e-7)
    linear = KernelPAClassifier(kernel="linear", landmarks=50).fit(X, y)
    small = KernelPAClassifier(kernel="linear", landmarks=50).fit(X * 2.0**-40, y)
    assert len(linear.support_vectors_) == len(small.support_vectors_) == 4
    exact = PAClassifier(fit_intercept=False).fit(X, y)
    assert close(linear.decision_function(X), exact.decision_function(X), 1e-7)


def test_clusters_are_those_of_the_first_rows_of_the_stream():
    X, y = problem(400)
    model = KernelPAClassifier(landmarks=12, landmark_choice="kmeans", shuffle=True, random_state=0).fit(X, y)
    stream = np.random.default_rng(0).spawn(2)[0]
    order, seed = stream.permutation(400), int(stream.integers(np.iinfo(np.int32).max))
    means = cluster_means(X[order[:120]], 12, seed)
    assert np.array_equal(np.sort(model.support_vectors_, axis=0), np.sort(means, axis=0))


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("policy", SOLVED)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_budget_steps_are_the_brute_force_solution(kernel, policy, C):
    X, y = problem(150, 3)
    model, checked = KernelPAClassifier(C=C, kernel=kernel, budget=6, budget_policy=policy, **KERNELS[kernel]), 0
    for t, label in enumerate(y):
        if t and len(model.support_) == 6 and label * model.decision_function(X[[t]])[0] < 1:
            members, alpha = [*model.support_, t], model.dual_coef_[0]
            K = gram(kernel, X[members])
            value = min(plain.give_up(K, np.append(alpha, 0.0), label, C, r, policy)[0] for r in range(7))
            model.partial_fit(X[[t]], [label])
            coef = dict(zip(model.support_, model.dual_coef_[0], strict=True))
            mine = np.array([coef.get(i, 0.0) for i in members])
            change = mine - np.append(alpha, 0.0)
            score = K[-1] @ np.append(alpha, 0.0)
            objective = 0.5 * change @ K @ change + C * max(0.0, 1 - label * (score + K[-1] @ change))
            assert objective <= value + 1e-7 * (1 + value)
            checked += 1
        else:
            model.partial_fit(X[[t]], [label], classes=[-1, 1])
    assert checked > 20


@pytest.mark.parametrize("n_classes, multi_class", [(2, "direct"), (3, "direct"), (3, "ovr")])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_budget_never_reached_changes_nothing(variant, policy, n_classes, multi_class):
    X, y = problem(300, n_classes=n_classes)
    X[50:60] = X[:10]
    options = {"variant": variant, "gamma": 0.7, "max_iter": 2, "multi_class": multi_class}
    exact = KernelPAClassifier(**options).fit(X, y)
    model = KernelPAClassifier(**options, budget=301, budget_policy=policy).fit(X, y)
    assert np.array_equal(model.support_, exact.support_) and close(model.dual_coef_, exact.dual_coef_)
    assert counters(model) == counters(exact)


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6), budget=st.integers(1, 12), policy=st.sampled_from([*POLICIES]), C=st.floats(1e-3, 1e3),
    variant=st.sampled_from(VARIANTS), kernel=st.sampled_from(list(KERNELS)), scale=st.sampled_from([1e-3, 1.0, 30.0]),
    task=st.sampled_from([(2, "direct"), (3, "direct"), (3, "ovr")]),
)  # fmt: skip
def test_budget_invariants(seed, budget, policy, C, variant, kernel, scale, task):
    n_classes, multi_class = task
    X, y = problem(60, 3, seed, n_classes)
    X *= scale if kernel in ("linear", "rbf") else 1.0
    if seed % 2:
        X[30:] = X[:30]
    options = {"budget": budget, "budget_policy": policy, "multi_class": multi_class}
    model = KernelPAClassifier(variant, C, kernel, **options, **KERNELS[kernel])
    for at in range(0, 60, 7):
        model.partial_fit(X[at : at + 7], y[at : at + 7], classes=np.unique(y))
        assert len(model.support_vectors_) == len(model.support_) == model.dual_coef_.shape[1] <= budget
        assert len(set(model.support_)) == len(model.support_) and np.isin(model.support_, np.arange(at + 7)).all()
        assert np.array_equal(model.support_vectors_, X[model.support_])
        assert np.isfinite(model.dual_coef_).all() and model.n_updates_ <= model.n_seen_
        scores = gram(kernel, X[:5], X[model.support_]) @ model.dual_coef_.T
        assert close(np.atleast_2d(model.decision_function(X[:5]).T).T, scores, 1e-6)


@pytest.mark.parametrize("policy", SOLVED)
@pytest.mark.parametrize("variant", ["PA", "PA-II", "PALS"])
def test_an_exchange_keeps_the_step(variant, policy):
    """Where the example stays, its score after the step is that of the step without a budget."""
    X, y = problem(200, 3)
    model, stayed = KernelPAClassifier(variant, 0.5, gamma=0.7, budget=8, budget_policy=policy), 0
    for t, label in enumerate(y):
        before = model.decision_function(X[[t]])[0] if t else 0.0
        model.partial_fit(X[[t]], [label], classes=[-1, 1])
        if t in model.support_:
            after = before + plain.step(1 - label * before, 1.0, 0.5, variant) * label
            assert model.decision_function(X[[t]])[0] == pytest.approx(after, abs=1e-6)
            stayed += 1
    assert stayed > 30


def objective(losses, factor, q, C):
    """Least objective of PA-I over the steps of several outputs along a direction of squared norm ``q``, and these."""
    steps = np.clip(losses / (factor * q), 0.0, C)
    return np.sum(0.5 * steps**2 * q + C / factor * np.maximum(0.0, losses - factor * steps * q)), steps


@pytest.mark.parametrize("budget", [1, 12])
@pytest.mark.parametrize("multi_class", ["direct", "ovr"])
@pytest.mark.parametrize("policy", SOLVED)
def test_the_example_itself_is_given_up_where_that_costs_least(policy, multi_class, budget):
    """A step along its projection on what the policy leaves, or the whole step and the least that goes with a vector.

    The right class and its rival share one loss, of which the step of each takes half.
    """
    X, y = problem(300, 3, n_classes=3)
    prices, rows, chosen = np.random.default_rng(0).choice([0.05, 0.3, 2.0], 300), np.arange(3), [0, 0]
    model = KernelPAClassifier("PA-I", C=1.0, gamma=0.7, budget=budget, budget_policy=policy, multi_class=multi_class)
    model.partial_fit(X[:30], y[:30], classes=rows)
    for t, label in enumerate(y[30:], 30):
        vectors, weights = X[model.support_], model.dual_coef_.copy()
        before, k, K = model.decision_function(X[[t]])[0], gram("rbf", X[[t]], vectors)[0], gram("rbf", vectors)
        rival = np.argmax(np.where(rows == label, -np.inf, before))
        if multi_class == "direct":
            side, factor = 1.0 * (rows == label) - 1.0 * (rows == rival), 2.0
            losses = abs(side) * max(0.0, 1.0 - side @ before)
        else:
            side, factor = np.where(rows == label, 1.0, -1.0), 1.0
            losses = np.maximum(0.0, 1.0 - side * before)
        C = prices[t]
        model.partial_fit(X[[t]], [label], sample_weight=[C])
        if not losses.any():
            assert np.array_equal(model.dual_coef_, weights)
            continue
        stands = {"removal": 0.0 * k, "nearest": k * (k == k.max()), "projection": np.linalg.solve(K, k)}[policy]
        whole, lost = np.block([[K, k[:, None]], [k[None], 1.0]]), []
        for r in range(budget):
            others = np.delete(np.arange(budget + 1), r)
            if policy == "removal":
                others = others[-1:]
            elif policy == "nearest" and budget > 1:
                others = np.array([max(others[:-1], key=lambda j: K[r, j]), budget])
            by_others = np.linalg.solve(whole[np.ix_(others, others)], whole[others, r])
            lost.append(np.sum(weights[:, r] ** 2) * (1.0 - by_others @ whole[others, r]))
        costs = [objective(losses, factor, q, C)[0] if q else C / factor * losses.sum() for q in (stands @ k, 1.0)]
        gone = t not in model.support_
        assert gone == (costs[0] < costs[1] + 0.5 * min(lost))
        if gone and policy != "removal":
            steps = side * objective(losses, factor, stands @ k, C)[1]
            assert close(model.dual_coef_, weights + np.outer(steps, stands), 1e-6)
        chosen[gone] += 1
    assert min(chosen[budget == 1 :]) > 5


def test_dependent_vectors_are_folded_for_free():
    """A linear kernel in 3 dimensions needs 3 vectors: projection within 5 is exact for ever."""
    X, y = problem(400, 3)
    exact = PAClassifier(fit_intercept=False).fit(X, y)
    model = KernelPAClassifier(kernel="linear", budget=5).fit(X, y)
    assert close(model.dual_coef_ @ model.support_vectors_, exact.coef_, 1e-6) and DEPENDENT < 1e-9


def test_oldest_and_smallest():
    X = 10.0 * np.arange(1, 8)[:, None]  # so far apart that no example knows of another
    y = np.array([1, -1, 1, -1, 1, -1, 1])
    oldest = KernelPAClassifier(gamma=1.0, budget=3, budget_policy="oldest").fit(X, y)
    assert sorted(oldest.support_) == [4, 5, 6]
    weights = {-1: 0.5, 1: 1.0}
    smallest = KernelPAClassifier(gamma=1.0, budget=3, budget_policy="smallest", class_weight=weights).fit(X, y)
    assert sorted(smallest.support_) == [2, 4, 6]  # of equals the one that lies first goes


def test_an_example_given_up_at_once_is_no_update():
    X, y = problem(300)
    model = KernelPAClassifier(C=0.05, gamma=0.5, budget=5, budget_policy="removal")
    changed = with_loss = 0
    for i in range(len(X)):
        before = (model.dual_coef_.copy(), model.support_.copy()) if i else ()
        with_loss += i == 0 or np.where(y[i] == model.classes_[1], 1, -1) * model.decision_function(X[i : i + 1])[0] < 1
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
        after = model.dual_coef_, model.support_
        changed += i == 0 or not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert model.n_updates_ == changed < with_loss


@pytest.mark.parametrize("policy", ["projection", "nearest"])
@pytest.mark.parametrize("form", ["rows", "matrix", "matrix of doubles", "callable"])
def test_kernel_values_of_single_precision_do_no_harm_within_a_budget(form, policy):
    """What rounding leaves of a vector that others span is no direction to move in."""
    X = np.random.default_rng(0).uniform(-3, 3, (1200, 1)).astype(np.float32)
    y, K = np.sin(X[:, 0]), rbf_kernel(X, gamma=2.0)
    options = {"epsilon": 0.01, "budget": 50, "budget_policy": policy}
    exact = KernelPARegressor(gamma=2.0, **options).fit(X.astype(np.float64), y).predict(X.astype(np.float64))
    if form == "rows":
        single = KernelPARegressor(gamma=2.0, **options).fit(X, y).predict(X)
    elif form == "callable":
        kernel = lambda a, b: rbf_kernel(a, b, gamma=2.0).astype(np.float32)  # noqa: E731
        single = KernelPARegressor(kernel=kernel, **options).fit(X.astype(np.float64), y).predict(X)
    else:
        K = K.astype(np.float64) if form == "matrix of doubles" else K
        single = KernelPARegressor(kernel="precomputed", **options).fit(K, y).predict(K)
    assert abs(exact - y).mean() < 0.02 and abs(single - y).mean() < 1.1 * abs(exact - y).mean()


@pytest.mark.parametrize("variant", ["PA", "PALS"])
@pytest.mark.parametrize("policy", POLICIES)
def test_units_of_the_targets_change_nothing_within_a_budget(policy, variant):
    X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    model = KernelPARegressor(variant, epsilon=0.0, gamma=2.0, budget=15, budget_policy=policy)
    large, small = (model.fit(X, np.sin(X[:, 0]) * unit).predict(X) for unit in (1.0, 2.0**-40))
    assert large.any() and np.array_equal(small, large * 2.0**-40)


def test_a_matrix_is_factorized_and_inverted():
    A = np.random.default_rng(0).normal(size=(100, 70))
    inverse, keep = expansion.invert_factor(A @ A.T, 1e-9)
    assert len(keep) == 70 and not np.triu(inverse, 1).any()
    np.testing.assert_allclose(inverse @ (A @ A.T)[np.ix_(keep, keep)] @ inverse.T, np.eye(70), atol=1e-9)
    np.testing.assert_allclose(expansion.multiply_transposed(A, A @ A.T), A.T @ A @ A.T)
