"""A label budget that lasts: steering, paid labels and what they say of all rows, questions open, late or cancelled."""

import pickle
import warnings
from math import sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq

from pa_lab import KernelPAClassifier, PAClassifier
from pa_lab.plain import active, average, step
from pa_lab.queries import estimate, solve_delta
from test_active import draws_of, stream

AUTO = {"query": "margin", "delta": "auto", "random_state": 3}
WINDOW, EVERY, MIXED = 256, 32, 0.1  # as the article has them


def spending(n=3000, seed=0, drift=1.0):
    """Rows with one positive in five, whose length grows by the factor ``drift`` along the stream."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.where(X @ [1.0, -0.5, 0.3, 0.0, 0.0] + 0.4 * rng.normal(size=n) > 1.0, 1, -1)
    return X * np.geomspace(1.0, drift, n)[:, np.newaxis], y


def plain_steering(X, y, draws, budget, C=1.0):
    """The steered rule, slowly: the weights after each row, and the log of paid labels."""
    w, path, paid, sizes, delta = np.zeros(X.shape[1]), [], [], [], 0.0
    for t in range(len(y)):
        p, rate = w @ X[t], (budget - len(paid)) / (len(y) - t)
        if p != 0.0:
            sizes.append(abs(p))
        if p != 0.0 and len(sizes) % EVERY == 0:
            recent = np.array(sizes[-WINDOW:])
            delta = delta or recent.mean()
            for _ in range(6):
                q = delta / (delta + recent)
                x = np.clip((min(rate, 1) * len(recent) - q.sum()) / (q * (1 - q)).sum(), -4, 4)
                delta = delta * (1 + x) if x > 0 else delta / (1 - x)
        q = rate if len(sizes) < EVERY or p == 0.0 else (1 - MIXED) * delta / (delta + abs(p)) + MIXED * rate
        if rate > 0 and draws[t] < (1.0 if rate >= 1 else q):
            paid.append([t, min(q, 1.0) if rate < 1 else 1.0, p, y[t], (p > 0) != (y[t] > 0)])
            w = w + step(1 - y[t] * p, X[t] @ X[t], C, "PA-I") * y[t] * X[t]
        path.append(w)
    return np.array(path), np.array(paid)


@pytest.mark.parametrize("budget", [2, 90, 700, 5000])
@pytest.mark.parametrize("drift", [1.0, 1000.0])
def test_steering_is_the_plain_loop(budget, drift):
    X, y = spending(drift=drift)
    X[::40] = 0.0  # rows of which the weights say nothing
    path, paid = plain_steering(X, y, draws_of(3, len(y)), budget)
    model = PAClassifier(fit_intercept=False, label_budget=budget, average=True, **AUTO).fit(X, y)
    np.testing.assert_allclose(np.column_stack(model.paid_labels_), paid, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model._model.last[:-1, 0], path[-1], rtol=1e-7, atol=1e-12)
    counted = path[: int(paid[-1, 0]) + 1] if budget < len(y) else path
    np.testing.assert_allclose(model.coef_[0], average(counted), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, 0.98])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_delta_is_where_the_expected_questions_meet_the_rate(rate, scale):
    sizes = scale * np.abs(np.random.default_rng(0).normal(size=WINDOW)) ** 2
    found = solve_delta(0.0, rate, sizes)
    root = brentq(lambda log: (np.exp(log) / (np.exp(log) + sizes)).mean() - rate, -60, 60)
    for _ in range(3):  # the first time it may be on its way still
        found = solve_delta(found, rate, sizes)
    assert found == pytest.approx(np.exp(root), rel=1e-3)
    assert 0 < solve_delta(0.0, rate, np.zeros(3)) <= 1e100, "scores of 0 are all alike"


def late(model, X, y, delay, block=50):
    """Label as they pass in blocks, the answers ``delay`` rows late."""
    waiting = []
    for at in range(0, len(y), block):
        asked, ids = model.should_query(X[at : at + block], return_ids=True)
        waiting += ids.tolist()
        assert ids.tolist() == (at + np.flatnonzero(asked)).tolist()
        due = [i for i in waiting if i <= at - delay]
        model.partial_fit(X[due], y[due], classes=[-1, 1], asked=due)
        waiting = waiting[len(due) :]
    return model


@pytest.mark.parametrize("drift", [1.0, 0.01, 100.0])
@pytest.mark.parametrize("delay", [None, 500])
def test_a_budget_is_spent_whole_and_evenly(drift, delay):
    for budget in (50, 200, 500):
        ends = []
        for seed in range(10):
            X, y = spending(8000, seed, drift)
            model = PAClassifier(**AUTO | {"random_state": seed}, label_budget=budget, n_rows=len(y))
            if delay:
                late(model, X, y, delay)
                ids = model.open_queries_
                model.partial_fit(X[ids], y[ids], asked=True)
            else:
                model.fit(X, y)
            assert model.n_queries_ == budget == len(model.paid_labels_.row)
            ends.append(np.sort(model.paid_labels_.row)[int(0.9 * budget)] / len(y))
        harsh = delay and drift < 1 and budget == 50  # ten questions wait while the scores shrink
        assert np.quantile(ends, 0.1) > (0.7 if harsh else 0.8)


def test_a_stream_without_end_asks_at_its_rate():
    X, y = spending(20_000, drift=30.0)
    model = PAClassifier(**AUTO, query_rate=0.05).partial_fit(X, y, classes=[-1, 1])
    counts = np.histogram(model.paid_labels_.row, bins=10, range=(0, len(y)))[0]
    assert (abs(counts - 100) < 50).all()
    assert PAClassifier(**AUTO, query_rate=1.0).fit(X, y).n_queries_ == len(y)


KINDS = {
    "linear": lambda **options: PAClassifier(average=True, **options),
    "batches": lambda **options: PAClassifier(batch_size=5, **options),
    "growing": lambda **options: KernelPAClassifier(gamma=0.3, average=True, **options),
    "landmarks": lambda **options: KernelPAClassifier(gamma=0.3, landmarks=20, **options),
    "budget": lambda **options: KernelPAClassifier(gamma=0.3, budget=10, **options),
}


def same(one, other):
    exact = {"rtol": 0.0} if isinstance(one, PAClassifier) else {"rtol": 1e-7, "atol": 1e-9}  # a kernel sums in blocks
    for a, b in zip(one.paid_labels_, other.paid_labels_, strict=True):
        np.testing.assert_allclose(a.astype(float), b.astype(float), **exact)
    np.testing.assert_array_equal(one._counts, other._counts)
    np.testing.assert_allclose(one._questions.memory, other._questions.memory, **exact)
    np.testing.assert_allclose(one._shown_weights(), other._shown_weights(), **exact)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_fit_is_many_calls(kind, n_classes, form):
    X, y = stream(300, n_classes)
    X = form(X)
    whole = KINDS[kind](label_budget=60, **AUTO).fit(X, y)
    assert whole.n_queries_ == 60
    parts, live = (KINDS[kind](label_budget=60, n_rows=300, **AUTO) for _ in range(2))
    for at in range(0, 300, 50):
        parts.partial_fit(X[at : at + 50], y[at : at + 50], classes=range(n_classes))
        parts = pickle.loads(pickle.dumps(parts))
    same(whole, parts)
    if kind not in ("batches", "landmarks"):  # which need more rows than one
        for i in range(300):
            if live.should_query(X[[i]])[0]:
                live.partial_fit(X[[i]], y[[i]], classes=range(n_classes), asked=True)
        same(whole, live)


@pytest.mark.parametrize("query", ["all", "margin", "random"])
def test_rows_after_the_last_question_do_not_count_in_the_mean(query):
    X, y = spending()
    draws = np.zeros(len(y)) if query == "all" else draws_of(3, len(y))
    model = PAClassifier(query=query, query_rate=0.1, label_budget=40, fit_intercept=False, average=True)
    model.set_params(random_state=3).fit(X, y)
    last = model.paid_labels_.row[-1] + 1
    if query != "random":
        path, asked = active(X[:last], y, draws, delta=1.0)
        assert asked.sum() == 40 or query == "all"
        if query == "margin":
            np.testing.assert_allclose(model.coef_[0], average(path), rtol=1e-9, atol=1e-12)
    short = PAClassifier(fit_intercept=False, average=True, query=query, query_rate=0.1, random_state=3)
    np.testing.assert_array_equal(model.coef_, short.fit(X[:last], y[:last]).coef_)
    np.testing.assert_array_equal(model.coef_, model.partial_fit(X, y).coef_)


# ---------------------------------------------------------------- what paid labels say


def test_an_estimate_weighs_each_label_with_the_rows_it_stands_for():
    rng = np.random.default_rng(0)
    values, probability = rng.integers(0, 2, 50), rng.uniform(0.05, 1.0, 50)
    found, rows = estimate(values, probability), sum(1 / q for q in probability)
    mean = sum(z / q for z, q in zip(values, probability, strict=True)) / rows
    error = sqrt(sum((1 - q) * ((z - mean) / q) ** 2 for z, q in zip(values, probability, strict=True))) / rows
    assert found[:2] == pytest.approx((mean, error))
    n = mean * (1 - mean) / error**2  # Wilson: the shares whose own error would put the mean at 1.96 errors
    for end in found[2:]:
        assert abs(mean - end) == pytest.approx(1.96 * sqrt(end * (1 - end) / n))
    assert estimate(np.zeros(20), np.full(20, 0.5)).high > 0.05, "none among twenty is not none at all"


@pytest.mark.parametrize("budget", [100, 400])
def test_intervals_cover_the_share_of_positives_and_of_mistakes(budget):
    covered = []
    for seed in range(100):
        X, y = spending(6000, seed)
        model = PAClassifier(label_budget=budget, **AUTO | {"random_state": seed}).fit(X, y)
        paid = model.paid_labels_
        w = np.zeros(6)  # the weights by which each row was judged, from the log alone
        wrong, at = np.zeros(len(y), bool), 0
        for row, label in zip(paid.row, paid.label, strict=True):
            x = np.append(X[row], 1.0)
            wrong[at : row + 1] = (X[at : row + 1] @ w[:5] + w[5] > 0) != (y[at : row + 1] > 0)
            w, at = w + step(1 - label * (x @ w), x @ x, 1.0, "PA-I") * label * x, row + 1
        for values, truth in ((paid.label == 1, (y[:at] == 1).mean()), (paid.mistake, wrong[:at].mean())):
            found = estimate(values, paid.probability)
            covered.append(found.low <= truth <= found.high)
    assert 0.9 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize(
    ("values", "probability", "words"),
    [
        ([], [], r"for one label at least; got array\(\[\]"),
        ([1, 0], [0.5], "mismatch"),
        ([2], [0.5], r"values must lie between 0 and 1, .* got array\(\[2"),
        ([1], [0.0], "known probability above 0"),
        ([1], [np.nan], "query='threshold' asks for some rows always and for others never"),
    ],
)
def test_an_estimate_refuses_what_it_cannot_judge(values, probability, words):
    with pytest.raises(ValueError, match=words):
        estimate(values, probability)


# ---------------------------------------------------------------- questions open, late, cancelled; labels one has


@pytest.mark.parametrize("delta", [1.0, "auto"])
def test_late_answers_in_any_order_cancelled_questions_and_a_restart(delta):
    X, y = spending(1000)
    rng = np.random.default_rng(1)
    model = PAClassifier(**AUTO | {"delta": delta}, label_budget=80, n_rows=1000)
    waiting, answers, cancelled = [], [], []
    for at in range(0, 1000, 40):
        waiting += model.should_query(X[at : at + 40], return_ids=True)[1].tolist()
        rng.shuffle(waiting)
        gone, waiting = waiting[:1], waiting[1:]
        model.cancel_queries(gone)
        cancelled += gone
        for _annotator in range(2):
            some, waiting = waiting[: len(waiting) // 3], waiting[len(waiting) // 3 :]
            if some:
                model.partial_fit(X[some], y[some], classes=[-1, 1], asked=some)
                answers += some
        if at == 480:
            model = pickle.loads(pickle.dumps(model))
        assert sorted(model.open_queries_) == sorted(waiting)
    plain = PAClassifier()
    for i in answers:
        plain.partial_fit(X[[i]], y[[i]], classes=[-1, 1])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert len(cancelled) > 20 and model.n_queries_ == len(answers) + len(waiting) <= 80
    assert model.paid_labels_.row.tolist() == answers
    assert (model.n_seen_, model._counts[4]) == (1000, len(waiting))


def test_labels_that_cost_nothing():
    X, y = spending(1000)
    model = PAClassifier(label_budget=50, n_rows=900, average=True, **AUTO)
    model.partial_fit(X[:100], y[:100], classes=[-1, 1], asked="free")
    assert model.coef_.tolist() == PAClassifier(average=True).fit(X[:100], y[:100]).coef_.tolist()
    assert (model.n_seen_, model.n_queries_, len(model.paid_labels_.row)) == (100, 0, 0)
    model.partial_fit(X[100:], y[100:])
    assert (model.n_seen_, model.n_queries_) == (1000, 50)
    assert model.paid_labels_.row[0] >= 100 and model.paid_labels_.row[45] > 700


X, Y = spending(60)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": "random", "query_rate": 0.5}, "delta='auto' goes with query='margin' and max_iter=1; got query="),
        ({"max_iter": 2}, "goes with query='margin' and max_iter=1; got query='margin' and max_iter=2"),
        ({"label_budget": None}, "needs a label_budget to spread or, for a stream without end, a query_rate"),
        ({"n_rows": 60, "query_rate": 0.1}, "either n_rows, .* or query_rate, .* got both"),
        ({"n_rows": 0}, "'n_rows' parameter of PAClassifier must be"),
        ({"delta": "automatic"}, "'delta' parameter of PAClassifier must be .*{'auto'}. Got 'automatic'"),
        ({"label_budget": 1}, "label_budget=1 is below the number of classes, 2"),
    ],
)
def test_what_does_not_go_with_steering_is_named(options, words):
    with pytest.raises(ValueError, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PAClassifier(**AUTO | {"label_budget": 20} | options).fit(X, Y)


def test_steering_asks_for_the_number_of_rows():
    for call in (lambda model: model.partial_fit(X, Y, classes=[-1, 1]), lambda model: model.should_query(X)):
        with pytest.raises(ValueError, match=r"say how many there will be, n_rows=.*query_rate="):
            call(PAClassifier(label_budget=5, **AUTO))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([59], "the question 59 is not open: it was never asked, has its answer or was cancelled"),
        ([0, 0], "the question 0 is not open"),
        (np.arange(60) < 2, "a question goes by its identifier, .* got array"),
        ("paid", "For labels that cost nothing pass asked='free'"),
        (None, "a question goes by its identifier"),
        (True, "y holds 2 labels for 10 questions"),
    ],
)
def test_an_answer_that_nobody_asked_for_changes_nothing(asked, words):
    model = PAClassifier(query="margin", label_budget=10)
    model.should_query(X)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X[:2], Y[:2], classes=[-1, 1], asked=asked)
    assert pickle.dumps(model) == before
    hole = np.where(X[0, 0] == X[:10], np.nan, X[:10])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(hole, Y[:10], classes=[-1, 1], asked=True)
    assert pickle.dumps(model) == before


def test_before_the_first_answer_there_are_no_paid_labels_and_maybe_open_questions():
    model = PAClassifier(query="margin", label_budget=3)
    assert model.open_queries_.tolist() == [] == list(model.paid_labels_.label)
    model.should_query(X[:5])
    assert model.open_queries_.tolist() == [0, 1, 2] and len(model.paid_labels_.row) == 0


def test_asking_does_not_copy_the_open_questions():
    model = PAClassifier(query="margin")
    model.should_query(np.zeros((1000, 2)))
    before = model._questions.open[0]
    model.should_query(np.zeros((1, 2)))
    assert model._questions.open[0] is before and model.open_queries_.tolist() == [*range(1001)]
