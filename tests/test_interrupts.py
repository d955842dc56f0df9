"""A user who loses patience: wherever Ctrl-C strikes, a learner is as before the call or as after it, and soon."""

import pickle
import sys
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
    passes,
    rows,
)

PACKAGE = Path(passes.__file__).parent
RNG = np.random.default_rng(0)
X, Y2, Y3 = RNG.normal(size=(60, 5)), RNG.choice([-1, 1], 60), RNG.integers(0, 3, 60)
MARGIN = {"query": "margin", "random_state": 0}
LEARNERS = {
    "two": (PAClassifier(**MARGIN), Y2),
    "averaged": (PAClassifier("PA-II", average=True, shuffle=True, random_state=0), Y3),
    "regression": (PARegressor(average=True), X[:, 0]),
    "kernel": (KernelPAClassifier(gamma=0.5, **MARGIN), Y2),
    "kernel, averaged": (KernelPARegressor(gamma=0.5, average=True), X[:, 0]),
    "landmarks": (KernelPAClassifier(gamma=0.5, landmarks=8, average=True, **MARGIN), Y2),
    "removal": (KernelPAClassifier(gamma=0.5, budget=8, budget_policy="removal"), Y3),
    "nearest": (KernelPAClassifier(gamma=0.5, budget=8, budget_policy="nearest"), Y2),
    "projection": (KernelPAClassifier(gamma=0.5, budget=8, **MARGIN), Y2),
}
each = pytest.mark.parametrize("name", LEARNERS)


def fresh(name):
    """Return a learner that knows nothing."""
    return clone(LEARNERS[name][0])


def begun(name):
    return fresh(name).fit(X[:40], LEARNERS[name][1][:40])


def learn(model, y):
    classes = {} if isinstance(model, RegressorMixin) else {"classes": np.unique(y)}
    model.partial_fit(X[40:], y[40:], **classes)


def state(model):
    """Return all that a learner is, random streams included."""
    return pickle.dumps(pickle.loads(pickle.dumps(model)))


def interrupted_at(line, model, y):
    """Learn on, and lose patience at this line of the package (from 1), but not where a change is put in place.

    Return whether it came so far.
    """
    left = [line]

    def step(frame, event, _):
        left[0] -= event == "line"
        if left[0] == 0:
            raise KeyboardInterrupt
        return step

    def enter(frame, *_):
        file = Path(frame.f_code.co_filename)
        return step if PACKAGE in file.parents and file.stem != "calls" else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        learn(model, y)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@each
@pytest.mark.parametrize("make", [fresh, begun])
def test_an_interrupt_at_a_line_of_a_call_changes_nothing(make, name):
    """At every seventh line: over the learners and both states that meets them all."""
    stored, line = pickle.dumps(make(name)), 1 + list(LEARNERS).index(name) % 7
    before = state(pickle.loads(stored))
    while interrupted_at(line, model := pickle.loads(stored), LEARNERS[name][1]):
        assert state(model) == before, f"torn by an interrupt at line {line}"
        line += 7
    assert line > 30 and state(model) != before


# ---------------------------------------------------------------- soon


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


def test_a_trace_in_slices_is_the_same(monkeypatch):
    traces = np.zeros((2, 60, 4))
    model = PAClassifier()
    for trace, at_once in zip(traces, (rows.AT_ONCE, 400), strict=True):
        monkeypatch.setattr(rows, "AT_ONCE", at_once)
        model._learn_passes(*model._prepare(X, Y2, None, starts=True), trace)
    assert np.array_equal(traces[0], traces[1]) and traces[1, 40:].any(axis=0).all()


def test_slices_are_short_and_whole():
    wide = rows.make_rows(np.ones((1000, 500), np.float32))
    for times, whole in ((1, 1), (3, 1), (64, 64), (300, 300)):
        parts = rows.slices(wide._replace(data=np.ones((10**5, 500), bool)), 10**5, times, whole)
        assert parts[0][0] == 0 and parts[-1][1] == 10**5
        assert all(a[1] == b[0] and (a[1] - a[0]) % whole == 0 for a, b in pairwise(parts))
        assert max(part[1] - part[0] for part in parts) <= max(whole, rows.AT_ONCE // (500 * times))
