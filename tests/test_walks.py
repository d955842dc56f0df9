"""Whatever is done to a learner on its way, it ends as if it had read the same rows in one go, to the last bit.

The ways are made up by hypothesis: rows in parts of any size, labels asked for, `fit` with ``warm_start``, copies,
refused calls, arrays that the caller changes afterwards. ``PA_LAB_PROPERTY_SECONDS=600`` goes on for ten minutes.
"""

import copy
import os
import pickle
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import RegressorMixin, clone

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor

SECONDS = float(os.environ.get("PA_LAB_PROPERTY_SECONDS", 0))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
TWO, THREE = np.where(X[:, 0] + RNG.normal(size=240) > 0, "yes", "no"), RNG.integers(0, 3, 240)
TARGETS = X[:, 0] + 0.1 * RNG.normal(size=240)
MARGIN, BUDGET = {"query": "margin", "random_state": 3}, {"gamma": 0.5, "budget": 7}
LEARNERS = {
    "two": (PAClassifier(**MARGIN), TWO),
    "threshold": (PAClassifier("PA-II", query="threshold", delta=0.5, label_budget=40, C=0.1, random_state=2), TWO),
    "mean of three": (PAClassifier("PALS", average=True, query="random", query_rate=0.6, random_state=1), THREE),
    "one against the rest": (PAClassifier(multi_class="ovr", C=0.3, average=True, **MARGIN), THREE),
    "batches": (PAClassifier("PA-II", batch_size=3, average=True, **MARGIN), THREE),
    "weighted": (PAClassifier(class_weight={"yes": 2.0}, fit_intercept=False, C=0.05), TWO),
    "regression": (PARegressor(average=True, C=0.2), TARGETS),
    "kernel": (KernelPAClassifier(gamma=0.5, **MARGIN), TWO),
    "kernel mean": (KernelPARegressor(gamma=0.5, average=True, C=0.5), TARGETS),
    "landmarks": (KernelPAClassifier(gamma=0.5, landmarks=6, average=True, **MARGIN), THREE),
    "removal": (KernelPAClassifier(budget_policy="removal", **BUDGET), THREE),
    "nearest": (KernelPAClassifier(budget_policy="nearest", **MARGIN, **BUDGET), TWO),
    "projection": (KernelPARegressor(C=0.5, **BUDGET), TARGETS),
    "oldest": (KernelPAClassifier(budget_policy="oldest", multi_class="ovr", **BUDGET), THREE),
}
LEARNING = ("partial_fit", "fit", "ask")
REFUSALS = ("NaN", "narrow", "short", "unknown", "parameter")
OTHERS = ("pickle", "deepcopy", "clone", "look")
STEPS = st.lists(st.tuples(st.sampled_from(LEARNING * 2 + REFUSALS + OTHERS), st.integers(1, 20)), max_size=14)


class Walk:
    """A learner on its way, and a twin that makes the plain calls only."""

    def __init__(self, name, form):
        (self.start, self.y), self.form, self.at = LEARNERS[name], form, 0
        self.model, self.twin = clone(self.start), clone(self.start)
        self.classes = {} if isinstance(self.start, RegressorMixin) else {"classes": np.unique(self.y)}
        self.learn("partial_fit", 12)

    def part(self, k):
        """Return a copy of the next rows and their labels."""
        part = slice(self.at, min(self.at + k, len(X)))
        return self.form(X[part].copy()), self.y[part].copy()

    def learn(self, call, k):
        rows, labels = self.part(k)
        if rows.shape[0] == 0:
            return
        classes = self.classes if call == "partial_fit" else {}
        self.model.set_params(warm_start=True)
        getattr(self.model, call)(rows, labels, **classes)
        self.twin.partial_fit(*self.part(k), **self.classes)
        (rows.data if sp.issparse(rows) else rows)[:] = 1e9  # the caller's arrays are the caller's
        labels[:] = labels[0]
        self.at += rows.shape[0]

    def ask(self, k):
        """Ask row by row, as a person would be asked; the twin's rule asks by itself."""
        if not self.classes or self.start.batch_size > 1:
            return
        for _ in range(k):
            rows, labels = self.part(1)
            if rows.shape[0] == 0:
                return
            if self.model.should_query(rows)[0]:
                self.model.partial_fit(rows, labels, asked=True)
            elif hasattr(self.model, "_passed"):
                self.model._passed += 1  # a row that is not handed over has no number
            self.twin.partial_fit(*self.part(1))
            self.at += 1

    def refuse(self, why, k):
        rows, labels = X[:k].copy(), self.y[:k].copy()
        if why == "NaN":
            rows[-1] = np.nan
        elif why == "narrow":
            rows = rows[:, 1:]
        elif why == "short":
            labels = labels[1:]
        elif why == "unknown":
            labels = np.full(k, 1j if not self.classes else "what" if labels.dtype.kind == "U" else 9)
        else:
            self.model.set_params(C=-1.0)
        again = k % 2 and why in ("NaN", "short")  # a fit from the start, which is refused too
        self.model.set_params(warm_start=False)
        with pytest.raises(ValueError):
            (self.model.fit if again else self.model.partial_fit)(self.form(rows), labels)
        self.model.set_params(C=self.start.C)

    def other(self, what):
        if what == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        elif what == "deepcopy":
            self.model = copy.deepcopy(self.model)
        elif what == "clone":
            clone(self.model).fit(X[:60], self.y[:60])
        else:
            self.model.predict(X)

    def step(self, what, k):
        if what == "ask":
            self.ask(k)
        elif what in LEARNING:
            self.learn(what, k)
        elif what in REFUSALS:
            self.refuse(what, k)
        else:
            self.other(what)

    def in_one_go(self):
        return clone(self.start).partial_fit(self.form(X[: self.at]), self.y[: self.at], **self.classes)


def state(model):
    """Return every number that a learner holds."""
    kernel = hasattr(model, "kernel")
    holder, names = (
        (model, ("dual_coef_", "support_vectors_", "support_")) if kernel else (model._model, ("last", "drift"))
    )
    streams = list((model._streams or {}).values())
    return [*(np.array(getattr(holder, name)) for name in names), model._counts, streams]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(state(one), state(other), strict=True))


@settings(max_examples=150, deadline=None, database=None, derandomize=not SECONDS)
@given(st.sampled_from(sorted(LEARNERS)), st.sampled_from([np.asarray, sp.csr_matrix, np.float32]), STEPS)
def walk(name, form, steps):
    way = Walk(name, form)
    for what, k in steps:
        way.step(what, k)
    assert same(way.model, way.twin)
    if not hasattr(way.model, "_passed") and way.start.batch_size == 1:  # blocks of kernel values round differently
        assert same(way.model, way.in_one_go())


def test_every_way_leads_to_the_same_learner():
    end = time.monotonic() + SECONDS
    walk()
    while time.monotonic() < end:
        walk()
