"""Calls that fail, or are interrupted, leave a learner as it was; calls from several threads do not mix.

A call that changes a learner (`all_or_nothing`) has it for itself. A call that reads it (`before_or_after`) sees the
state before or after such a call, never one in between, and does not keep other readers waiting.

Ctrl-C may strike while a failed call is being undone. That then starts again: what is put back twice is the same.
"""

import copy
import functools
import threading
import weakref


class Guard:
    """The lock of one learner, and a number that is odd while a call is changing it."""

    def __init__(self):
        self.lock, self.version = threading.RLock(), 0


_guards: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # not in the learner: a copy has its own


def guard_of(learner) -> Guard:
    """Return the guard of a learner, made when first asked for."""
    return _guards.get(learner) or _guards.setdefault(learner, Guard())


class Undo:
    """What a learner was like before a call: its attributes, and what was put on record before it changed.

    Arrays that a call replaces need no record. One that is changed in place does, through `keep`, and so does a
    random stream that is drawn from, through `keep_stream` or `keep_seed`.
    """

    def __init__(self, learner):
        self.attributes, self.parts, self.streams = vars(learner).copy(), [], []

    def keep(self, array, index=...):
        """Record a part of an array, before it is changed in place."""
        self.parts.append((array, index, array[index].copy()))

    def keep_stream(self, rng):
        """Record the state of a random stream, before it is drawn from; returns the stream."""
        self.streams.append((rng.bit_generator, rng.bit_generator.state))
        return rng

    def keep_seed(self, seed):
        """Record a seed that is a random stream of the user's, a Generator or RandomState, before it is drawn from."""
        stream = getattr(seed, "bit_generator", seed)
        if hasattr(stream, "__setstate__"):
            self.streams.append((stream, copy.deepcopy(stream.__getstate__())))

    def restore(self, learner):
        """Put everything back; if interrupted, start again and raise the interrupt at the end."""
        try:
            for array, index, values in reversed(self.parts):
                array[index] = values
            for stream, state in reversed(self.streams):
                stream.__setstate__(state)
            learner.__dict__ = self.attributes
        except BaseException:
            self.restore(learner)
            raise


def all_or_nothing(method):
    """Wrap a learner's method so that on any exception the learner is as before.

    While the method runs, ``self._undo`` is its `Undo`; a method called by a wrapped one shares it.

    >>> class Counter:
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
            if "_undo" in vars(self):
                return method(self, *args, **kwargs)
            undo = Undo(self)
            guard.version += 1 + guard.version % 2  # odd also after an interrupt that struck at the last line
            try:
                try:
                    self._undo = undo
                    result = method(self, *args, **kwargs)
                    del self._undo
                    return result
                except BaseException:
                    undo.restore(self)
                    raise
            except BaseException:
                undo.restore(self)  # an interrupt may have struck before the first one had begun
                raise
            finally:
                guard.version += 1

    return call


def before_or_after(method):
    """Wrap a method that only reads, so that it sees the learner before or after a change by another thread.

    It reads without the lock, and once more with it if the learner has changed meanwhile.
    """

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        guard = guard_of(self)
        version = guard.version
        if version % 2 == 0:
            try:
                result = method(self, *args, **kwargs)
                if guard.version == version:
                    return result
            except Exception:
                if guard.version == version:
                    raise
        with guard.lock:
            return method(self, *args, **kwargs)

    return call
