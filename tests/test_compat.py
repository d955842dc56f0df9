"""The drop-in estimators: the weights of scikit-learn 1.9, whatever is installed, and our own intercept."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from frozen.scikit_learn import FILE, cases, learn_all, rows
from pa_lab import PAClassifier, PARegressor
from pa_lab.compat import PassiveAggressiveClassifier, PassiveAggressiveRegressor

OURS = PassiveAggressiveClassifier, PassiveAggressiveRegressor
THEIRS = [getattr(sklearn.linear_model, model.__name__, None) for model in OURS]
needs_theirs = pytest.mark.skipif(None in THEIRS, reason="this release of scikit-learn no longer has the classes")
LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
IN_ORDER = {"shuffle": False, "max_iter": 3, "tol": None}


@pytest.fixture(scope="module")
def weights():
    return learn_all(OURS)


def test_the_weights_are_those_kept_from_release_1_9(weights):
    kept = json.loads(FILE.read_text())
    for case, ours, theirs in zip(cases(), weights, kept, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=str(case))


@needs_theirs
def test_the_weights_are_those_of_the_classes_to_the_bit(weights):
    assert weights == learn_all(THEIRS)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_zeros_move_the_intercept_with_the_squared_losses_only(loss, form):
    """scikit-learn's step is loss / (|x|^2 + 1 / 2C), and on CSR rows the intercept takes a hundredth of it."""
    y, C, b = np.array([1.0, 1.0, -1.0, 1.0, -1.0]), 0.3, 0.0
    regression = loss.endswith("insensitive")
    for target in y if loss.startswith("squared") else ():
        error = target - b if regression else target * (1.0 - target * b)
        size = abs(error) - 0.1 if regression else abs(error)
        b += np.sign(error) * max(0.0, size) * 2.0 * C * (0.01 if form is sp.csr_array else 1.0)
    model = OURS[regression](C=C, loss=loss, shuffle=False, max_iter=1, tol=None).fit(form(np.zeros((5, 2))), y)
    np.testing.assert_array_equal(model.coef_, np.zeros(model.coef_.shape))
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", [False, True])
def test_the_exact_intercept_is_that_of_our_own_learners(loss, average):
    variant = "PA-II" if loss.startswith("squared") else "PA-I"
    regression = loss.endswith("insensitive")
    X, y = rows("regression" if regression else "three", "dense")
    options = {"C": 0.1, "average": average} | ({} if regression else {"class_weight": {0: 0.3, 1: 2.0, 2: 1.0}})
    drop_in = OURS[regression](loss=loss, intercept="exact", **IN_ORDER, **options).fit(X, y)
    own = PARegressor(variant, max_iter=3, **options) if regression else PAClassifier(
        variant, max_iter=3, multi_class="ovr", **options)  # fmt: skip
    own.fit(X, y)
    for model in (drop_in, own):
        np.testing.assert_allclose(model.predict(X), own.predict(X), rtol=1e-9)
        model.partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(drop_in.coef_, own.coef_)
    np.testing.assert_array_equal(drop_in.intercept_, own.intercept_)
    assert drop_in.t_ == own.n_seen_ + 1 == 321


@pytest.mark.parametrize(("models", "takes_effect"), [(OURS, True), pytest.param(THEIRS, False, marks=needs_theirs)])
def test_a_grid_search_over_C_compares_different_models_here_only(models, takes_effect):
    X, y = rows("two", "dense")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(models[0](random_state=0), {"C": [1e-4, 1e-2, 1.0]}, cv=3).fit(X, y)
    assert (len(set(search.cv_results_["mean_test_score"])) > 1) == takes_effect


X, Y = rows("two", "dense")
REFUSED = {
    "C must be a number above 0; got 0": lambda m: m.set_params(C=0).fit(X, Y),
    "loss must be one of 'hinge', 'squared_hinge'; got 'log'": lambda m: m.set_params(loss="log").fit(X, Y),
    "intercept must be one of 'scikit-learn', 'exact'; got 'none'": lambda m: m.set_params(intercept="none").fit(X, Y),
    "intercept='exact' cannot be set while": lambda m: m.fit(X, Y).set_params(intercept="exact").partial_fit(X, Y),
    "coef_init and intercept_init go with": lambda m: m.set_params(intercept="exact").fit(X, Y, coef_init=X[0]),
    "early_stopping should be False": lambda m: m.set_params(early_stopping=True).partial_fit(X, Y, classes=[-1, 1]),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_done_is_refused(sentence):
    with pytest.raises(ValueError, match=sentence):
        REFUSED[sentence](PassiveAggressiveClassifier())


def test_a_fit_anew_may_change_the_intercept_and_forgets_what_was_learnt():
    model = PassiveAggressiveClassifier(intercept="exact", **IN_ORDER)
    for intercept in ("exact", "scikit-learn", "exact"):
        model.set_params(intercept=intercept).fit(X, Y)
        fresh = PassiveAggressiveClassifier(intercept=intercept, **IN_ORDER).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, fresh.coef_)
        assert vars(model).keys() - {"_learner"} >= vars(fresh).keys() - {"_learner"} and model.t_ == fresh.t_


@parametrize_with_checks(
    [
        PassiveAggressiveClassifier(random_state=0),
        PassiveAggressiveClassifier(random_state=0, intercept="exact", loss="squared_hinge", average=True),
        PassiveAggressiveRegressor(random_state=0),
        PassiveAggressiveRegressor(random_state=0, intercept="exact"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
