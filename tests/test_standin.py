"""Generated rows have the form of the real sets, and depend on nothing but their seed."""

import numpy as np
import pytest

from pa_lab.study.standin import lookalike, misfire_blocks, misfire_stream


@pytest.mark.parametrize("block_rows", [1_000, 7_777, 40_001])
def test_the_stream_does_not_depend_on_the_blocks(block_rows):
    X, y = misfire_stream(40_000, seed=3)
    blocks = list(misfire_blocks(40_000, block_rows=block_rows, seed=3))
    assert np.array_equal(X, np.concatenate([b for b, _ in blocks]))
    assert np.array_equal(y, np.concatenate([b for _, b in blocks]))
    assert all(len(b) == block_rows for b, _ in blocks[:-1])
    assert np.array_equal(misfire_stream(100, seed=3)[0], X[:100])


def test_the_stream_has_the_form_of_ijcnn1():
    X, y = misfire_stream(50_000)
    assert X.shape == (50_000, 22) and X.dtype == np.float64 and y.dtype == np.int64
    assert 0.09 < (y == 1).mean() < 0.11 and np.abs(X).max() < 1.1
    assert len(np.unique(X, axis=0)) == 50_000
    assert not np.array_equal(X, misfire_stream(50_000, seed=1)[0])


@pytest.mark.parametrize("n_features", [4, 40])
def test_dense_rows_are_seeded_and_have_the_share(n_features):
    X, y = lookalike(500, n_features, share=0.2, seed=5)
    assert X.shape == (500, n_features) and (y == 1).sum() == 100
    assert np.array_equal(X, lookalike(500, n_features, share=0.2, seed=5)[0])
    assert not np.array_equal(X, lookalike(500, n_features, share=0.2, seed=6)[0])


def test_sparse_rows_hold_as_many_ones_as_asked():
    X, y = lookalike(500, 40, share=0.2, nonzeros=8, seed=5)
    assert X.format == "csr" and set(X.data) == {1.0}
    assert (y == 1).sum() == 100 and X.nnz / 500 == pytest.approx(8, abs=0.2)
