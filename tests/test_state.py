"""A learner's weights are its state: one copy, honoured when edited, as they were after a call that fails."""

import ast
import copy
import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from pa_lab.notices import of_long_runs

RNG = np.random.default_rng(0)
X, Y3, Y2 = RNG.normal(size=(90, 7)), RNG.integers(0, 3, 90), RNG.choice([-1, 1], 90)
LEARNERS = {
    "two": (PAClassifier("PA-I", C=0.3), Y2),
    "two averaged": (PAClassifier("PA-II", C=0.3, average=True), Y2),
    "three": (PAClassifier("PA-I", C=0.3), Y3),
    "three averaged": (PAClassifier("PA-I", C=0.3, average=True), Y3),
    "rest": (PAClassifier("PA-I", C=0.3, multi_class="ovr"), Y3),
    "regression": (PARegressor("PA-I", C=0.3), X[:, 0] + Y2),
    "batches": (PAClassifier("PA-II", C=0.3, batch_size=4), Y3),
}
each = pytest.mark.parametrize("name", LEARNERS)
each_form = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])


def learner(name):
    model, y = LEARNERS[name]
    return clone(model), y


def state(model):
    return [np.array(a) for a in (model.coef_, model.intercept_, model._model.last, model._model.drift, model._counts)]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# ---------------------------------------------------------------- one copy


@each
def test_weights_are_held_once(name):
    model, y = learner(name)
    model.fit(X, y)
    assert np.shares_memory(model.coef_, model._model.last) != bool(model.average)
    wide = np.zeros((2, 20_000))
    wide[1] = 1.0
    big = clone(model).fit(wide, [0, 1])
    assert len(pickle.dumps(big)) < 8 * 20_000 * (2 if model.average else 1) + 5000


@each
def test_an_edit_of_the_weights_is_honoured(name):
    model, y = learner(name)
    model.fit(X, y)
    if model.average:
        with pytest.raises(ValueError, match="read-only"):
            model.coef_[..., 0] = 5.0
    else:
        edited = clone(model).fit(X, y)
        edited.coef_[..., 0] = 5.0
        assert (edited._model.last[0] == 5.0).all()
        assert not np.array_equal(edited.predict(X), model.predict(X))
    other = clone(model).fit(X[::-1], y[::-1])
    model.coef_, model.intercept_ = other.coef_, other.intercept_
    assert np.array_equal(model.coef_, other.coef_) and np.array_equal(model.intercept_, other.intercept_)
    if not model.average:
        assert np.array_equal(model.partial_fit(X, y).coef_, other.partial_fit(X, y).coef_)


# ---------------------------------------------------------------- all or nothing, in place


@each
@each_form
def test_a_refused_call_leaves_every_bit(name, form):
    model, y = learner(name)
    model.fit(form(X), y)
    before = state(model)
    bad = np.vstack([X[:20], np.full((1, 7), 1e200)])
    with pytest.raises(ValueError, match="so large"):
        model.partial_fit(form(bad), y[:21])
    assert same(state(model), before)


def test_one_sparse_row_touches_only_its_own_features():
    model = PAClassifier().partial_fit(sp.csr_matrix(([1.0], ([0], [3])), shape=(1, 1000)), [1], classes=[0, 1])
    weights = model._model.last
    model.partial_fit(sp.csr_matrix(([1.0], ([0], [7])), shape=(1, 1000)), [0])
    assert model._model.last is weights
    assert np.flatnonzero(weights).tolist() == [3, 7, 1000]


