"""Online learners against the table in the manual of LIBOL, in its own row orders, to the last digit printed."""

import numpy as np
import pytest

from pa_lab import datasets
from pa_lab.study.baselines import online
from pa_lab.study.libol import beside_printed, libol_order, libol_runs

PLAIN, FULL = {"fit_intercept": False}, {"fit_intercept": False, "covariance": "full"}
AS_PAPERS_SAY = {
    "Perceptron": online("perceptron", **PLAIN),
    "OGD": online("OGD", **PLAIN),
    "PA": online("PA", **PLAIN),
    "PA1": online("PA-I", C=1 / 4, **PLAIN),
    "PA2": online("PA-II", C=1 / 16, **PLAIN),
    "IELLIP": online("IELLIP", **FULL),
    "CW": online("CW", eta=0.55, **FULL),
    "NHERD": online("NHERD", C=4.0, **FULL),
    "AROW": online("AROW", C=2.0, **FULL),  # its r is 1/4
    "SCW": online("SCW-I", C=8.0, eta=0.8, **FULL),
}


def test_an_order_is_a_permutation_that_its_seed_decides():
    for n in (1, 2, 1000, 40_000):  # past 2^15 rows one random number takes two calls
        np.testing.assert_array_equal(np.sort(libol_order(3, n)), np.arange(n))
    assert (libol_order(3, 1000) != libol_order(4, 1000)).mean() > 0.9


@pytest.mark.skipif(not datasets.available("ijcnn1"), reason="ijcnn1 is not on this machine")
def test_the_runs_have_the_printed_means_and_deviations():
    """Notebook 08 has the other six rows: the program does not take the steps of their papers."""
    data = datasets.load("ijcnn1")
    X, y = np.vstack([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    table = beside_printed(libol_runs(AS_PAPERS_SAY, X, y))
    assert table["agrees"].all() and len(table) == 10, table[~table["agrees"]].T
