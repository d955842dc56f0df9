"""Nothing is lost without a word: weights that do nothing, rules that stop asking, targets in large units."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import cross_val_score

from pa_lab import KernelPAClassifier, PAClassifier, PARegressor, plain

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 30))
Y = np.where(X[:, 0] + RNG.standard_normal(2000) > 2.0, 1, 0)
GIVEN = [{"class_weight": {0: 1, 1: 50}}, {"class_weight": "balanced"}, {"sample_weight": 1.0 + 49.0 * Y}]


def fitted(C=1.0, sample_weight=None, rows=slice(None), **options):
    return PAClassifier(C=C, **options).fit(X[rows], Y[rows], sample_weight=sample_weight)


@pytest.mark.parametrize("given", GIVEN, ids=["dict", "balanced", "rows"])
def test_weights_that_shortened_no_step_are_told_of(given):
    with pytest.warns(UserWarning, match="factors on C=1, which shortened hardly .* cost=.*smaller C") as said:
        fitted(**given)
    begin = float(str(said[0].message).split("below about ")[1].rstrip("."))
    for C in (begin, 0.005):  # here they act, and nothing is said
        model = fitted(C=C, **given)
        assert model.n_capped_ > 0.1 * model.n_updates_
    model = fitted(C=10 * begin)
    assert model.n_capped_ < 0.01 * model.n_updates_


def test_a_stream_with_idle_weights_is_told_once():
    model = PAClassifier(class_weight={1: 50, 0: 1})
    with pytest.warns(UserWarning, match="next to nothing") as said:
        for start in range(0, 2000, 10):
            model.partial_fit(X[start : start + 10], Y[start : start + 10], classes=[0, 1])
    assert len(said) == 1 and said[0].filename == __file__


def test_what_is_lost_in_each_fit_of_a_loop_has_the_same_text():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for part in np.split(np.arange(2000), 5):
            fitted(class_weight={1: 50, 0: 1}, rows=part)
    assert len(said) == 5 and len({str(each.message) for each in said}) == 1


def test_a_warning_from_cross_validation_points_at_the_line_that_called_it():
    with pytest.warns(UserWarning, match="next to nothing") as said:
        cross_val_score(PAClassifier(class_weight={1: 50, 0: 1}), X, Y)
    assert {each.filename for each in said} == {__file__}


@pytest.mark.parametrize("variant", ["PA-I", "PA-II", "PALS"])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_steps_shortened_by_more_than_a_tenth_are_counted(variant, batch_size):
    model, capped = PAClassifier(variant, C=0.02, batch_size=batch_size), 0
    for start in range(0, 400, batch_size):
        x, labels = X[start : start + batch_size], Y[start : start + batch_size]
        y, before = 2 * labels - 1, 1.0
        if start:
            before = 1 - y * model.decision_function(x)
        left = 1 - y * model.partial_fit(x, labels, classes=[0, 1]).decision_function(x)
        before, left = (before, left) if variant == "PALS" else (np.maximum(before, 0.0), np.maximum(left, 0.0))
        capped += np.sum(np.abs(left) > 0.1 * np.abs(before))
    assert abs(model.n_capped_ - capped) < 0.05 * capped and 0 < model.n_capped_ <= model.n_updates_
    assert batch_size > 1 or model.n_capped_ == capped


# ---------------------------------------------------------------- costs


COST = {0: 1.0, 1: 9.0}


def test_a_cost_of_two_classes_takes_the_steps_of_the_paper():
    y = 2 * Y - 1
    path = plain.linear(X, y, C=0.05, loss=plain.costly, cost={-1: 1.0, 1: 9.0})
    model = PAClassifier(C=0.05, fit_intercept=False, cost=COST).fit(X, Y)
    np.testing.assert_allclose(model.coef_[0], path[-1], rtol=1e-9, atol=1e-12)
    scaled = np.where(y > 0, 3.0, 1.0)  # a margin of 3 on x is one of 1 on x / 3
    same = PAClassifier(C=0.05, fit_intercept=False).fit(X / scaled[:, None], Y, sample_weight=scaled)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_costs_of_several_classes_take_the_steps_of_the_paper(variant):
    y, cost = np.digitize(X[:300, 0], [-1, 1]), RNG.uniform(0.5, 9.0, (3, 3))
    examples = list(zip(X, y, strict=False))
    path = plain.learn(plain.max_loss, np.zeros((3, 30)), examples, 0.05, variant, cost=cost * (1 - np.eye(3)))
    model = PAClassifier(variant, C=0.05, fit_intercept=False, cost=cost).fit(X[:300], y)
    np.testing.assert_allclose(model.coef_, path[-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("held", [{}, {"budget": 500}, {"landmarks": 200}], ids=str)
def test_kernels_take_the_steps_of_costs(held):
    rows, y = X[:200, :3], Y[:200]
    options = {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0, "C": 0.05}
    K = (rows @ rows.T + 1.0) ** 2
    a = plain.kernel(K, 2 * y - 1, C=0.05, loss=plain.costly, cost={-1: 1.0, 1: 9.0})
    model = KernelPAClassifier(**options, **held, cost=COST).fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), K @ a, rtol=1e-6, atol=1e-8)


def test_a_batch_asks_for_the_margins_of_its_costs():
    model = PAClassifier("PALS", C=1e6, fit_intercept=False, cost=COST, batch_size=10).fit(X[:10], [0, 1] * 5)
    np.testing.assert_allclose(model.decision_function(X[:10]), [-1, 3] * 5, rtol=1e-4)


def test_a_cost_acts_at_the_default_C_where_weights_do_not():
    plain_model, costly = fitted(average=True), fitted(average=True, cost={1: 100.0})
    assert plain_model.predict(X)[Y == 1].mean() + 0.1 < costly.predict(X)[Y == 1].mean()


# ---------------------------------------------------------------- asking


@pytest.mark.parametrize("ask", ["fit", "partial_fit", "should_query"])
def test_a_frozen_threshold_is_told_of(ask):
    model = PAClassifier(query="threshold", delta=0.01, intercept_scaling=10.0, random_state=0)
    with pytest.warns(UserWarning, match="query='threshold' with delta=0.01 asked for hardly a label"):
        if ask == "fit":
            model.fit(X, Y)
        for x, y in zip(X[:, None], Y, strict=True):
            if ask == "partial_fit":
                model.partial_fit(x, [y], classes=[0, 1])
            elif ask == "should_query" and model.should_query(x)[0]:
                model.partial_fit(x, [y], classes=[0, 1], asked=True)


@pytest.mark.parametrize(("given", "words"), [
    ({"delta": 0.5}, "delta=0.5 has no effect with query='all': set query='margin' or query='threshold'"),
    ({"query_rate": 0.5, "query": "margin"}, "query_rate=0.5 has no effect with query='margin': set query='random'"),
])  # fmt: skip
def test_parameters_of_another_query_rule_are_told_of(given, words):
    with pytest.warns(UserWarning, match=words):
        fitted(**given)


def test_a_label_budget_without_a_query_means_the_first_rows():
    first = PAClassifier().partial_fit(X[:50], Y[:50], classes=[0, 1])
    np.testing.assert_array_equal(fitted(label_budget=50).coef_, first.coef_)


# ---------------------------------------------------------------- regression


LARGE = "C=1 shortened .* no better than a constant. C and epsilon are in units of y"


def test_targets_in_large_units_are_told_of():
    y = 200_000 + 70_000 * X[:, 0]
    with pytest.warns(UserWarning, match=LARGE):
        assert PARegressor().fit(X, y).score(X, y) < 0
    assert PARegressor().fit(X, (y - y.mean()) / y.std()).score(X, (y - y.mean()) / y.std()) > 0.9
    assert PARegressor(C=1e5, epsilon=1e3).fit(X, y).score(X, y) > 0.9


def streamed(model, y, size):
    for start in range(0, 2000, size):
        model.partial_fit(X[start : start + size], y[start : start + size])


@pytest.mark.parametrize("size", [1, 700])
def test_a_stream_of_targets_in_large_units_is_told_of_once(size):
    y = 200_000 + 70_000 * X[:, 0]
    with pytest.warns(UserWarning, match=LARGE) as said:
        streamed(PARegressor(), y, size)
    assert len(said) == 1 and said[0].filename == __file__
    for model in (PARegressor(C=1e5, epsilon=1e3), PARegressor(C=0.001)):  # these learn, and nothing is said
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            streamed(model, y if model.C > 1 else X[:, 0], size)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_columns_of_very_unlike_scale_are_told_of_once(learn):
    with pytest.warns(UserWarning, match="a column of X is more than 100 times as large as half of the others") as said:
        model = getattr(PARegressor(), learn)(X * np.r_[1000.0, np.ones(29)], X[:, 1])
        model.partial_fit(X * np.r_[1000.0, np.ones(29)], X[:, 1])
    assert len(said) == 1 and said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(PARegressor(), learn)(X * np.r_[10.0, 0.0, np.ones(28)], X[:, 1])


# ---------------------------------------------------------------- smaller


def test_whole_numbers_in_an_object_array_are_labels():
    labels = (Y + 3).astype(object)
    model = PAClassifier().fit(X, labels)
    assert model.classes_.dtype.kind == "i" and set(model.predict(X)) <= {3, 4}


@pytest.mark.parametrize("small", [1e-160, 3e-155])
def test_rows_whose_squared_norm_is_subnormal_are_refused_where_the_step_would_miss(small):
    rows = np.array([[small, 2 * small]])
    with pytest.raises(ValueError, match=r"so small .* norms or weights overflow or vanish"):
        PAClassifier("PA", fit_intercept=False).partial_fit(rows, [1], classes=[0, 1])


def test_the_old_name_leads_to_the_old_class():
    import pa_lab

    with pytest.raises(AttributeError, match=r"from pa_lab\.compat import PassiveAggressiveClassifier"):
        pa_lab.PassiveAggressiveClassifier  # noqa: B018


@pytest.mark.parametrize(
    "form", [list, np.array, lambda texts: np.array(texts, dtype=object)], ids=["list", "array", "object"]
)
def test_rows_of_text_are_refused_with_a_way_out(form):
    with pytest.raises(ValueError, match=r"X holds text \(could .*'abc'.*let the kernel look them up"):
        KernelPAClassifier(kernel=lambda a, b: a @ b.T).fit(form(["abc", "b"]), [0, 1])


def test_averaged_prediction_of_a_short_sparse_row_works_out_the_mean_of_its_features_only():
    width = 2**18
    rows = scipy.sparse.random_array((200, width), density=20 / width, format="csr", rng=1)
    model = PAClassifier(average=True).fit(rows, Y[:200])
    whole = model._scores(rows, model._shown_weights())[:, 0]
    model._shown_weights = None  # what works out all of it
    np.testing.assert_array_equal([model.decision_function(rows[i : i + 1])[0] for i in range(200)], whole)
