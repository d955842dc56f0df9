"""Vowpal Wabbit takes the step of PA-I if it is told to: one pass over ijcnn1, against `PAClassifier`."""

import numpy as np
import pytest

from pa_lab import PAClassifier, datasets

vowpalwabbit = pytest.importorskip("vowpalwabbit")
# Without the last two its predictions are clipped to [-1, 1] before the step, which is then another one.
EXACT = "--invariant --loss_function hinge --power_t 0 --min_prediction -1000 --max_prediction 1000 --quiet"
CONSTANT = 11650396  # the place of its intercept


def line(x, label):
    """A row as Vowpal Wabbit reads it; nine digits are what its single precision keeps."""
    return f"{label} | " + " ".join(f"f{j}:{value:.9g}" for j, value in enumerate(x))


@pytest.mark.skipif(not datasets.available("ijcnn1"), reason="ijcnn1 is not on this machine")
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_vowpal_wabbit_takes_the_same_steps(C):
    data = datasets.load("ijcnn1")
    ours = PAClassifier("PA-I", C=C).fit(data.X_train, data.y_train)
    theirs = vowpalwabbit.Workspace(f"{EXACT} -l {C}")
    for x, label in zip(data.X_train, data.y_train, strict=True):
        theirs.learn(line(x, label))
    weights = [theirs.get_weight_from_name(f"f{j}") for j in range(data.X_train.shape[1])]
    weights.append(theirs.get_weight(CONSTANT))
    theirs.finish()
    np.testing.assert_allclose(weights, [*ours.coef_[0], ours.intercept_[0]], rtol=1e-5, atol=1e-5)
