"""The neighbours of PA against plain loops, written from their papers, and scikit-learn's perceptron."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.linear_model import SGDClassifier

from pa_lab import PAClassifier
from pa_lab.study.baselines import RULES, SECOND_ORDER, OnlineClassifier, liblinear, online
from pa_lab.study.experiments import progressive

RULE = pytest.mark.parametrize("rule", RULES)
AVERAGE = pytest.mark.parametrize("average", [False, True])


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match=r"no rule .AdaGrad.; .*AdaGrad hinge, AdaGrad logistic"):
        online("AdaGrad")


def stream(seed=0, n=200, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)


class Plain:
    """A rule as its paper prints it, with whole matrices; ``kept`` says which of their entries stay."""

    def __init__(self, d, C, eta, kept):
        self.w, self.S, self.mu, self.G = np.zeros(d), np.eye(d), np.zeros(d), np.zeros(d)
        self.C, self.eta, self.kept, self.t, self.k = C, eta, kept, 0, 1

    def shrink(self, x, beta):
        """Take beta S x x' S from the covariance."""
        self.S = (self.S - beta * np.outer(self.S @ x, self.S @ x)) * self.kept

    def perceptron(self, x, y):
        if y * (self.w @ x) <= 0:
            self.w = self.w + y * x

    def romma(self, x, y, loss):
        """Move to the shortest weights with margin 1 on the row, and with w'.w >= w.w."""
        if loss <= 0 or not x.any():
            return
        if not self.w.any():
            self.w = y * x / (x @ x)
            return
        walls = np.vstack([self.w, y * x])
        self.w = walls.T @ np.linalg.solve(walls @ walls.T, [self.w @ self.w, 1.0])

    def ROMMA(self, x, y):
        self.romma(x, y, y * (self.w @ x) <= 0)

    def aROMMA(self, x, y):
        self.romma(x, y, 1 - y * (self.w @ x))

    def ALMA(self, x, y):
        x = x / np.linalg.norm(x)
        if y * (self.w @ x) <= (1 - self.eta) / self.eta / np.sqrt(self.k):
            longer = self.w + self.C / np.sqrt(self.k) * y * x
            self.w = longer / max(1, np.linalg.norm(longer))
            self.k += 1

    def OGD(self, x, y):
        self.w = self.w + self.C / np.sqrt(self.t) * y * x * (y * (self.w @ x) < 1)

    def adagrad(self, x, y, slope):
        g = -y * slope * x
        self.G = self.G + g**2
        self.w = self.w - self.C * np.divide(g, np.sqrt(self.G), out=np.zeros_like(g), where=self.G > 0)

    def AdaGrad_hinge(self, x, y):
        self.adagrad(x, y, float(y * (self.w @ x) < 1))

    def AdaGrad_logistic(self, x, y):
        self.adagrad(x, y, 1 / (1 + np.exp(y * (self.w @ x))))

    def SOP(self, x, y):
        after = np.linalg.inv(np.linalg.inv(self.S) + np.outer(x, x))
        if y * (self.mu @ after @ x) <= 0:
            self.S, self.mu = after, self.mu + y * x
        self.w = self.S @ self.mu

    def IELLIP(self, x, y):
        c = 0.1 * self.eta ** (self.t - 1)
        if y * (self.w @ x) <= 0:
            g = y * x / np.sqrt(x @ self.S @ x)
            self.w = self.w + (1 - y * (self.w @ x)) / np.sqrt(x @ self.S @ x) * self.S @ g
            self.S = (self.S - c * np.outer(self.S @ g, self.S @ g)) * self.kept / (1 - c)

    def confident(self, x, y, alpha):
        """Move to where the stationary equations of CW and SCW lead for this multiplier."""
        phi, v = norm.ppf(self.eta), x @ self.S @ x
        u = brentq(lambda u: u + alpha * phi * v * np.sqrt(u) - v, 0, v, xtol=1e-15, rtol=1e-14)
        self.w = self.w + alpha * y * self.S @ x
        self.shrink(x, alpha * phi / (np.sqrt(u) + alpha * phi * v))

    def multiplier(self, x, y, slack):
        """Return the multiplier at which the loss that is left is ``slack`` times it; 0 without a loss."""
        phi, v, m = norm.ppf(self.eta), x @ self.S @ x, y * (self.w @ x)

        def loss_left(alpha):
            root = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
            return phi * root - m - alpha * v - slack * alpha

        return brentq(loss_left, 0, 1e6, xtol=1e-15, rtol=1e-14) if loss_left(0) > 0 else 0.0

    def CW(self, x, y):
        self.confident(x, y, self.multiplier(x, y, 0))

    def SCW_I(self, x, y):
        self.confident(x, y, min(self.C, self.multiplier(x, y, 0)))

    def SCW_II(self, x, y):
        self.confident(x, y, self.multiplier(x, y, 1 / (2 * self.C)))

    def NHERD(self, x, y):
        v, m = x @ self.S @ x, y * (self.w @ x)
        if m < 1:
            self.w = self.w + (1 - m) / (v + 1 / self.C) * y * self.S @ x
            self.shrink(x, (self.C**2 * v + 2 * self.C) / (1 + self.C * v) ** 2)

    def AROW(self, x, y):
        beta, m = 1 / (x @ self.S @ x + 1 / (2 * self.C)), y * (self.w @ x)
        if m < 1:
            self.w = self.w + (1 - m) * beta * y * self.S @ x
            self.shrink(x, beta)

    def NAROW(self, x, y):
        v, b = x @ self.S @ x, self.C
        if y * (self.w @ x) < 1:
            r = v / (b * v - 1) if v > 1 / b else np.inf
            self.mu = self.mu + y * x
            self.shrink(x, 1 / (v + r))
            self.w = self.S @ self.mu


