"""Calls that fail, or are interrupted, leave a learner as it was."""

import functools


def all_or_nothing(method):
    """Wrap a learner's method so that on any exception its attributes are those of before, as are its random streams.

    Arrays are not copied: the method must put new ones in their place and not write into the old.

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
        before = vars(self).copy()
        streams = [rng.bit_generator for name, rng in before.items() if name.endswith("_rng")]
        states = [stream.state for stream in streams]
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            for stream, state in zip(streams, states, strict=True):
                stream.state = state
            raise

    return call
