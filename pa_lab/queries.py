"""Which labels to ask for: the query rules.

``"all"`` asks always; ``"margin"`` with probability ``delta / (delta + |p|)``, so most often where the score ``p`` is
close to 0 (Lu, Zhao and Hoi, 2014, Algorithm 1; their analysis wants ``delta >= 1``); ``"random"`` with a fixed rate;
``"threshold"`` exactly where ``|p| <= delta``. With ``delta="auto"`` the margin rule is steered so that the budget
lasts, see `steered`.

Inside ``fit`` the compiled pass asks, and learns from no other label (``early_stopping`` reads those of the rows it
holds out). Where a person or a service labels, ``should_query(X)`` says which rows to ask for and ``partial_fit(X, y,
asked=True)`` takes the answers; `Questions` holds what is open and what was paid for. `estimate` turns paid labels into
statements about all rows.
"""

from typing import NamedTuple

import numpy as np

from pa_lab.compiled import COMPILED, INLINED, INNER
from pa_lab.jit import njit

QUERIES = ("all", "margin", "random", "threshold")
ALL, MARGIN, RANDOM, THRESHOLD = range(4)
# A learner's counters. Rows that count in the mean of the weights are counted apart from those seen.
# Free ones were learnt from at no cost to the budget.
N_SEEN, N_UPDATES, N_MISTAKES, N_QUERIES, N_UNANSWERED, N_AVERAGED, N_FREE, N_CAPPED = range(8)
N_COUNTERS = 8
NO_LIMIT = np.iinfo(np.int64).max
NO_DRAWS = np.empty(0)


# What a steered rule remembers: its delta, how many scores it has noted, and the last of them.
WINDOW, EVERY, MIXED = 256, 32, 0.1


class Asking(NamedTuple):
    """A query rule as the compiled passes take it: ``draws`` holds a uniform number for each example of the pass.

    ``memory`` is None unless delta is steered, over ``n_rows`` rows, or at the ``rate`` where ``n_rows`` is 0.
    """

    query: int
    draws: np.ndarray
    delta: float
    rate: float
    budget: int
    n_rows: int = 0
    memory: np.ndarray | None = None


class PaidLabels(NamedTuple):
    """The labels that were asked for and came, one entry each.

    ``row`` is the number of the row among all seen, from 0; ``probability`` that with which its label was asked for,
    NaN for ``query="threshold"``, which leaves nothing to chance; ``score`` that of the row when it was judged, with
    several classes the lead of the best; ``label``; ``mistake``, whether the prediction by this score was wrong.
    """

    row: np.ndarray
    probability: np.ndarray
    score: np.ndarray
    label: np.ndarray
    mistake: np.ndarray


class Estimate(NamedTuple):
    """A mean over rows, its standard error, and its 95 % interval."""

    mean: float
    error: float
    low: float
    high: float


ASK_ALL = Asking(ALL, NO_DRAWS, 1.0, 0.0, NO_LIMIT)


@njit(**INLINED)
def query_probability(query, p, delta, rate):
    """Probability that the label of an example with score ``p`` is asked for.

    >>> query_probability(MARGIN, -3.0, 1.0, 0.0)
    0.25
    """
    if query == MARGIN:
        return delta / (delta + abs(p))
    if query == RANDOM:
        return rate
    if query == THRESHOLD:
        return 1.0 if abs(p) <= delta else 0.0
    return 1.0


@njit(**COMPILED)
def steered(left, rows_left, rate, memory, size):
    """Probability of asking at a score of this size so that ``left`` labels last for ``rows_left`` rows.

    It is 1 where no fewer labels are left than rows. Else nine tenths of it are ``delta / (delta + size)``, with delta
    such that the expected number of questions in the last `WINDOW` rows would have been what the rate allows; it is
    solved for again `EVERY` rows. One tenth is the rate itself, so that no row is left out for good. For the first
    `EVERY` scores, and for a row of which the weights say nothing (``size`` is NaN then), the probability is the rate.

    >>> steered(1, 4, 0.0, np.zeros(2 + WINDOW), np.nan), steered(2, 2, 0.0, np.zeros(2 + WINDOW), 9.0)
    (0.25, 1.0)
    """
    if rows_left > 0:
        rate = min(left / rows_left, 1.0)
    if size == size:
        noted = np.int64(memory[1])
        memory[2 + noted % WINDOW] = size
        memory[1] = noted + 1
        if (noted + 1) % EVERY == 0:
            memory[0] = solve_delta(memory[0], rate, memory[2 : 2 + min(noted + 1, WINDOW)])
    if rate == 1.0 or size != size or memory[1] < EVERY:
        return rate
    return (1.0 - MIXED) * memory[0] / (memory[0] + size) + MIXED * rate