def plain_weights(rule, X, y, C, eta, covariance="diagonal"):
    """Return the weights after each row."""
    rows = np.column_stack([X, np.ones(len(y))])
    plain, history = Plain(rows.shape[1], C, eta, 1 if covariance == "full" else np.eye(rows.shape[1])), []
    learn = getattr(plain, rule.replace("-", "_").replace(" ", "_"))
    for x, y_t in zip(rows, y, strict=True):
        plain.t += 1
        learn(x, y_t)
        history.append(plain.w)
    return np.array(history)


# The diagonal of SOP and NAROW in the papers' coordinates is another thing: they are compared with whole matrices.
CASES = [(rule, "diagonal") for rule in RULES if rule not in ("SOP", "NAROW")] + [
    (rule, "full") for rule in SECOND_ORDER
]


@pytest.mark.parametrize(("rule", "covariance"), CASES)
@AVERAGE
@pytest.mark.parametrize(("C", "eta"), [(0.01, 0.9), (1.0, 0.6), (30.0, 0.75)])
def test_a_pass_equals_the_plain_loop(rule, covariance, average, C, eta):
    for seed in range(3):
        X, y = stream(seed)
        history = plain_weights(rule, X, y, C, eta, covariance)
        expected = history.mean(axis=0) if average else history[-1]
        changed = np.any(np.diff(history, axis=0, prepend=0.0) != 0, axis=1).sum()
        for form in (np.asarray, sparse.csr_array):
            model = OnlineClassifier(rule, C, eta, covariance, average=average).fit(form(X), y)
            np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), expected, rtol=1e-10, atol=1e-10)
            assert model.n_seen_ == model.n_queries_ == len(y)
            assert model.n_updates_ == (len(y) if rule == "AdaGrad logistic" else changed)


def test_a_diagonal_covariance_takes_the_diagonal_of_the_step():
    """On rows with one entry each the whole matrix stays diagonal: both must agree, for every rule."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)) * np.eye(4)[rng.integers(4, size=100)], rng.choice([-1, 1], 100)
    for rule in SECOND_ORDER:
        both = [OnlineClassifier(rule, 0.5, 0.8, kind, fit_intercept=False) for kind in ("diagonal", "full")]
        diagonal, full = (model.fit(X, y).coef_ for model in both)
        np.testing.assert_allclose(diagonal, full, rtol=1e-12, err_msg=rule)


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


@pytest.mark.parametrize(
    ("settings", "y", "said"),
    [
        ({"rule": "pegasos"}, [1, -1, 1], "rule must be one of"),
        ({"C": 0.0}, [1, -1, 1], "rule must be one of"),
        ({"rule": "AROW"}, [1, 2, 3], "^AROW is for two classes, these labels have 3"),
        ({}, [1, 1, 1], "^perceptron is for two classes, these labels have 1"),
    ],
)
def test_bad_input_is_named(settings, y, said):
    with pytest.raises(ValueError, match=said):
        OnlineClassifier(**settings).fit(np.eye(3), y)


def test_unknown_labels_and_other_widths_are_refused():
    model = OnlineClassifier().fit(np.eye(2), [1, -1])
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.partial_fit(np.eye(2), [1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.eye(3), [1, -1, 1])


@pytest.mark.parametrize("loss, slope", [("hinge", 1.0), ("squared hinge", 2.0), ("logistic", 0.5)])
def test_liblinear_minimises_the_loss_it_is_asked_for(loss, slope):
    """One row and its mirror image: the minimum is where the gradient of the loss is that of the norm."""
    X, y, C = np.array([[0.1], [-0.1]]), np.array([1, -1]), 0.1
    w = liblinear(loss, tol=1e-6).set_params(C=C).fit(X, y).coef_[0, 0]
    assert w == pytest.approx(2 * C * 0.1 * slope, rel=0.02)


def test_a_gradient_too_small_to_square_moves_nothing():
    model = online("AdaGrad logistic", C=4.0, fit_intercept=False)
    model.partial_fit(np.array([[125.0, 0.0], [125.0, 1.0]]), [1, 1], classes=[-1, 1])  # margins 0 and 500
    assert model.coef_.tolist() == [[4.0, 0.0]]
