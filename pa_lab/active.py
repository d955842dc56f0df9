"""Which labels to ask for: the query rules.

``"all"`` asks always; ``"margin"`` with probability ``delta / (delta + |p|)``, so most where the score ``p`` is least
sure (Lu, Zhao and Hoi, 2014, Algorithm 1; their analysis wants ``delta >= 1``); ``"random"`` with a fixed rate.
"""

from numba import njit

QUERIES = ("all", "margin", "random")
ALL, MARGIN, RANDOM = range(3)
SEEN, UPDATES, MISTAKES, QUERIED = range(4)  # a learner's counters


@njit(cache=True, forceinline=True, error_model="numpy")
def query_probability(query, p, delta, query_rate):
    """Probability that the label of an example with score ``p`` is asked for.

    >>> query_probability(MARGIN, -3.0, 1.0, 0.0)
    0.25
    """
    if query == MARGIN:
        return delta / (delta + abs(p))
    if query == RANDOM:
        return query_rate
    return 1.0