@njit(**COMPILED)
def solve_delta(delta, rate, sizes):
    """Solve ``mean(delta / (delta + sizes)) = rate`` for delta, nearly: some Newton steps on its logarithm.

    >>> round(solve_delta(1.0, 0.5, np.array([3.0, 3.0])), 6)
    3.0
    """
    if delta == 0.0:
        delta = sizes.mean()
    for _ in range(6):
        delta = min(max(delta, 1e-100), 1e100)
        total = slope = 0.0
        for size in sizes:
            share = delta / (delta + size)
            total += share
            slope += share * (1.0 - share)
        missing = rate * len(sizes) - total
        x = min(max(missing / max(slope, 1e-9), -4.0), 4.0)
        delta = delta * (1.0 + x) if x > 0.0 else delta / (1.0 - x)
    return delta


@njit(**INNER, forceinline=True)
def chance(query, delta, rate, budget, n_rows, memory, counts, p):
    """Probability that the label of the next example, already counted as seen, is asked for."""
    if counts[N_QUERIES] >= budget:
        return 0.0
    if memory is None:
        return query_probability(query, p, delta, rate)
    rows_left = max(n_rows - counts[N_SEEN] + counts[N_FREE] + 1, 1) if n_rows > 0 else 0
    # A score of exactly 0 is that of a row none of whose features has a weight yet. No delta could make it less urgent
    # than certain, and labels come late: many such rows would be asked for before the first of them is learnt.
    return steered(budget - counts[N_QUERIES], rows_left, rate, memory, abs(p) if p != 0.0 else np.nan)


@njit(**INNER, forceinline=True)
def decide(asking, counts, p, t):
    """Count example ``t``, of score ``p``: the probability of asking for its label, and whether it is asked for.

    There need be no draws where the probability is 0 or 1.
    """
    query, draws, delta, rate, budget, n_rows, memory = asking
    counts[N_SEEN] += 1
    counts[N_AVERAGED] += counts[N_QUERIES] < budget or counts[N_UNANSWERED] > 0
    probability = chance(query, delta, rate, budget, n_rows, memory, counts, p)
    asked = probability > 0.0 and (probability >= 1.0 or draws[t] < probability)
    counts[N_QUERIES] += asked
    return probability, asked


@njit(**COMPILED)
def judge(asking, counts, scores, chances):
    """Decide on rows judged by the same weights: the probabilities go to ``chances``, negative where not asked."""
    for t in range(scores.shape[0]):
        probability, asked = decide(asking, counts, scores[t], t)
        chances[t] = probability if asked else -1.0
        counts[N_UNANSWERED] += asked


