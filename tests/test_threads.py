"""A learner in use: readers, copies and child processes see the state before or after a call."""

import copy
import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(400, 30)), RNG.choice([-1, 1], 400)


SPARSE = sp.csr_matrix(np.where(RNG.random((400, 30)) < 0.1, X, 0.0))
EACH = {
    "dense": (PAClassifier(average=True), X, Y),
    "short rows": (PAClassifier(average=True), SPARSE[:1], Y[:1]),
    "margin": (PAClassifier(query="margin", random_state=0), X, Y),
    "batches": (PARegressor(batch_size=5), X, X[:, 0]),
    "growing": (KernelPAClassifier(gamma=0.1, average=True), X, Y),
    "landmarks": (KernelPARegressor(gamma=0.1, landmarks=8), X, X[:, 0]),
    "nearest": (KernelPAClassifier(gamma=0.1, budget=8, budget_policy="nearest"), X, Y),
    "projection": (KernelPAClassifier(gamma=0.1, budget=8), X, Y),
}
each = pytest.mark.parametrize("name", EACH)


def begun(name):
    """Return a learner that has seen forty rows, and what it is to learn next."""
    model, rows, y = EACH[name]
    return copy.deepcopy(model).fit(X[:40], EACH[name][2][:40] if len(y) > 1 else Y[:40]), rows, y


def learnt(model):
    return model.predict(X), [int(n) for n in model._counts]


def same(one, other):
    return np.array_equal(one[0], other[0]) and one[1] == other[1]


def in_the_middle(monkeypatch, model, do):
    """Let something happen, once, when the next call of a learner has made its first pass."""
    make_pass, results = type(model)._make_pass, []

    def interrupted(self, *args):
        sums = make_pass(self, *args)
        monkeypatch.setattr(type(model), "_make_pass", make_pass)  # first: what happens may learn, or fork
        results.append(do())
        return sums

    monkeypatch.setattr(type(model), "_make_pass", interrupted)
    return results


@each
def test_a_copy_made_while_a_learner_learns_is_as_before_the_call(name, monkeypatch):
    """As in the handler of a signal; a refused call of the copy then changes nothing."""
    model, rows, y = begun(name)
    before = learnt(model)
    for make in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        with monkeypatch.context() as patch:
            found = in_the_middle(patch, model, lambda make=make, model=model: make(model))
            model.partial_fit(rows, y)
        assert same(learnt(found[0]), before) and not same(learnt(model), before)
        with pytest.raises(ValueError, match="NaN"):
            found[0].partial_fit(np.vstack([X[:3], np.nan * X[:1]]), Y[:4])
        assert same(learnt(found[0]), before)
        model, before = found[0], learnt(found[0])


@each
def test_a_copy_and_its_original_learn_apart(name):
    model, rows, y = begun(name)
    other, alone = copy.copy(model), copy.deepcopy(model)
    other.partial_fit(-rows, y)
    assert same(learnt(model.partial_fit(rows, y)), learnt(alone.partial_fit(rows, y)))


@each
def test_read_only_weights_are_learnt_on_and_a_refused_call_leaves_them(name, tmp_path):
    model, rows, y = begun(name)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    with pytest.raises(ValueError, match="NaN"):
        mapped.partial_fit(np.vstack([X[:3], np.nan * X[:1]]), Y[:4])
    assert same(learnt(mapped), learnt(model))
    assert same(learnt(mapped.partial_fit(rows, y)), learnt(model.partial_fit(rows, y)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
@each
def test_a_process_forked_while_another_thread_learns_can_use_the_learner(name, monkeypatch):
    model, rows, y = begun(name)
    X_new, y_new = (X, Y) if len(y) == 1 else (X, y)
    before, after = learnt(model), learnt(copy.deepcopy(model).partial_fit(X_new, y_new))

    def fork():
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        signal.alarm(20)  # a child that waits for ever ends here
        fine = False
        try:
            fine = same(learnt(model), before) and same(learnt(model.partial_fit(X_new, y_new)), after)
        finally:
            os._exit(not fine)

    def from_another_thread():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(fork).result()

    codes = in_the_middle(monkeypatch, model, from_another_thread)
    model.partial_fit(rows, y)
    assert codes == [0]


def test_weights_and_pickles_read_from_another_thread_are_whole():
    """Each call turns all weights into another constant."""
    wide = np.ones((1, 50_000))
    model = PARegressor("PA", epsilon=0.0, fit_intercept=False).fit(wide, [1.0])
    done, seen = threading.Event(), set()

    def write():
        while not done.is_set():
            model.partial_fit(wide, [1.0]).partial_fit(wide, [2.0])

    def read():  # twenty times, however fast the other thread is
        try:
            for _ in range(20):
                for weights in (model.coef_, pickle.loads(pickle.dumps(model)).coef_):
                    seen.add(float(np.ptp(weights)))
        finally:
            done.set()

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(write), pool.submit(read)]:
            future.result()
    assert seen == {0.0}
