"""A user who loses patience: wherever Ctrl-C strikes, a learner is as before the call or as after it, and soon."""

import contextlib
import dis
import functools
import pickle
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import RegressorMixin, clone

from pa_lab import (
    KernelPAClassifier,
    KernelPARegressor,
    PAClassifier,
    PARegressor,
    budget,
    expansion,
    passes,
    rows,
)
from pa_lab.calls import guard_of

PACKAGE = Path(passes.__file__).parent
RNG = np.random.default_rng(0)
X, Y2, Y3 = RNG.normal(size=(60, 5)), RNG.choice([-1, 1], 60), RNG.integers(0, 3, 60)
MARGIN = {"query": "margin", "random_state": 0}
LEARNERS = {
    "two": (PAClassifier(**MARGIN), Y2),
    "averaged": (PAClassifier("PA-II", average=True, shuffle=True, random_state=0), Y3),
    "regression": (PARegressor(average=True), X[:, 0]),
    "seeded by a stream": (PAClassifier(query="margin"), Y2),
    "seeded by an old stream": (PAClassifier(query="margin"), Y2),
    "kernel": (KernelPAClassifier(gamma=0.5, **MARGIN), Y2),
    "kernel, averaged": (KernelPARegressor(gamma=0.5, average=True), X[:, 0]),
    "landmarks": (KernelPAClassifier(gamma=0.5, landmarks=8, average=True, **MARGIN), Y2),
    "removal": (KernelPAClassifier(gamma=0.5, budget=8, budget_policy="removal"), Y3),
    "nearest": (KernelPAClassifier(gamma=0.5, budget=8, budget_policy="nearest"), Y2),
    "projection": (KernelPAClassifier(gamma=0.5, budget=8, **MARGIN), Y2),
}
SEEDS = {"seeded by a stream": np.random.default_rng, "seeded by an old stream": np.random.RandomState}
each = pytest.mark.parametrize("name", LEARNERS)


def of_the_package(file):
    return file.startswith(str(PACKAGE))


def fresh(name):
    """Return a learner that knows nothing; its seed may be a stream that the first call draws from."""
    model = clone(LEARNERS[name][0])
    return model.set_params(random_state=SEEDS[name](7)) if name in SEEDS else model


def begun(name):
    return fresh(name).fit(X[:40], LEARNERS[name][1][:40])


def learn(model, y):
    classes = {} if isinstance(model, RegressorMixin) else {"classes": np.unique(y)}
    model.partial_fit(X[40:], y[40:], **classes)


def state(model):
    """Return all that a learner is, random streams included."""
    return pickle.dumps(pickle.loads(pickle.dumps(model)))


class Impatient:
    """Raise KeyboardInterrupt at one instruction of the Python code of some files, numbered from 1.

    Python looks for signals only where a function begins, after a call and where a loop begins anew. With ``fair`` only
    these instructions count.
    """

    LOOKS = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}

    def __init__(self, at, chosen, fair=True):
        self.at, self.chosen, self.fair, self.seen = at, chosen, fair, 0

    def enter(self, frame, *_):
        if self.chosen(frame.f_code.co_filename):
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return functools.partial(self.step, [""])
        return None

    def step(self, last, frame, event, *_):
        if event == "opcode":
            self.seen += not self.fair or last[0] in self.LOOKS
            if self.seen == self.at:
                self.struck_fairly = last[0] in self.LOOKS
                raise KeyboardInterrupt
            last[0] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return functools.partial(self.step, last)

    def __enter__(self):
        self.before, self.struck_fairly = sys.gettrace(), False
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


def is_free(model):
    """Say whether another thread can have the learner for itself, and readers need not wait."""
    got, guard = [], guard_of(model)
    thread = threading.Thread(target=lambda: got.append(guard.lock.acquire(timeout=5) and guard.lock.release() is None))
    thread.start()
    thread.join()
    return got == [True] and guard.writes % 2 == 0


def interrupt_everywhere(model, call, chosen, fair):
    """Interrupt a call at one position after the other; returns how many there are."""
    stored = pickle.dumps(model)

    def outcome(at):
        model = pickle.loads(stored)
        with Impatient(at, chosen, fair) as watch, contextlib.suppress(KeyboardInterrupt, IndexError):
            call(model)
        return state(model), model, watch

    before, (after, _, watch) = state(model), outcome(-1)
    for at in range(1, watch.seen + 1):
        now, model, struck = outcome(at)
        assert now in (before, after), f"torn by an interrupt at position {at} of {watch.seen}"
        assert not struck.struck_fairly or is_free(model), f"locked by an interrupt at position {at} of {watch.seen}"
    return watch.seen


