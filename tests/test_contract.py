"""What must hold for every update, on examples that hypothesis makes up."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import oracles
from pa_lab import PAClassifier, PARegressor
from pa_lab.rules import VARIANTS

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("repeatable")

NUMBER = st.floats(-8.0, 8.0, width=16).map(lambda value: round(value, 3))  # never tiny: rounding is not the subject
DECADES = st.integers(-30, 30).map(lambda tenth: 10.0 ** (tenth / 10))


@st.composite
def problems(draw, targets="labels", without_intercept=False):
    """Some rows to start from, one more to learn, and the settings of a learner."""
    n, d = draw(st.integers(3, 12)), draw(st.integers(1, 6))
    X = draw(arrays(float, (n, d), elements=NUMBER))
    if targets == "labels":
        y = draw(arrays(np.int64, n, elements=st.sampled_from([-1, 1])))
    elif targets == "classes":
        y = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
    else:
        y = draw(arrays(float, n, elements=NUMBER))
    settings = {"variant": draw(st.sampled_from(VARIANTS)), "C": draw(DECADES), "fit_intercept": False}
    settings["fit_intercept"] = not without_intercept and draw(st.booleans())
    return X, y, settings


def learn(model, X, y, classes=(-1, 1)):
    return model.partial_fit(X, y) if isinstance(model, PARegressor) else model.partial_fit(X, y, classes=classes)


def weights(model):
    return np.column_stack([np.atleast_2d(model.coef_), model.intercept_])


def close(a, b, tolerance=1e-9):
    return np.abs(a - b).max(initial=0.0) <= tolerance * max(1.0, np.abs(b).max(initial=0.0))


# ---------------------------------------------------------------- 1. the update is the exact solution


@given(problems(), st.sampled_from([np.asarray, sparse.csr_array]))
def test_each_classification_step_solves_its_problem(problem, form):
    X, y, options = problem
    model = learn(PAClassifier(**options), form(X[:-1]), y[:-1])
    row = np.append(X[-1], float(options["fit_intercept"]))
    expected, _ = oracles.solve_step(weights(model)[0], row, y[-1], options["variant"], options["C"])
    assert close(weights(learn(model, form(X[-1:]), y[-1:]))[0], expected, 1e-8)


@given(problems("numbers"), st.sampled_from([0.0, 0.1, 2.0]))
def test_each_regression_step_solves_its_problem(problem, epsilon):
    X, y, options = problem
    model = learn(PARegressor(**options, epsilon=epsilon), X[:-1], y[:-1])
    row = np.append(X[-1], float(options["fit_intercept"]))
    start = weights(model)[0]
    assume(abs(y[-1] - row @ start) > 1e-9)  # at the target itself both sides of the tube are as near
    expected, _ = oracles.solve_step(start, row, y[-1], options["variant"], options["C"], epsilon)
    assert close(weights(learn(model, X[-1:], y[-1:]))[0], expected, 1e-8)


@given(problems("classes"))
def test_each_multiclass_step_solves_its_problem(problem):
    X, y, options = problem
    model = learn(PAClassifier(**options), X[:-1], y[:-1], range(4))
    before, row = weights(model), np.append(X[-1], float(options["fit_intercept"]))
    wrong = int(np.argmax(np.where(np.arange(4) == y[-1], -np.inf, before @ row)))
    direction = np.zeros_like(before)
    direction[y[-1]], direction[wrong] = row, -row
    expected, _ = oracles.solve_step(before.ravel(), direction.ravel(), 1, options["variant"], options["C"])
    after = weights(learn(model, X[-1:], y[-1:], range(4)))
    runner_up = np.sort(np.delete(before @ row, y[-1]))[-2:]
    assume(runner_up[1] - runner_up[0] > 1e-9 or not runner_up.any())  # equal scores may round either way
    assert close(after.ravel(), expected, 1e-8)


# ---------------------------------------------------------------- 2. one answer


@given(problems(), st.integers(0, 10))
def test_asking_for_all_is_the_limit_of_the_margin_rule(problem, seed):
    X, y, options = problem
    every = learn(PAClassifier(**options), X, y)
    margin = learn(PAClassifier(**options, query="margin", delta=1e300, random_state=seed), X, y)
    assert np.array_equal(weights(every), weights(margin)) and margin.n_queries_ == len(y)


# ---------------------------------------------------------------- what theory says of transformed problems


@given(problems("numbers"), st.sampled_from([-3, 2, 5]))
def test_scaled_targets_scale_the_weights(problem, power):
    """A power of two, so exactly: PA and PA-II for epsilon times s, PA-I for C times s as well."""
    X, y, options = problem
    s = 2.0**power
    scaled = options | {"C": options["C"] * (s if options["variant"] == "PA-I" else 1.0)}
    a = learn(PARegressor(**options, epsilon=0.1), X, y)
    b = learn(PARegressor(**scaled, epsilon=0.1 * s), X, s * y)
    assert np.array_equal(s * weights(a), weights(b)) and a.n_updates_ == b.n_updates_


@given(problems())
def test_swapped_labels_turn_the_weights_round(problem):
    X, y, options = problem
    a, b = learn(PAClassifier(**options), X, y), learn(PAClassifier(**options), X, -y)
    assert np.array_equal(weights(a), -weights(b)) and a.n_updates_ == b.n_updates_


@given(problems(without_intercept=True), st.integers(0, 12))
def test_zero_rows_change_nothing(problem, at):
    X, y, options = problem
    at = min(at, len(y))
    padded, labels = np.insert(X, at, 0.0, axis=0), np.insert(y, at, 1)
    for form in (np.asarray, sparse.csr_array):
        a, b = learn(PAClassifier(**options), form(X), y), learn(PAClassifier(**options), form(padded), labels)
        assert np.array_equal(weights(a), weights(b))
        assert (b.n_updates_, b.n_seen_) == (a.n_updates_, a.n_seen_ + 1)
        assert b.n_mistakes_ == a.n_mistakes_ + 1  # a score of 0 is read as -1, and the label is 1
        a, b = learn(PARegressor(**options), form(X), y), learn(PARegressor(**options), form(padded), labels)
        assert np.array_equal(weights(a), weights(b)) and b.n_updates_ == a.n_updates_


@pytest.mark.parametrize("targets", ["labels", "classes", "numbers"])
@given(st.data())
def test_counters_are_consistent(targets, data):
    X, y, options = data.draw(problems(targets))
    if targets == "numbers":
        model = learn(PARegressor(**options), X, y)
    else:
        rest = {"query": data.draw(st.sampled_from(["all", "margin"])), "label_budget": data.draw(st.integers(0, 15))}
        classes = range(4) if targets == "classes" else (-1, 1)
        model = learn(PAClassifier(**options, **rest, random_state=0), X, y, classes)
        assert model.n_queries_ <= rest["label_budget"]
    assert 0 <= model.n_updates_ <= model.n_queries_ <= model.n_seen_ == len(y)
    assert 0 <= model.n_mistakes_ <= model.n_queries_
    if options["fit_intercept"] or X.any(axis=1).all():  # a zero row can be wrong, but nothing is learned from it
        assert model.n_mistakes_ <= model.n_updates_
    assert np.isfinite(weights(model)).all()


@given(problems(), DECADES)
def test_float32_agrees_to_its_precision(problem, size):
    X, y, options = problem
    X = X * min(max(size, 0.01), 100.0)
    narrow = X.astype(np.float32)
    for form in (np.asarray, sparse.csr_array):
        a = learn(PAClassifier(**options), form(narrow), y)
        b = learn(PAClassifier(**options), form(narrow.astype(float)), y)
        assert np.array_equal(weights(a), weights(b))
