"""The toy stream is two clouds of unit variance, and always the same."""

import numpy as np
import pytest

from pa_lab.study import toy


def test_the_stream_is_its_seeds_alone():
    for a, b in zip(toy.stream(), toy.stream(40, 7), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(toy.stream(seed=8)[0], toy.stream()[0])


def test_the_clouds_lie_where_they_should():
    X, y = toy.stream(20_000)
    assert X.shape == (20_000, 2) and set(y) == {-1, 1}
    assert y.mean() == pytest.approx(0, abs=0.02)
    for label in (-1, 1):
        np.testing.assert_allclose(X[y == label].mean(axis=0), label * toy.CENTRE, atol=0.04)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(2), atol=0.05)


def test_the_two_waves_are_the_same_seen_from_the_rows():
    (stays, labels), (moves, again) = toy.wave(False, seed=1), toy.wave(True, seed=1)
    moved = 8 * np.pi * np.arange(4000) / 4000
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_allclose(moves[:, 0] - moved, stays[:, 0])
    wrong = np.sign(moves[:, 1] - np.sin(moves[:, 0])) != labels  # the wave stands
    assert wrong.mean() == pytest.approx(0.05, abs=0.01)
    assert toy.wave(True, seed=1, n=10, way=0.0)[0][:, 0].max() < np.pi
