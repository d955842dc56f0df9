"""`pa_lab.study.statistics` against scipy and against counting by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pa_lab.study.statistics import compare, corrected_t_test, paired, sign_permutation_test, summarize

# ---------------------------------------------------------------- means and intervals


def test_summarize_against_scipy():
    frame = pd.DataFrame({"rule": ["a"] * 5 + ["b"] * 3 + ["c"], "f1": [0.1, 0.4, 0.2, 0.9, 0.5, 0.3, 0.3, 0.6, 0.7]})
    table = summarize(frame, "rule", ["f1"]).set_index("rule")
    for rule in "ab":
        values = frame.loc[frame.rule == rule, "f1"]
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        assert table.loc[rule].tolist() == pytest.approx([len(values), values.mean(), values.std(), low, high])
    assert table.loc["c"].tolist() == [1, 0.7, 0.0, 0.7, 0.7]


def test_missing_values_do_not_count():
    values = [1.0, 3.0, np.nan, np.nan]
    row = summarize(pd.DataFrame({"rule": "a", "f1": values, "auc": 0.5}), "rule", ["f1", "auc"]).iloc[0]
    low, high = stats.t.interval(0.95, 1, 2.0, stats.sem([1.0, 3.0]))
    assert row[["n", "f1", "f1_sd", "f1_low", "f1_high", "f1_n"]].tolist() == pytest.approx(
        [4, 2, np.sqrt(2), low, high, 2]
    )
    assert "auc_n" not in row


# ---------------------------------------------------------------- pairs

RUNS = pd.DataFrame({"seed": [0, 0, 1, 1, 2], "rule": "PA", "way": [*"abab", "a"], "f1": [0.4, 0.3, 0.6, 0.3, 9.0]})


def test_pairs_without_a_partner_are_left_out():
    found = paired(RUNS, "way", "a", "b", ["rule"], ["f1"]).iloc[0]
    wanted = corrected_t_test([0.1, 0.3])
    assert found[["n", "f1", "f1_low", "f1_high"]].tolist() == pytest.approx(
        [2, wanted["mean"], wanted["low"], wanted["high"]]
    )


@pytest.mark.parametrize("ways", [("a", "B"), ("margin", "b")])
def test_a_mistyped_side_is_named(ways):
    with pytest.raises(ValueError, match=r"column 'way' has no '(B|margin)'; it holds \['a', 'b'\]"):
        paired(RUNS, "way", *ways, ["rule"], ["f1"])


# ---------------------------------------------------------------- the corrected t-test


def test_corrected_t_test_by_hand():
    # Differences 1, 2, 3, 6 on splits of 90 and 10 rows: mean 3, variance (4 + 1 + 0 + 9) / 3 = 14/3, so the
    # corrected variance of the mean is (1/4 + 1/9) 14/3 = 91/54, and t = 3 / sqrt(91/54) with 3 degrees of freedom.
    t = 3 / np.sqrt(91 / 54)
    found = corrected_t_test([1, 2, 3, 6], 90, 10)
    half = 3.182446305284263 * np.sqrt(91 / 54)  # Student's 97.5 % point for 3 degrees of freedom
    expected = {"mean": 3, "low": 3 - half, "high": 3 + half, "t": t, "effect": 3 / np.sqrt(14 / 3)}
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert found["p"] == pytest.approx(2 * stats.t.sf(t, 3))


def test_without_test_rows_it_is_the_paired_t_test():
    a, b = np.array([0.3, 0.5, 0.9, 0.4]), np.array([0.2, 0.6, 0.5, 0.1])
    found, wanted = corrected_t_test(a - b), stats.ttest_rel(a, b)
    assert (found["t"], found["p"]) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert found["p"] < corrected_t_test(a - b, 9, 1)["p"], "the correction must widen the interval"


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


def test_a_true_mean_of_zero_is_rejected_once_in_twenty():
    rng = np.random.default_rng(2)
    p = [sign_permutation_test(rng.exponential(size=12) * rng.choice([-1, 1], 12))["p"] for _ in range(2000)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("differences", [[], [[0.1, 0.2], [0.3, 0.4]], [0.1, np.nan], 0.3])
def test_differences_that_are_no_row_of_numbers_are_refused(differences):
    with pytest.raises(ValueError, match="differences must be one row of finite numbers"):
        sign_permutation_test(differences)


def test_compare_tests_every_other_name_within_its_group():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(s, r, d) for s in range(8) for r in "abc" for d in ("x", "y")], columns=["seed", "rule", "set"]
    )
    frame["auc"] = rng.random(len(frame))
    found = compare(frame.sample(frac=1, random_state=0), "rule", "b", "auc", ["set"])
    assert sorted(zip(found["set"], found["rule"], strict=True)) == [(s, r) for s in "xy" for r in "ac"]
    row = found[(found["set"] == "y") & (found["rule"] == "c")].iloc[0]
    side = {r: frame[(frame["rule"] == r) & (frame["set"] == "y")].sort_values("seed")["auc"].to_numpy() for r in "bc"}
    expected = sign_permutation_test(side["c"] - side["b"])
    assert row[list(expected)].to_dict() == expected
    with pytest.raises(ValueError, match="has no 'z'"):
        compare(frame, "rule", "z", "auc", ["set"])
    with pytest.raises(ValueError, match="finite"):  # a run without a partner
        compare(frame.iloc[1:], "rule", "b", "auc", ["set"])