@each
@pytest.mark.parametrize("make", [fresh, begun])
def test_an_interrupt_at_any_point_of_a_call_tears_nothing(make, name):
    call = functools.partial(learn, y=LEARNERS[name][1])
    assert interrupt_everywhere(make(name), call, of_the_package, fair=True) > 30


def test_an_interrupt_of_a_batch_solved_in_a_thread_tears_nothing(monkeypatch):
    monkeypatch.setattr(passes, "AT_ONCE", 16)
    model = PAClassifier("PA-II", batch_size=8, average=True).fit(X[:40], Y3[:40])
    assert interrupt_everywhere(model, functools.partial(learn, y=Y3), of_the_package, fair=True) > 30


@pytest.mark.parametrize("average", [False, True])
def test_an_interrupt_of_setting_weights_tears_nothing(average):
    def call(model):
        model.coef_ = np.ones((1, 5))

    model = PAClassifier(average=average).fit(X, Y2)
    assert interrupt_everywhere(model, call, of_the_package, fair=False) > 100


# ---------------------------------------------------------------- soon


@pytest.mark.filterwarnings("ignore:each of the max_iter=3 passes asks anew")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PAClassifier(average=True), Y2),
        (PAClassifier("PA-II", query="margin", shuffle=True, max_iter=3, random_state=0), Y2),
        (PAClassifier(average=True), Y3),
        (PAClassifier(multi_class="ovr", shuffle=True, random_state=0), Y3),
        (PAClassifier(batch_size=7, average=True), Y3),
        (PARegressor(batch_size=4, shuffle=True, random_state=0), X[:, 0]),
    ],
    ids=["two", "shuffled", "many", "one against the rest", "batches", "regression"],
)
def test_passes_in_slices_give_the_same_bits(model, y, form, monkeypatch):
    whole = clone(model).fit(form(X), y)
    monkeypatch.setattr(rows, "AT_ONCE", 400)
    sliced = clone(model).fit(form(X), y)
    assert state(sliced) == state(whole)
    in_slices = sliced._new_scores(form(X))
    monkeypatch.undo()
    assert np.array_equal(whole._new_scores(form(X)), in_slices)


@pytest.mark.parametrize("model", [PAClassifier("PA-II"), PAClassifier("PALS"), PARegressor()], ids=lambda m: m.variant)
def test_batches_solved_in_a_thread_give_the_same_bits(model, monkeypatch):
    model.set_params(batch_size=8, average=True)
    y = X[:, 0] if isinstance(model, PARegressor) else Y3
    here = clone(model).fit(X, y)
    monkeypatch.setattr(passes, "AT_ONCE", 16)
    assert state(clone(model).fit(X, y)) == state(here)


def test_only_large_batches_are_solved_in_a_thread(monkeypatch):
    """Large is the work of all batches; least squares, by eigenvectors, count four times."""
    started, pool = [], passes.ThreadPoolExecutor
    monkeypatch.setattr(passes, "ThreadPoolExecutor", lambda n: started.append(n) or pool(n))
    for times, variants in ((0.5, ["PA-II", "PALS"]), (2, ["PALS"]), (5, [])):
        monkeypatch.setattr(passes, "AT_ONCE", int(times * len(X) * 8**2))
        for variant in ("PA-II", "PALS"):
            started.clear()
            PAClassifier(variant, batch_size=8).fit(X, Y3)
            assert bool(started) == (variant in variants)


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "many"])
def test_exchanges_in_parts_give_the_same_bits(y, monkeypatch):
    whole, calls, learn_block = KernelPAClassifier(gamma=5.0, budget=8).fit(X, y), [], budget.learn_block

    def counted(start, stop, *args):
        calls.append(stop - start)
        return learn_block(start, stop, *args)

    monkeypatch.setattr(budget, "AT_ONCE", 3 * 8**2)
    monkeypatch.setattr(budget, "learn_block", counted)
    in_parts = KernelPAClassifier(gamma=5.0, budget=8).fit(X, y)
    assert state(in_parts) == state(whole)
    assert len(calls) > 15 and max(calls[2:]) == 3


def test_a_trace_in_slices_is_the_same(monkeypatch):
    traces = np.zeros((2, 60, 4))
    PAClassifier()._fit_traced(X, Y2, traces[0])
    monkeypatch.setattr(rows, "AT_ONCE", 400)
    PAClassifier()._fit_traced(X, Y2, traces[1])
    assert np.array_equal(traces[0], traces[1]) and traces[1, 40:].any(axis=0).all()


