"""Calls that fail, or are interrupted, leave a learner as it was.

A call that changes a learner (`all_or_nothing`) runs on a twin of it, and at the very end the learner becomes the twin.
Until then nothing that the learner holds is changed in place. A call that reads a learner (`before_or_after`) looks at
a twin too, so that it sees the learner before or after a change by another thread. There is no lock: calls that change
one learner must not overlap.

A learner of many features that learns from a short sparse row writes the few weights of this row in place, at the end:
to copy all of them would take far longer than to learn. Its twin says so in ``_patch``, which has the ``whole``
weights, a ``part`` of them that has learnt, and the ``rows`` where it belongs.
"""

import functools
import sys
import warnings


def warn(message, category=UserWarning):
    """Warn as from the line that called or imported the package, through scikit-learn or not."""
    frame, inner = sys._getframe(1), ("pa_lab", "sklearn", "joblib", "importlib", "_frozen_importlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inner:
        frame = frame.f_back
    place, there = (frame.f_code.co_filename, frame.f_lineno), frame.f_globals
    warnings.warn_explicit(
        message, category, *place, there.get("__name__", "__main__"), there.setdefault("__warningregistry__", {})
    )


def twin_of(learner):
    """Return another learner, or what else, that holds the very same things; `copy.copy` may go by their pickle."""
    twin = object.__new__(type(learner))
    twin.__dict__ = vars(learner).copy()
    return twin


def all_or_nothing(method):
    """Wrap a learner's method so that on any exception the learner is as before.

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
        twin = twin_of(self)
        result = method(twin, *args, **kwargs)
        patch, ready = vars(twin).pop("_patch", None), twin.__dict__
        if patch is not None:  # from here on no function is called, so that no interrupt comes between
            patch.whole.last[patch.rows] = patch.part.last
            patch.whole.drift[patch.rows] = patch.part.drift
        self.__dict__ = ready
        return self if result is twin else result

    return call


def before_or_after(method):
    """Wrap a method that only reads, so that it sees the learner before or after a change by another thread."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        return method(twin_of(self), *args, **kwargs)

    return call
