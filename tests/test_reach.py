"""`experiments.first_reach`: how many labels a curve needs to reach a target."""

import numpy as np
import pytest

from pa_lab.study.experiments import first_reach


def test_inverts_a_rising_curve():
    x, curve = np.geomspace(10, 10_000, 7), np.array([0.1, 0.2, 0.25, 0.6, 0.61, 0.9, 0.95])
    for at in (10, 33, 400, 9999):
        assert first_reach(x, curve, np.interp(np.log(at), np.log(x), curve)) == pytest.approx(at)


def test_falls_do_not_count():
    x = [1.0, 2.0, 4.0, 8.0]
    assert first_reach(x, [0.1, 0.5, 0.3, 0.7], 0.5) == 2.0
    assert first_reach(x, [0.1, 0.5, 0.3, 0.7], 0.6) == pytest.approx(np.exp(np.log(4) + np.log(2) / 2))
