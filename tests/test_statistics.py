"""`pa_lab.study.statistics` against scipy and against counting by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pa_lab.study.statistics import sign_permutation_test

# ---------------------------------------------------------------- permutation of signs

few_differences = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(few_differences)
def test_sign_permutations_are_all_counted_for_few_pairs(differences):
    d = np.array(differences)
    sums = np.array([np.dot(signs, d) for signs in product([-1, 1], repeat=len(d))])
    p = 2 * min(np.mean(sums >= d.sum()), np.mean(sums <= d.sum()))
    assert sign_permutation_test(d)["p"] == pytest.approx(min(1, p))


def test_sign_permutations_equal_scipys():
    d = np.random.default_rng(4).standard_normal(11) + 0.6
    wanted = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert sign_permutation_test(d)["p"] == pytest.approx(wanted)
    assert sign_permutation_test(d, n=50_000 // 40, seed=1)["p"] == pytest.approx(wanted, abs=0.02)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=6, max_size=9), st.floats(-4, 4))
def test_the_interval_holds_the_shifts_that_are_not_rejected(differences, shift):
    d = np.array(differences)
    found = sign_permutation_test(d)
    if min(abs(found["low"] - shift), abs(found["high"] - shift)) > 1e-9:
        rejected = sign_permutation_test(d - shift)["p"] <= 0.05
        assert rejected == (not found["low"] <= shift <= found["high"])


def test_the_drawn_interval_is_near_students_for_normal_differences():
    d = np.random.default_rng(0).standard_normal(30) + 0.3
    found, wanted = sign_permutation_test(d), stats.ttest_1samp(d, 0)
    low, high = wanted.confidence_interval(0.95)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=0.03)
    assert found["mean"] == d.mean()
    assert found == sign_permutation_test(d) != sign_permutation_test(d, seed=1)


def test_a_true_mean_of_zero_is_rejected_once_in_twenty():
    rng = np.random.default_rng(2)
    p = [sign_permutation_test(rng.exponential(size=12) * rng.choice([-1, 1], 12))["p"] for _ in range(2000)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.012)


def test_five_pairs_show_nothing():
    found = sign_permutation_test([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found["p"], found["low"], found["high"]) == (1 / 16, -np.inf, np.inf)


@pytest.mark.parametrize("differences", [[], [[0.1, 0.2], [0.3, 0.4]], [0.1, np.nan], 0.3])
def test_differences_that_are_no_row_of_numbers_are_refused(differences):
    with pytest.raises(ValueError, match="differences must be one row of finite numbers"):
        sign_permutation_test(differences)
