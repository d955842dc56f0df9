"""Several threads on one learner: writers take turns, readers see the state before or after."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pa_lab import KernelPAClassifier, PAClassifier, PARegressor

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 30)), RNG.choice([-1, 1], 400)


@pytest.mark.parametrize("model", [PAClassifier("PA-II"), PAClassifier(average=True), KernelPAClassifier(gamma=0.1)])
def test_no_row_is_lost_when_two_threads_learn(model):
    def learn(start):
        for i in range(start, start + 200, 10):
            model.partial_fit(X[i : i + 10], Y[i : i + 10], classes=[-1, 1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(learn, [0, 200] * 4))
    assert model.n_seen_ == model.n_queries_ == 8 * 200


def test_a_refusal_in_one_thread_leaves_the_other_alone():
    model = PAClassifier().partial_fit(X, Y, classes=[-1, 1])
    bad = np.full((5, 30), np.nan)

    def learn(refused):
        for i in range(100):
            if refused:
                with pytest.raises(ValueError, match="NaN"):
                    model.partial_fit(bad, Y[:5])
            else:
                model.partial_fit(X[i : i + 1], Y[i : i + 1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(learn, [True, False]))
    assert model.n_seen_ == 500
    alone = PAClassifier().partial_fit(X, Y, classes=[-1, 1])
    for i in range(100):
        alone.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert np.array_equal(model.coef_, alone.coef_)


def test_readers_see_the_state_before_or_after_a_call():
    """Each call replaces the prediction of one row by another, so anything else is a torn state."""
    wide = np.ones((1, 100_000))
    model = PARegressor("PA", epsilon=0.0, fit_intercept=False).fit(wide, [1.0])
    done, seen = threading.Event(), set()

    def write():
        for i in range(150):
            model.partial_fit(wide, [1.0 + i % 2])
        done.set()

    def read():
        while not done.is_set():
            seen.add(float(model.predict(wide)[0].round(6)))

    threads = [threading.Thread(target=write), threading.Thread(target=read), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= {1.0, 2.0}
