"""Every claim is a test that can come out either way."""

import numpy as np
import pytest

from pa_lab.study.published import KEY, load_table
from pa_lab.study.published_claims import CLAIMS, MISSING, above, above_in_part, claim_figures, conclude, judge

CELLS = [("PA", None)] + [(rule, C) for rule in ("PA-I", "PA-II") for C in (0.1, 1.0, 10.0)]  # columns of the tables

HIGH = {  # the figures that are higher where a claim is true; all others are lower
    "PA beats SVM in all cases": ["pa"],
    "Active PA beats SVM": ["apa"],
    "PA beats active PA in most cases": ["pa"],
    "PA is faster than SVM": ["svm_seconds"],
    "Active PA is fastest": ["svm_seconds", "pa_seconds"],
    "Active PA makes fewer mistakes": ["pa_counted"],
    "Cross-validation lowers every score": ["all_rows", "svm_all_rows"],
    "Cross-validation makes active PA stable": ["apa_spread"],
    "Cross-validation leaves active PA and SVM stable": ["pa_drop"],
    "Active PA beats PA under cross-validation": ["apa_fold"],
    "PA beats SVM despite noise": ["pa_noisy"],
    "Noise hurts PA most": ["pa_fall"],
    "Under noise active PA beats PA, relaxation 1": ["apa_1"],
    "Under noise PA beats active PA, relaxation 2": ["pa_2"],
}


PARTNERS = ["svm", "apa", "apa_seconds", "apa_counted", "fold", "svm_fold", "apa_spread_fold", "apa_drop", "svm_drop"]
PARTNERS += ["pa_fold", "svm_noisy", "svm_fall", "apa_fall", "pa_1", "apa_2"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_verdict_turns_with_its_figures(claim):
    names = {name for high in HIGH.values() for name in high} | set(PARTNERS)
    noise = 0.1 * np.random.default_rng(0).standard_normal((4, 6))

    def verdict(true):
        figures = {name: 1 + noise + 10 * ((name in HIGH[claim.name]) == true) for name in names}
        return judge(figures, figures, {}).set_index("claim").loc[claim.name, "verdict"]

    assert verdict(True) == "holds" and verdict(False) == "does not hold"
    assert claim.quote and claim.place


@pytest.mark.parametrize(
    "protocol, sound, verdict",
    [
        (True, True, "holds"),
        (False, True, "holds"),
        (True, False, "holds only under the published protocol"),
        (False, False, "does not hold"),
        (None, False, "does not hold"),
        (True, None, "cannot be decided"),
        (False, "in part", "holds in part"),
        ("in part", False, "holds only under the published protocol"),
    ],
)
def test_verdicts(protocol, sound, verdict):
    assert conclude(protocol, sound) == verdict


def test_without_sound_figures_the_protocol_run_again_decides():
    slow, fast = np.full((2, 3), 2.0), np.ones((2, 3))
    times = {"pa_seconds": slow, "apa_seconds": fast, "svm_seconds": slow + 1}
    claim = judge(times, None, {}).set_index("claim")
    assert claim["verdict"].to_dict() == {
        "PA is faster than SVM": "holds when run again",
        "Active PA is fastest": "holds when run again",
    }
    assert (claim[["printed", "sound"]] == MISSING).all(axis=None)
    turned = judge(times | {"apa_seconds": slow + 2}, None, times).set_index("claim")
    assert turned.loc["Active PA is fastest", "verdict"] == "does not hold when run again"
    assert turned.loc["Active PA is fastest", "printed"]
    assert judge(times, {}, times).empty  # sound figures are asked for, and missing


def test_a_difference_within_chance_is_left_open():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3, 8))
    assert above(a, b) is None and above(a + 9, b) is True and above(a - 9, b) is False
    assert above([2.0], [1.0], by=1.5) is False


def test_what_holds_in_most_cells_and_is_not_shown_in_all_holds_in_part():
    rng = np.random.default_rng(2)
    a, b = 9 + rng.standard_normal((4, 8)), rng.standard_normal((4, 8))
    assert above_in_part(a, b) is True
    a[0] -= 9  # within chance
    assert above(a, b) is None and above_in_part(a, b) == "in part"
    a[0] -= 9  # plainly below
    assert above(a, b) is False and above_in_part(a, b) == "in part"
    a[1] -= 18
    assert above_in_part(a, b) is False


def test_the_figures_of_the_claims_are_those_of_the_tables():
    printed = load_table("ezukwoke_zareian_2019")
    figures = claim_figures(printed)
    value = printed.set_index(KEY)["value"]
    cells = [("auc", variant, C) for variant, C in CELLS] + [("f1", variant, C) for variant, C in CELLS]

    def of(table, model):
        return np.array([value.loc[table, model, v, np.nan if C is None else C, m] for m, v, C in cells])

    for name, model in (("pa", "PA"), ("apa", "APA"), ("svm", "SVM")):
        np.testing.assert_array_equal(figures[name][:, 0], of("table1", model))
        np.testing.assert_array_equal(figures[f"{name}_fold"][:, 0], of("table3", model))
        by_metric = (of("table1", model) - of("table5", model)).reshape(2, 7).mean(axis=1)
        np.testing.assert_allclose(figures[f"{name}_fall"][:, 0], by_metric)
        by_metric = np.nanmean((of("table1", model) - of("table3", model)).reshape(2, 7), axis=1)
        np.testing.assert_allclose(figures[f"{name}_drop"][:, 0], by_metric)
    np.testing.assert_array_equal(figures["pa_noisy"][:, 0], of("table5", "PA"))
    np.testing.assert_array_equal(figures["apa_1"][:3, 0], of("table5", "APA")[1:4])
    np.testing.assert_array_equal(figures["pa_2"][3:, 0], of("table5", "PA")[11:])
    np.testing.assert_array_equal(figures["all_rows"][:, 0], np.r_[of("table1", "PA"), of("table1", "APA")])
    assert figures["pa_updates"].ravel().tolist() == [3190, 3065, 3162]
    assert not {"apa_spread", "pa_mistakes"} & figures.keys()  # a single run has no spread
