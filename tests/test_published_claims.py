"""Every claim is a test that can come out either way."""

from inspect import signature

import numpy as np
import pytest

from pa_lab.study import published_claims
from pa_lab.study.published_claims import CLAIMS, above, conclude, judge

HIGH = {  # the figures that are higher where a claim is true; all others are lower
    "PA beats SVM in all cases": ["pa"],
    "PA beats active PA in most cases": ["pa"],
    "PA is faster than SVM": ["svm_seconds"],
    "Active PA is fastest": ["svm_seconds", "pa_seconds"],
    "Active PA makes fewer mistakes": ["pa_mistakes"],
    "Cross-validation lowers every score": ["all_rows", "svm_all_rows"],
    "Cross-validation makes active PA stable": ["apa_spread"],
    "Noise hurts PA most": ["pa_fall"],
    "Under noise active PA beats PA, relaxation 1": ["apa_1"],
    "Under noise PA beats active PA, relaxation 2": ["pa_2"],
}


def made_up(claim, true):
    """Figures under which a claim is plainly true or false."""
    noise = 0.1 * np.random.default_rng(0).standard_normal((4, 6))
    names = signature(claim.test).parameters
    return {name: 1 + noise + 10 * ((name in HIGH[claim.name]) == true) for name in names}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_verdict_turns_when_its_figures_are_swapped(claim):
    def verdict(true, swap=False):
        figures = made_up(claim, true)
        return judge(figures, figures, {}, swap=swap).set_index("claim").loc[claim.name, "verdict"]

    assert verdict(True) == "holds"
    assert verdict(True, swap=True) == verdict(False) == "does not hold"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_says_what_it_tests_and_pairs_what_it_needs(claim):
    assert claim.test.__doc__.startswith("Whether ") and claim.quote and claim.place
    named = {name for pair in claim.pairs for name in pair}
    assert named <= set(signature(claim.test).parameters) | set(signature(claim.test_in_print).parameters)


@pytest.mark.parametrize(
    "protocol, sound, verdict",
    [
        (True, True, "holds"),
        (False, True, "holds"),
        (True, False, "holds only under the published protocol"),
        (False, False, "does not hold"),
        (None, False, "does not hold"),
        (True, None, "cannot be decided"),
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
    assert claim["sound_figures"].isna().all() and claim["printed_figures"].isna().all()
    turned = judge(times | {"apa_seconds": slow + 2}, None, times).set_index("claim")
    assert turned.loc["Active PA is fastest", "verdict"] == "does not hold when run again"
    assert turned.loc["Active PA is fastest", "printed"]
    assert judge(times, {}, times).empty  # sound figures are asked for, and missing


def test_mistakes_are_printed_as_updates():
    different = [claim for claim in CLAIMS if claim.test_in_print is not claim.test]
    assert [claim.name for claim in different] == ["Active PA makes fewer mistakes"]
    assert list(signature(different[0].test_in_print).parameters) == ["pa_updates", "apa_updates"]
    assert list(signature(different[0].test).parameters) == ["pa_mistakes", "apa_mistakes"]


def test_a_difference_within_chance_is_left_open():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3, 8))
    assert above(a, b) is None and above(a + 9, b) is True and above(a - 9, b) is False
    assert above([2.0], [1.0], by=1.5) is False


def test_cells_without_a_figure_do_not_count():
    assert above([2.0, np.nan], [1.0, 1.0]) is True
    assert published_claims.mostly_above([2.0, np.nan, 0.0], [1.0, 1.0, np.nan]) is True
