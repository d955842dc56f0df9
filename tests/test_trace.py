"""`experiments.trace` shows the steps of the very run that fitted the model."""

import numpy as np
import pytest
from scipy import sparse

from pa_lab import PAClassifier, PARegressor
from pa_lab.rules import VARIANTS
from pa_lab.study.experiments import trace

QUERIES = (
    {},
    {"query": "margin", "delta": 0.5, "random_state": 3},
    {"query": "random", "query_rate": 0.3, "random_state": 1, "label_budget": 20},
    {"query": "threshold", "delta": 0.5},
    {"class_weight": {4: 3.0}},
    {"class_weight": "balanced"},
)
CASES = [(rule, query) for rule in VARIANTS for query in QUERIES if rule != "PA" or "class_weight" not in query]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 7)) * (rng.random((150, 7)) < 0.7)
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(150) > 0, 4, 2)


def weights(steps, X, y, moves, fit_intercept):
    """Weights and intercept after the steps of a trace, in the order of the rows."""
    X = np.c_[X, np.ones(len(X))] if fit_intercept else np.c_[X, np.zeros(len(X))]
    w = np.zeros(X.shape[1])
    for x, tau, up in zip(X, steps["tau"], moves, strict=True):
        w += (tau if up else -tau) * x
    return w


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("variant", "query"), CASES)
def test_the_steps_add_up_to_the_weights_of_the_model(rows, variant, query, fit_intercept):
    X, y = rows
    for form in (X, sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        model = PAClassifier(variant, 0.3, fit_intercept=fit_intercept, **query)
        steps = trace(model, form, y)
        label = np.where(y == 4, 1.0, -1.0)
        up = steps["score"] < label if variant == "PALS" else label > 0
        dense = form.toarray() if sparse.issparse(form) else form.astype(float)
        w = weights(steps, dense, y, up, fit_intercept)
        np.testing.assert_array_equal(np.append(model.coef_[0], model.intercept_), w)
        assert (model.n_queries_, model.n_updates_) == (steps["asked"].sum(), np.count_nonzero(steps["tau"]))
        np.testing.assert_allclose(steps["loss"], np.maximum(0, 1 - label * steps["score"]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_steps_of_a_regressor_add_up_too(rows, variant):
    X, y = rows[0], rows[0][:, 1] + 0.1 * rows[1]
    model = PARegressor(variant, 0.3, 0.2)
    steps = trace(model, X, y)
    w = weights(steps, X, y, steps["score"] < y, True)
    np.testing.assert_array_equal(np.append(model.coef_, model.intercept_), w)
    np.testing.assert_allclose(steps["loss"], np.maximum(0, np.abs(y - steps["score"]) - 0.2))
    assert steps["asked"].all()
