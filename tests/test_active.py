"""Asking for labels: which rows, how often, at what score, and that no other label is ever read."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.exceptions import NotFittedError

from oracles import pa_active
from pa_lab import PAClassifier
from pa_lab.queries import QUERIES, THRESHOLD, query_probability
from pa_lab.study.experiments import trace

RULES = {
    "all": {"query": "all"},
    "margin": {"query": "margin", "delta": 0.3},
    "random": {"query": "random", "query_rate": 0.4},
    "threshold": {"query": "threshold", "delta": 0.5},
    "budget": {"query": "margin", "delta": 0.3, "label_budget": 25},
}
assert {rule["query"] for rule in RULES.values()} == set(QUERIES)
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def stream(n=200, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X @ [1.0, -0.5, 0.3, 0.0] + 0.4 * rng.normal(size=n), np.linspace(-0.5, 0.5, n_classes - 1))
    return X, y


def draws_of(seed, n):
    return np.random.default_rng(seed).spawn(2)[1].random(n)


@each_rule
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II", "PALS"])
def test_equal_to_the_plain_loop(variant, rule):
    X, y = stream()
    model = PAClassifier(variant, C=0.5, random_state=3, **rule).fit(X, y)
    options = {name: value for name, value in rule.items() if name != "query"}
    slow = pa_active(X, 2 * y - 1, draws_of(3, len(y)), variant, C=0.5, rule=rule["query"], **options)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), np.append(slow["w"], slow["b"]), atol=1e-10)
    assert (model.n_queries_, model.n_updates_) == (slow["n_queries"], slow["n_updates"])
    assert model.n_mistakes_ == slow["n_mistakes_queried"]
    assert trace(model, X, 2 * y - 1)["asked"].to_numpy().nonzero()[0].tolist() == slow["queried"]


def surprise(steps, probability):
    """p-value of the queries given the probabilities they should have had: chi-square over ten bins of |p|."""
    bins = np.searchsorted(np.quantile(steps["score"].abs(), np.linspace(0.1, 0.9, 9)), steps["score"].abs())
    excess = np.bincount(bins, steps["asked"] - probability, minlength=10)
    variance = np.bincount(bins, probability * (1 - probability), minlength=10)
    return stats.chi2.sf((excess**2 / variance).sum(), 10)


def test_frequency_of_asking_by_margin():
    X, y = stream(20_000)
    steps = trace(PAClassifier(query="margin", delta=0.7, random_state=1), X, 2 * y - 1)
    p = steps["score"].abs()
    assert surprise(steps, 0.7 / (0.7 + p)) > 0.01
    assert surprise(steps, 0.8 / (0.8 + p)) < 1e-6, "the test must see a wrong delta"


def test_frequency_of_asking_at_random():
    X, y = stream(20_000)
    for rate in (0.0, 0.03, 0.5, 1.0):
        models = [PAClassifier(query="random", query_rate=rate, random_state=seed) for seed in range(20)]
        n = sum(model.fit(X, y).n_queries_ for model in models)
        assert stats.binomtest(n, 20 * len(y), rate).pvalue > 0.01
    assert stats.binomtest(n, 20 * len(y), 0.99).pvalue < 1e-6, "the test must see a wrong rate"


@each_rule
def test_only_one_rule_asks_always_and_what_leaves_nothing_to_chance_has_no_probability(rule):
    code, options = QUERIES.index(rule["query"]), (rule.get("delta", 1.0), rule.get("query_rate", 0.0))
    found = {query_probability(code, p, *options) for p in (0.0, 0.1, 1.0, -1e9)}
    assert (found == {1.0}) == (rule["query"] == "all")
    paid = PAClassifier(random_state=0, **rule | {"label_budget": 150}).fit(*stream()).paid_labels_.probability
    assert len(paid) and np.isnan(paid).all() == (found == {0.0, 1.0})


def test_threshold_asks_exactly_below_it():
    X, y = stream(2000)
    steps = trace(PAClassifier(query="threshold", delta=0.4), X, 2 * y - 1)
    assert (steps["asked"] == (steps["score"].abs() <= 0.4)).all()
    assert 0 < steps["asked"].sum() < 2000


@pytest.mark.parametrize("delta", [0.4, 1.0, 3.0])
def test_threshold_asks_at_delta_itself(delta):
    beyond = np.nextafter(delta, 10.0)
    for p, asks in ((delta, 1.0), (-delta, 1.0), (beyond, 0.0), (-beyond, 0.0), (0.0, 1.0)):
        assert query_probability(THRESHOLD, p, delta, 0.0) == asks
    model = PAClassifier("PA", fit_intercept=False, query="threshold", delta=delta).fit([[1.0], [-1.0]], [1, 0])
    model.coef_ = [[delta]]
    assert model.should_query([[1.0], [-1.0], [2.0]]).tolist() == [True, True, False]


@pytest.mark.parametrize("query", ["all", "margin", "random"])
@pytest.mark.parametrize("budget", [0, 1, 30])
def test_budget_stops_the_asking(query, budget):
    X, y = stream()
    free = trace(model := PAClassifier(query=query, delta=0.5, query_rate=0.5, random_state=2), X, 2 * y - 1)
    held = trace(model.set_params(label_budget=budget), X, 2 * y - 1)
    first = free["asked"].to_numpy().nonzero()[0][:budget]
    assert held["asked"].to_numpy().nonzero()[0].tolist() == first.tolist()
    assert (model.n_queries_, model.n_seen_) == (budget, len(y))
    model.partial_fit(X, 2 * y - 1)
    assert (model.n_queries_, model.n_seen_) == (budget, 2 * len(y)), "the budget is for the whole life of the model"


@each_rule
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_asking_from_outside_equals_one_fit(rule, n_classes, average, kind):
    X, y = stream(120, n_classes)
    X = kind(X)
    whole = PAClassifier(average=average, random_state=5, **rule).fit(X, y)
    live = PAClassifier(average=average, random_state=5, **rule)
    for i in range(len(y)):
        if live.should_query(X[[i]])[0]:
            live.partial_fit(X[[i]], y[[i]], classes=range(n_classes), asked=True)
    for name in ("coef_", "intercept_"):
        assert getattr(live, name).tobytes() == getattr(whole, name).tobytes()
    for name in ("n_seen_", "n_queries_", "n_updates_", "n_mistakes_"):
        assert getattr(live, name) == getattr(whole, name)


def test_asking_before_the_first_label():
    X, y = stream()
    model = PAClassifier(query="margin", delta=1e-6, label_budget=30)
    assert model.should_query(X[:20]).all(), "the score of every row is still 0"
    assert (model.n_seen_, model.n_queries_, model.n_updates_) == (20, 20, 0)
    assert model.should_query(X[20:40]).sum() == 10, "no more than the budget, within a batch too"
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="4 features"):
        model.partial_fit(X[:5, :2], y[:5], classes=[0, 1], asked=True)
    with pytest.raises(ValueError, match="y holds 20 labels for 30 questions"):
        model.partial_fit(X[:20], y[:20], classes=[0, 1], asked=True)
    model.partial_fit(X[:20], y[:20], classes=[0, 1], asked=range(20))
    assert (model.n_seen_, model.n_queries_, model.open_queries_.tolist()) == (40, 30, [*range(20, 30)])
    assert model.fit(X, y).n_seen_ == len(y), "fit starts again"
