"""Calls that fail, or are interrupted, leave a learner as it was; calls from several threads do not mix.

A call that changes a learner (`all_or_nothing`) runs on a twin of it, and at the very end the learner becomes the twin.
Until then nothing that the learner holds is changed in place. Such calls take turns. A call that reads a learner
(`before_or_after`) waits for nobody: it sees the learner before or after a change by another thread.

A learner of many features that learns from a short sparse row writes the few weights of this row in place, at the end,
as `Patch` says: to copy all of them would take far longer than to learn.
"""

import copy
import functools
import os
import threading
import weakref
from typing import NamedTuple

import numpy as np


class Guard:
    """The lock of one learner, and a number that is odd while weights are written in place."""

    def __init__(self):
        self.lock, self.writes = threading.RLock(), 0


_guards: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # not in the learner: a copy has its own
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guards.clear)  # a thread that held a lock does not live on in the child


def guard_of(learner) -> Guard:
    """Return the guard of a learner, made when first asked for."""
    return _guards.get(learner) or _guards.setdefault(learner, Guard())


class Patch(NamedTuple):
    """Weights that a call writes at its end: those of a ``part`` into some ``rows`` of the ``whole``."""

    whole: object
    part: object
    rows: np.ndarray


def twin_of(learner):
    """Return another learner that holds the very same things."""
    twin = object.__new__(type(learner))
    twin.__dict__ = vars(learner).copy()
    return twin


def keep_seed(seed):
    """Return a function that puts a seed back as it is now, if it is a random stream of the user's."""
    stream = getattr(seed, "bit_generator", seed)
    if not hasattr(stream, "__setstate__"):
        return lambda: None
    return functools.partial(stream.__setstate__, copy.deepcopy(stream.__getstate__()))


def all_or_nothing(method):
    """Wrap a learner's method so that on any exception the learner is as before.

    >>> class Counter:
    ...     random_state = None
    ...     @all_or_nothing
    ...     def add(self, x):
    ...         self.total = x
    ...         return 1 / x
    >>> counter = Counter()
    >>> counter.add(2), vars(counter)
    (0.5, {'total': 2})
    >>> try:
    ...     counter.add(0)
    ... except ZeroDivisionError:
    ...     counter.total
    2
    """

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        guard = guard_of(self)
        with guard.lock:
            twin, put_back = twin_of(self), keep_seed(self.random_state)
            try:
                result = method(twin, *args, **kwargs)
                patch, ready = vars(twin).pop("_patch", None), twin.__dict__
            except BaseException:
                put_back()
                raise
            if patch is not None:  # from here on no function is called, so that no interrupt comes between
                guard.writes += 1
                patch.whole.last[patch.rows] = patch.part.last
                patch.whole.drift[patch.rows] = patch.part.drift
            self.__dict__ = ready
            guard.writes += guard.writes % 2
        return self if result is twin else result

    return call


def before_or_after(method):
    """Wrap a method that only reads, so that it sees the learner before or after a change by another thread."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        guard = guard_of(self)
        writes = guard.writes
        result = method(twin_of(self), *args, **kwargs)
        if guard.writes == writes and writes % 2 == 0:
            return result
        with guard.lock:
            return method(self, *args, **kwargs)

    return call