def test_a_short_sparse_row_that_overflows_gets_its_sentence():
    model = PAClassifier().partial_fit(sp.csr_matrix(([1.0], ([0], [3])), shape=(1, 1000)), [1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"so large or so small \(X up to 1e\+200\)"):
        model.partial_fit(sp.csr_matrix(([1e200], ([0], [7])), shape=(1, 1000)), [0])


def test_a_warm_start_on_short_sparse_rows_is_a_partial_fit():
    wide = sp.csr_matrix(([1.0, 2.0], ([0, 1], [3, 900])), shape=(2, 1000))
    model, other = (PAClassifier(warm_start=True).fit(wide, [0, 1]) for _ in range(2))
    np.testing.assert_array_equal(model.fit(wide, [1, 0]).coef_, other.partial_fit(wide, [1, 0]).coef_)


# ---------------------------------------------------------------- rows that cannot be learnt from


@each_form
def test_a_row_too_small_to_square_is_accepted_where_it_has_no_loss(form):
    X, y = np.array([[1e-170], [1.0]]), np.array([0.05, 2.1])
    assert PARegressor("PA", epsilon=0.1, fit_intercept=False).fit(form(X), y).coef_[0] == pytest.approx(2.0)


# ---------------------------------------------------------------- sample weights, constants, stopping


@pytest.mark.parametrize("variant", ["PA-I", "PA-II", "PALS"])
def test_a_sample_weight_multiplies_C(variant):
    weights = RNG.uniform(0.1, 3.0, len(X))
    model = PAClassifier(variant, C=0.1).fit(X, Y2, sample_weight=weights)
    by_row = PAClassifier(variant, C=0.1).partial_fit(X[:1], Y2[:1], [-1, 1], sample_weight=weights[:1])
    for i in range(1, len(X)):
        by_row.set_params(C=0.1 * weights[i]).partial_fit(X[i : i + 1], Y2[i : i + 1])
    np.testing.assert_allclose(model.coef_, by_row.coef_, rtol=1e-12)


def test_weights_that_mean_nothing_are_refused():
    for weights, words in (
        (-np.ones(90), "finite numbers >= 0; got -1"),
        (np.ones(3), r"sample_weight must hold finite numbers and have the shape \(90,\); got \(3,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            PAClassifier().fit(X, Y2, sample_weight=weights)
    with pytest.raises(ValueError, match="variant='PA' does not have"):
        PAClassifier("PA").fit(X, Y2, sample_weight=np.full(90, 2.0))
    with pytest.raises(ValueError, match="variant='PA' does not have"):
        PAClassifier("PA", class_weight="balanced").fit(X, Y2)
    with pytest.raises(ValueError, match="sample_weight must hold numbers; got 'a'"):
        PAClassifier().fit(X, Y2, sample_weight=["a"] * 90)
    with pytest.raises(ValueError, match="zero on all rows"):
        PARegressor().fit(X, Y2, sample_weight=np.zeros(90))


def test_a_weight_of_zero_in_a_stream_is_no_step():
    model = PAClassifier().partial_fit(X[:1], Y2[:1], [-1, 1], sample_weight=[0.0])
    assert not model.coef_.any() and (model.n_seen_, model.n_updates_) == (1, 0)
    assert not PARegressor().partial_fit(X[:1], [0.5], sample_weight=[0.0]).coef_.any()
    assert model.partial_fit(X[:0], Y2[:0]).n_seen_ == 1, "a call without rows leaves all as it was"


def test_weights_of_one_are_no_weights():
    ones = PAClassifier("PA").fit(X, Y2, sample_weight=np.ones(90))
    assert np.array_equal(ones.coef_, PAClassifier("PA").fit(X, Y2).coef_)


@each
@pytest.mark.parametrize("scaling", [0.1, 3.0])
def test_the_intercept_is_a_weight_on_a_constant_feature(name, scaling):
    model, y = learner(name)
    inside = clone(model).set_params(fit_intercept=False).fit(np.c_[X, np.full(len(X), scaling)], y)
    model.set_params(intercept_scaling=scaling).fit(X, y)
    coef = np.atleast_2d(inside.coef_)
    np.testing.assert_allclose(np.atleast_2d(model.coef_), coef[:, :-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, coef[:, -1] * scaling, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tol", [None, 0.01])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_early_stopping_by_hand(n_classes, tol):
    """Passes over the rows that are not held out, until six of them bring the held-out loss down no further."""
    regression, way = n_classes == 1, X @ np.arange(1.0, 8.0)
    y = way if regression else np.digitize(way, np.quantile(way, [0.4, 0.8][1 - n_classes :]))
    model = (PARegressor if regression else PAClassifier)(C=0.01)
    stopped = clone(model).set_params(max_iter=200, early_stopping=True, n_iter_no_change=6, validation_fraction=0.4,
                                      tol=tol, random_state=0).fit(X, y)  # fmt: skip
    split = int(np.random.default_rng(0).spawn(2)[0].integers(np.iinfo(np.int32).max))
    groups = None if regression else y
    train, held_out = map(np.sort, train_test_split(np.arange(90), test_size=0.4, random_state=split, stratify=groups))
    best, passes, since = np.inf, 0, 0
    while since < 6:
        model.partial_fit(X[train], y[train], **({} if regression else {"classes": range(n_classes)}))
        predicted = model.predict(X[held_out])
        loss = np.mean((predicted - y[held_out]) ** 2 if regression else predicted != y[held_out])
        since = 0 if loss < best - (tol or 0.0) else since + 1
        best, passes = min(best, loss), passes + 1
    assert stopped.n_iter_ == passes > 7 and np.array_equal(stopped.coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tol": 1e-3}, "tol=0.001 and .* needs several passes"),
        ({"early_stopping": True}, "early_stopping=True: a stopping rule needs several passes"),
        ({"early_stopping": True, "max_iter": 9, "validation_fraction": 0.001}, "test_size"),
        ({"early_stopping": True, "max_iter": 9, "validation_fraction": 0.999}, "train_size"),
    ],
)
def test_stopping_rules_that_cannot_work_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        PAClassifier(**options).fit(X, Y2)


# ---------------------------------------------------------------- one against the rest


@pytest.mark.parametrize("average", [False, True])
@each_form
def test_one_against_the_rest_is_a_learner_for_each_class(average, form):
    model = PAClassifier("PA-I", C=0.3, multi_class="ovr", average=average).fit(form(X), Y3)
    for k in range(3):
        single = PAClassifier("PA-I", C=0.3, average=average).fit(form(X), np.where(k == Y3, 1, 0))
        np.testing.assert_allclose(model.coef_[k], single.coef_[0], rtol=1e-12)
        np.testing.assert_allclose(model.intercept_[k], single.intercept_[0], rtol=1e-12)


# ---------------------------------------------------------------- warnings


def test_rows_sorted_by_class_are_warned_of():
    order = np.argsort(Y3, kind="stable")
    with pytest.warns(UserWarning, match="long runs"):
        PAClassifier().fit(X[order], Y3[order])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PAClassifier(shuffle=True).fit(X[order], Y3[order])
        PAClassifier().fit(X, Y3)


@pytest.mark.parametrize(("n", "runs", "warned"), [(1000, 8, True), (1000, 12, False), (60, 2, True), (60, 3, False)])
def test_runs_are_long_if_labels_change_fifty_times_less_than_by_chance(n, runs, warned):
    """1000 rows, half of each class: about 500 changes by chance, a fiftieth of them is 10. Sorted rows are long."""
    codes = np.repeat(np.resize([-1.0, 1.0], runs), -(-n // runs))[:n]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        of_long_runs(codes, 2)
    assert bool(heard) == warned


def test_answers_outstanding_are_warned_of():
    model = PAClassifier(query="margin", random_state=0).partial_fit(X, Y2, classes=[-1, 1])
    asked = model.should_query(X)
    with pytest.warns(UserWarning, match="pass asked=True"):
        model.partial_fit(X[asked], Y2[asked])
    model = PAClassifier(query="margin", random_state=0).partial_fit(X, Y2, classes=[-1, 1])
    asked = model.should_query(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[asked], Y2[asked], asked=True)
        model.partial_fit(X, Y2)


@pytest.mark.parametrize(("tol", "passes"), [(0.0, 8), (0.09, 6), (0.5, 4), (2.0, 3)])
def test_a_pass_counts_as_a_gain_if_the_loss_falls_by_more_than_tol(tol, passes, monkeypatch):
    """The losses fall by 1, 0.4, 0.2, 0.05, 0.05, then rise: two passes in a row without gain end it."""
    falling = iter([9.0, 8.0, 7.6, 7.4, 7.35, 7.3, 7.4, 7.5, 7.6])
    monkeypatch.setattr(PAClassifier, "_make_pass", lambda *_: (0.0, 90 * next(falling)))
    assert PAClassifier(max_iter=9, tol=tol, n_iter_no_change=2).fit(X, Y2).n_iter_ == passes


# ---------------------------------------------------------------- defaults


@pytest.mark.parametrize("estimator", [PAClassifier, PARegressor, KernelPAClassifier, KernelPARegressor])
def test_defaults_are_those_that_the_documentation_gives(estimator):
    """A parameter described as in another estimator has the default given there."""
    given = {}
    for other in (PAClassifier, PARegressor, KernelPAClassifier, estimator):
        for name, value in re.findall(r"^ *(\w+) : .*default=(\S+)$", other.__doc__, re.M):
            given[name] = ast.literal_eval(value)
    assert estimator().get_params() == {name: given[name] for name in estimator().get_params()}


# ---------------------------------------------------------------- one row as people write it


@pytest.mark.parametrize("labels", [["off", "on"], [3, 7]], ids=str)
def test_a_row_in_the_form_of_the_last_ones_is_not_checked_anew(labels, monkeypatch):
    model = PAClassifier(query="margin", random_state=0).partial_fit([[1.0, 2.0]], labels[:1], classes=labels)
    same = copy.deepcopy(model)
    for name in ("validate_data", "column_or_1d"):
        monkeypatch.setattr(f"pa_lab.data.{name}", lambda *_, **__: pytest.fail("checked anew"))
    monkeypatch.setattr(type(model), "_validate_params", lambda _: pytest.fail("checked anew"))
    for label in labels:
        model.partial_fit([[1.5, -2]], [label], asked="free")
        model.predict([[1, 2.5]]), model.should_query([[0.5, 0.5]])
        model.cancel_queries()
    monkeypatch.undo()
    for label in labels:
        same.partial_fit(np.array([[1.5, -2.0]]), np.array([label]), asked="free")
    np.testing.assert_array_equal(model.coef_, same.coef_)