class Questions(NamedTuple):
    """What a learner has asked for. Nothing is changed in place: each method returns what there is after it.

    ``open`` is a log of questions without an answer, with the number of the row, the probability of asking, the score
    and the number of the class predicted; ``paid`` one of labels that came, with the code of the label in place of
    the prediction, and whether that was wrong. A log is made of arrays, see `append`. ``memory`` steers a rule, see
    `Asking`.
    """

    open: tuple = ()
    paid: tuple = ()
    memory: np.ndarray | None = None

    def ask(self, ids, probability, score, predicted):
        """Open questions, in the order of their numbers."""
        return self._replace(open=append(self.open, np.array([ids, probability, score, predicted], np.float64).T))

    def close(self, ids=None):
        """Return what is left without these questions, or without any, and the rows of those taken out."""
        asked = table(self.open, 4)
        if ids is None:
            return self._replace(open=()), asked
        found = np.asarray(ids)
        if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
            raise ValueError("a question goes by its identifier, a whole number from should_query(X, return_ids=True); "
                             f"got {ids!r}. For labels that cost nothing pass asked='free'.")  # fmt: skip
        places = dict(zip(asked[:, 0].tolist(), range(len(asked)), strict=True))
        closed = [places.pop(i, None) for i in found.tolist()]
        if None in closed:
            raise ValueError(f"the question {found[closed.index(None)]} is not open: it was never asked, has its "
                             "answer or was cancelled. open_queries_ lists those that are.")  # fmt: skip
        return self._replace(open=(asked[list(places.values())],)), asked[closed]

    def answer(self, ids, codes):
        """Close these questions, or all, with the codes of their labels, and note what was paid."""
        left, closed = self.close(ids)
        if len(closed) != len(codes):
            raise ValueError(f"y holds {len(codes)} labels for {len(closed)} questions: asked=True takes the answers "
                             "to all open questions, in the order asked; for some of them pass their identifiers, from "
                             "should_query(X, return_ids=True).")  # fmt: skip
        mistake = closed[:, 3] != np.maximum(codes, 0.0)
        paid = np.concatenate([closed[:, :3], codes[:, np.newaxis], mistake[:, np.newaxis]], axis=1)
        return left._replace(paid=append(self.paid, paid))

    def paid_in_pass(self, examples, seen):
        """Note what was paid in a traced pass over examples, before which ``seen`` rows were seen."""
        paid = np.flatnonzero(~np.isnan(examples.trace[:, 1]))
        codes = examples.y[examples.order[paid] if len(examples.order) else paid]
        score, _, probability, mistake = examples.trace[paid].T
        return self._replace(paid=append(self.paid, np.column_stack([seen + paid, probability, score, codes, mistake])))

    def paid_labels(self, classes, query):
        """Return the `PaidLabels` of a learner with these classes."""
        row, probability, score, code, mistake = table(self.paid, 5).T
        if query == QUERIES[THRESHOLD]:
            probability = np.full(len(row), np.nan)
        label = classes[np.maximum(code, 0.0).astype(int)]
        return PaidLabels(row.astype(np.int64), probability, score, label, mistake > 0)

    def widened(self, places):
        """Let the classes stand at other places."""
        questions, paid = table(self.open, 4), table(self.paid, 5)
        for log in (questions, paid):
            log[:, 3] = places[np.maximum(log[:, 3], 0.0).astype(int)]
        return self._replace(open=(questions,), paid=(paid,))


def append(log, new):
    """Return a log with more rows at the end, its arrays merged so that they are few and no call copies them all.

    >>> [len(part) for part in append((np.zeros(4), np.zeros(1)), np.zeros(2))]
    [4, 3]
    """
    while log and len(log[-1]) <= len(new):
        *log, last = log
        new = np.concatenate([last, new])
    return (*log, new)


def table(log, width):
    """Return the rows of a log in one array of its own."""
    return np.concatenate([np.empty((0, width)), *log])


def estimate(values, probability) -> Estimate:
    """Estimate the mean of something over all rows that passed, from those whose label was asked for.

    Each label stands for one over the probability with which it was asked for (Horvitz and Thompson, 1952; the mean
    is a ratio of two such sums, as Hájek proposed). Rows count up to the last question. The interval is Wilson's, for
    as many labels as would have the same error were they drawn at random.

    Parameters
    ----------
    values : array of shape (n_labels,)
        Between 0 and 1: for example ``paid.label == 1`` for the share of a class, or ``paid.mistake`` for the share of
        predictions that were wrong when they were made, with ``paid = model.paid_labels_``.
    probability : array of shape (n_labels,)
        ``paid.probability``.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        Without labels, with values outside 0 and 1, or with unknown probabilities.

    Examples
    --------
    >>> estimate(np.array([1, 0]), np.array([0.5, 0.1])).mean
    0.16666666666666666
    """
    values, probability = np.asarray(values, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    if not len(values) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"values must lie between 0 and 1, for one label at least; got {values!r}.")
    if not ((probability > 0.0) & (probability <= 1.0)).all():
        raise ValueError("each label must have been asked for with a known probability above 0. query='threshold' asks "
                         "for some rows always and for others never, so that its labels speak for no other rows: "
                         "choose query='margin' or 'random'.")  # fmt: skip
    weight = 1.0 / probability
    mean = (weight @ values) / weight.sum()
    error = np.sqrt((1.0 - probability) @ (weight * (values - mean)) ** 2) / weight.sum()
    spread = error**2 / (mean * (1.0 - mean)) if 0.0 < mean < 1.0 else (weight**2).sum() / weight.sum() ** 2
    z = 1.96**2 * spread
    middle, half = (mean + z / 2) / (1 + z), np.sqrt(z * mean * (1 - mean) + z**2 / 4) / (1 + z)
    return Estimate(float(mean), float(error), float(max(middle - half, 0.0)), float(min(middle + half, 1.0)))
