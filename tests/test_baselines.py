"""The neighbours of PA against plain loops, written from their papers, and scikit-learn's perceptron."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from pa_lab import PAClassifier
from pa_lab.study.baselines import RULES, OnlineClassifier, liblinear, online, with_balanced
from pa_lab.study.experiments import progressive

RULE = pytest.mark.parametrize("rule", RULES)
AVERAGE = pytest.mark.parametrize("average", [False, True])


def stream(seed=0, n=200, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)


def perceptron(w, state, x, y, C):
    return (w + y * x if y * (w @ x) <= 0 else w), state


def arow(w, sigma, x, y, C):
    if y * (w @ x) >= 1:
        return w, sigma
    beta = 1 / (x @ sigma @ x + 1 / (2 * C))
    alpha = (1 - y * (w @ x)) * beta
    drop = beta * np.outer(sigma @ x, sigma @ x)
    return w + alpha * y * sigma @ x, np.diag(np.diag(sigma - drop))


def adagrad(slope):
    def update(w, gradients, x, y, C):
        g = -y * slope(y * (w @ x)) * x
        gradients = [*gradients, g]
        size = np.sqrt(np.sum(np.square(gradients), axis=0))
        return w - C * np.divide(g, size, out=np.zeros_like(g), where=size > 0), gradients

    return update


ORACLES = {
    "perceptron": perceptron,
    "AROW": arow,
    "AdaGrad hinge": adagrad(lambda margin: float(margin < 1)),
    "AdaGrad logistic": adagrad(lambda margin: 1 / (1 + np.exp(margin))),
}


@RULE
@AVERAGE
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_a_pass_equals_the_plain_loop(rule, average, C):
    X, y = stream()
    rows = np.column_stack([X, np.ones(len(y))])
    w = np.zeros(rows.shape[1])
    state = np.eye(len(w)) if rule == "AROW" else []
    history = []
    for x, y_t in zip(rows, y, strict=True):
        w, state = ORACLES[rule](w, state, x, y_t, C)
        history.append(w)
    expected = np.mean(history, axis=0) if average else w
    for form in (np.asarray, sparse.csr_array):
        model = OnlineClassifier(rule, C, average=average).fit(form(X), y)
        np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), expected, rtol=1e-9, atol=1e-12)
        changed = np.any(np.diff(history, axis=0, prepend=0.0) != 0, axis=1).sum()
        assert model.n_seen_ == model.n_queries_ == len(y)
        assert model.n_updates_ == (len(y) if rule == "AdaGrad logistic" else changed)


@AVERAGE
def test_the_perceptron_is_that_of_scikit_learn(average):
    X, y = stream()
    theirs = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1, average=average,
        max_iter=1, tol=None, shuffle=False,
    ).fit(X, y)  # fmt: skip
    ours = OnlineClassifier("perceptron", average=average).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9)


@RULE
@AVERAGE
def test_parts_equal_the_whole(rule, average):
    X, y = stream()
    labels = np.where(y > 0, "yes", "no")
    whole, parts = (OnlineClassifier(rule, 0.1, average=average) for _ in range(2))
    curve = progressive(parts, X, labels, every=37)
    whole.fit(X, labels)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert curve.iloc[-1].tolist() == [200, whole.n_mistakes_, whole.n_updates_, 200]
    np.testing.assert_array_equal(whole.predict(X) == "yes", whole.decision_function(X) > 0)


def test_the_first_step_of_arow_is_that_of_pa2():
    X, y = stream()
    ours = OnlineClassifier("AROW", 0.3).partial_fit(X[:1], y[:1], classes=[-1, 1])
    theirs = PAClassifier("PA-II", 0.3).partial_fit(X[:1], y[:1], classes=[-1, 1])
    np.testing.assert_allclose(ours.coef_, theirs.coef_)


@pytest.mark.parametrize(("settings", "y"), [({"rule": "pegasos"}, [1, -1]), ({"C": 0.0}, [1, -1]), ({}, [1, 1])])
def test_bad_input_is_named(settings, y):
    with pytest.raises(ValueError, match="rule must be one of"):
        OnlineClassifier(**settings).fit(np.eye(2), y)


def test_unknown_labels_and_other_widths_are_refused():
    model = OnlineClassifier().fit(np.eye(2), [1, -1])
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.partial_fit(np.eye(2), [1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.eye(3), [1, -1, 1])


def test_balanced_copies_follow_the_others_and_leave_them_alone():
    methods = {rule: online(rule) for rule in ("PA-I", "perceptron")}
    assert [type(model) for model in methods.values()] == [PAClassifier, OnlineClassifier]
    more = with_balanced(methods, ["PA"])
    assert list(more) == ["PA-I", "perceptron", "PA-I, balanced"]
    assert more["PA-I, balanced"].class_weight == "balanced" and methods["PA-I"].class_weight is None


@pytest.mark.parametrize("loss, slope", [("hinge", 1.0), ("squared hinge", 2.0), ("logistic", 0.5)])
def test_liblinear_minimises_the_loss_it_is_asked_for(loss, slope):
    """One row and its mirror image: the minimum is where the gradient of the loss is that of the norm."""
    X, y, C = np.array([[0.1], [-0.1]]), np.array([1, -1]), 0.1
    w = liblinear(loss, tol=1e-6).set_params(C=C).fit(X, y).coef_[0, 0]
    assert w == pytest.approx(2 * C * 0.1 * slope, rel=0.02)