def test_slices_are_short_and_whole():
    wide = rows.make_rows(np.ones((1000, 500), np.float32))
    for times, whole in ((1, 1), (3, 1), (64, 64), (300, 300)):
        parts = rows.slices(wide._replace(data=np.ones((10**5, 500), bool)), 10**5, times, whole)
        assert parts[0].start == 0 and parts[-1].stop == 10**5
        assert all(a.stop == b.start and (a.stop - a.start) % whole == 0 for a, b in pairwise(parts))
        assert max(part.stop - part.start for part in parts) <= max(whole, rows.AT_ONCE // (500 * times))
    gram = rows.make_gram_rows(np.eye(3), np.zeros((3, 1)))
    assert rows.slices(gram, 3, 10**9) == [slice(0, 3)]


def test_matrices_are_worked_on_in_parts_of_the_same_bits(monkeypatch):
    A = RNG.normal(size=(100, 70))
    K = A @ A.T  # of rank 70

    def results():
        factor, keep = expansion.pivoted_cholesky(K, 1e-9)
        return factor, keep, expansion.invert_lower(factor), expansion.multiply_transposed(A, K)

    parts = results()
    monkeypatch.setattr(expansion, "AT_A_TIME", 1000)
    assert all(np.array_equal(a, b) for a, b in zip(parts, results(), strict=True))
    assert len(parts[1]) == 70
    np.testing.assert_allclose(parts[3], A.T @ K)
    np.testing.assert_allclose(parts[2] @ parts[0], np.eye(70), atol=1e-9)


IMPATIENT = """
import os, signal, sys, threading, time
import numpy as np
from pa_lab import PAClassifier

rng = np.random.default_rng(0)
y = np.arange(5_000_000, dtype=np.int16) % 40
X = rng.standard_normal((len(y), 2), dtype=np.float32)
model = PAClassifier(warm_start=True).fit(X[:1000], y[:1000])
before, sent = model.decision_function(X[:1000]), []

def lose_patience():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

import pa_lab.linear
run = pa_lab.linear.run
def running(*args):
    threading.Timer(0.2, lose_patience).start()
    return run(*args)
pa_lab.linear.run = running
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0], np.array_equal(model.decision_function(X[:1000]), before), model.n_seen_)
"""


def test_a_fit_of_five_million_rows_can_be_stopped():
    child = subprocess.run([sys.executable, "-c", IMPATIENT], capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    seconds, same, n_seen = child.stdout.split()
    assert float(seconds) < 0.5 and (same, n_seen) == ("True", "1000")


IN_ONE_GO = """
import os, signal, threading, time
import numpy as np
from pa_lab import KernelPAClassifier, PAClassifier

rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 30)), rng.choice([-1, 1], 4000)
wide = rng.normal(size=(600, 6000))

def lose_patience():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

def report(name, model, X, y):
    start = time.perf_counter()
    model.partial_fit(X, y)
    whole, delays, before = time.perf_counter() - start, [], model.decision_function(X)
    while len(delays) < 3 and not min(delays, default=whole) < whole / 3:
        threading.Timer(whole / 3, lose_patience).start()
        try:
            model.partial_fit(X, y)
        except KeyboardInterrupt:
            delays.append(time.perf_counter() - sent.pop())
    print(name, whole, min(delays), np.array_equal(model.decision_function(X), before))

sent, small = [], (X[:20], y[:20])
report("moves", PAClassifier("PA-II", batch_size=1000).fit(*small), X[:1000], y[:1000])
report("factors", PAClassifier("PALS", batch_size=1500).fit(*small), X[:1500], y[:1500])
report("eigenvectors", PAClassifier("PALS", batch_size=200, C=1e9).fit(*small), X[:200], y[:200])
report("products", PAClassifier(batch_size=600).fit(wide[:20], y[:20]), wide, y[:600])
report("exchanges", KernelPAClassifier(budget=1500, gamma=1.0).fit(X[:2000], y[:2000]), X[2000:2256], y[2000:2256])
"""


def test_what_takes_long_in_one_go_can_be_stopped_on_the_way():
    """A call is interrupted when a third of it is done; a loop that does not look would go on for two thirds."""
    child = subprocess.run([sys.executable, "-c", IN_ONE_GO], capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    lines = [line.split() for line in child.stdout.splitlines()]
    assert len(lines) == 5
    for name, whole, delay, same in lines:
        assert float(delay) < float(whole) / 3 and same == "True", f"{name}: {delay} of {whole} s"
