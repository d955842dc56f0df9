"""Label campaigns: ways of asking for labels, compared at the same budgets, each tuned for itself.

A campaign is one pass over a stream that pays for a share of its labels and learns from those alone. `compare` runs
many of them. Its words: ``asking``, one of `WAYS`; ``order`` of the rows, "file" or "shuffled" anew for every seed
and budget; ``share`` of the labels that may be asked for; ``weights``, "last" or "averaged".
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from pa_lab.linear import PAClassifier
from pa_lab.study import datasets, metrics
from pa_lab.study.experiments import decision_values, first_reach, grid, sweep, trace

WAYS = ("margin", "random", "threshold", "first", "all")  # "first": the first rows of the stream, then none
BY_SCORE = ("margin", "threshold")  # these look at the score of a row, so their delta must be found by trial
SCORES = ("average_precision", "auc", "f1", "balanced_accuracy")
HELD_OUT = 0.3  # of the training rows, to choose C on, and of a set without test rows, to score on
TOLERANCE = 0.2  # a C with which a campaign misses its budget by more than this share of it is not chosen


def load(name: str, shuffle: bool = False) -> Bunch:
    """Load a data set with test rows, and with columns of mean 0 and variance 1 on the training rows.

    Parameters
    ----------
    name : str
        One of `pa_lab.datasets.names`.
    shuffle : bool, default=False
        A set without test rows has 30 % of its rows set aside: drawn at random, or the last ones.

    Returns
    -------
    Bunch
        As from `pa_lab.datasets.load`, with ``X_train, y_train, X_test, y_test``. Sparse columns stay as they are.

    Examples
    --------
    >>> data = load("twonorm")
    >>> data.X_train.shape, data.X_test.shape
    ((5180, 20), (2220, 20))
    """
    data = datasets.load(name)
    if "X" in data:
        parts = train_test_split(data.X, data.y, test_size=HELD_OUT, shuffle=shuffle, random_state=0)
        data.X_train, data.X_test, data.y_train, data.y_test = parts
    if isinstance(data.X_train, np.ndarray):
        scaler = StandardScaler().fit(data.X_train)
        data.X_train, data.X_test = scaler.transform(data.X_train), scaler.transform(data.X_test)
    return data


def compare(
    data: Bunch,
    ways: Sequence[str],
    orders: Sequence[str],
    budgets: Sequence[float],
    C_grid: Sequence[float],
    seeds: Sequence[int],
    variant: str = "PA-I",
    n_jobs: int = -1,
) -> pd.DataFrame:
    """Run campaigns with each way of asking, at the C that suits it best.

    For each seed, C is chosen for every way, order, budget, kind of weights and score by itself: by campaigns over
    70 % of the training rows, scored on the other 30 %. These are drawn at random for shuffled rows, and are the last
    ones in file order. The campaign that counts then runs over all training rows and is scored on the test rows. So
    the spread over seeds includes what the choice of C adds to it.

    Parameters
    ----------
    data : Bunch
        With ``X_train, y_train, X_test, y_test``, as from `pa_lab.datasets.load`.
    ways, orders : lists of str
        From `WAYS`, and from "shuffled" and "file".
    budgets : list of float
        Shares of the labels of the stream; "all" has them all.
    C_grid : list of float
        What to try for C. A single value is taken as it is.
    seeds : list of int
        In file order only margin and random draw anything; the other ways are then run for the first seed only.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
    n_jobs : int, default=-1
        Number of worker processes.

    Returns
    -------
    DataFrame
        A row per score and campaign: ``order``, ``asking``, ``share``, ``seed``, ``weights``; ``score``, its name, and
        ``value``, on the test rows; ``C``; ``delta``, or the threshold of the threshold rule; ``labels`` asked for;
        ``updates``. A threshold rule may miss its budget by far: look at ``labels``.
    """
    settings = grid(order=orders, asking=ways, share=[*budgets, 1.0])
    settings = [one for one in settings if (one["asking"] == "all") == (one["share"] == 1.0)]
    C_grid = [1.0] if variant == "PA" else list(C_grid)  # PA has no C
    return sweep(_campaigns, settings, n_jobs, "campaigns", data=data, C_grid=C_grid, seeds=seeds, variant=variant)


def _campaigns(order, asking, share, data, C_grid, seeds, variant):
    """Tune and run the campaigns of one setting, for each seed."""
    if order == "file" and asking not in ("margin", "random"):
        seeds = seeds[:1]
    asks = {"asking": asking, "order": order, "share": share, "variant": variant}
    if asking in BY_SCORE:
        tuning_sizes = {C: size_for(held_out(data, order, 0), C=C, **asks) for C in C_grid}
        sizes = {C: size_for(data, C=C, **asks) for C in C_grid}
    else:
        tuning_sizes = sizes = dict.fromkeys(C_grid, 1.0)
    rows = []
    for seed in seeds:
        part = held_out(data, order, seed)
        X, y = stream(data, asking, order, share, seed)
        for average in (False, True):
            options = {"average": average, "variant": variant, "random_state": seed}
            best = _best_C(part, asking, order, share, seed, tuning_sizes, options)
            found = {C: campaign(learner(asking, C, sizes[C], **options), X, y, data) for C in set(best.values())}
            for score, C in best.items():
                row = {"seed": seed, "weights": "averaged" if average else "last", "score": score}
                spent = {"C": C, "delta": sizes[C], "labels": found[C]["labels"], "updates": found[C]["updates"]}
                rows.append(row | {"value": found[C][score]} | spent)
    return rows


def _best_C(part, asking, order, share, seed, sizes, options):
    """The best C for each score, among those that keep to the budget, or come closest to it if none does."""
    if len(sizes) == 1:
        return dict.fromkeys(SCORES, next(iter(sizes)))
    X, y = stream(part, asking, order, share, seed)
    found = {C: campaign(learner(asking, C, size, **options), X, y, part) for C, size in sizes.items()}
    budget = share * len(part.y_train)
    missed = {C: abs(row["labels"] - budget) for C, row in found.items()}
    fair = [C for C in sizes if missed[C] <= max(TOLERANCE * budget, min(missed.values()))]
    return {score: max(fair, key=lambda C: (np.nan_to_num(found[C][score], nan=-1.0), -C)) for score in SCORES}


def labels_to_reach(runs: pd.DataFrame, goal: float = 0.95, draws: int = 1000) -> pd.DataFrame:
    """Count the labels at which each way of asking reaches a share of the score that all labels give.

    Parameters
    ----------
    runs : DataFrame
        What `compare` returned for shuffled streams, with "all" among the ways.
    goal : float in (0, 1], default=0.95
        That share.
    draws : int, default=1000
        How often to resample the seeds for the 95 % interval.

    Returns
    -------
    DataFrame
        By ``score``, ``weights`` and ``asking``: ``labels``, where the mean curve over the seeds first reaches the
        goal, on straight lines over the logarithm of the labels; ``low`` and ``high``.
    """
    found = []
    for (score, weights), part in runs.groupby(["score", "weights"], sort=False):
        whole = part[part["asking"] == "all"]
        for asking, one in part[part["asking"] != "all"].groupby("asking", sort=False):
            one = pd.concat([one, whole])
            labels = one.groupby("share")["labels"].mean().to_numpy()
            curves = one.pivot(index="seed", columns="share", values="value").to_numpy()
            sample = np.random.default_rng(0).integers(0, len(curves), (draws, len(curves)))
            means = [curves.mean(axis=0), *curves[sample].mean(axis=1)]
            reached = [first_reach(labels, mean, goal * mean[-1]) for mean in means]
            low, high = np.quantile(reached[1:], [0.025, 0.975], method="nearest")
            case = {"score": score, "weights": weights, "asking": asking}
            found.append(case | {"labels": reached[0], "low": low, "high": high})
    return pd.DataFrame(found)


def held_out(data: Bunch, order: str, seed: int) -> Bunch:
    """Split the training rows to tune on: the last 30 % are to be scored, in file order or after a shuffle.

    >>> data = Bunch(X_train=np.eye(10), y_train=np.arange(10))
    >>> held_out(data, "file", 0).y_test.tolist()
    [7, 8, 9]
    """
    n = len(data.y_train)
    rows = np.arange(n) if order == "file" else np.random.default_rng([seed, 2]).permutation(n)
    learn, score = np.split(rows, [round((1 - HELD_OUT) * n)])
    X, y = data.X_train, data.y_train
    return Bunch(X_train=X[learn], y_train=y[learn], X_test=X[score], y_test=y[score])


def stream(data: Bunch, asking: str, order: str, share: float, seed: int):
    """Return the rows and labels of a stream: all of them, or those to ask for where the score does not matter.

    Parameters
    ----------
    data : Bunch
        With ``X_train, y_train``.
    asking : str
        For "random" and "first" only the rows to ask for are returned, in their order.
    order : {"file", "shuffled"}
    share : float
        Budget; streams of different budgets are shuffled differently.
    seed : int

    Examples
    --------
    >>> data = Bunch(X_train=np.arange(10)[:, None], y_train=np.arange(10))
    >>> stream(data, "first", "file", 0.3, 0)[1].tolist(), len(stream(data, "random", "shuffled", 0.3, 0)[1])
    ([0, 1, 2], 3)
    """
    n = len(data.y_train)
    rng = np.random.default_rng([seed, round(1e6 * share)])
    rows = np.arange(n) if order == "file" else rng.permutation(n)
    if asking == "first":
        rows = rows[: round(share * n)]
    elif asking == "random":
        rows = rows[np.sort(rng.permutation(n)[: round(share * n)])]
    return data.X_train[rows], data.y_train[rows]


def learner(asking: str, C: float, size: float, **options) -> PAClassifier:
    """Return the learner of a campaign: one that asks by the score with delta ``size``, or takes what it is given.

    >>> learner("random", 1.0, 0.5).query, learner("threshold", 1.0, 0.5).query
    ('all', 'threshold')
    """
    rule = {"query": asking, "delta": size} if asking in BY_SCORE else {}
    return PAClassifier(C=C, **rule, **options)


def size_for(data: Bunch, asking: str, order: str, share: float, C: float, variant: str = "PA-I") -> float:
    """Find the ``delta`` with which a margin or threshold learner spends a share of the labels, by bisection.

    It tries two streams that no campaign sees. A threshold may have no such value, because a learner that has stopped
    asking does not start again: the value returned then spends too much or too little.
    """
    low, high = -20.0, 14.0  # powers of 2
    streams = [(seed, *stream(data, asking, order, share, seed)) for seed in (1000, 1001)]
    for _ in range(14):
        middle = (low + high) / 2
        models = ((learner(asking, C, 2.0**middle, variant=variant, random_state=s), X, y) for s, X, y in streams)
        spent = [model.fit(X, y).n_queries_ / len(y) for model, X, y in models]
        low, high = (low, middle) if np.mean(spent) >= share else (middle, high)
    return 2.0**middle


def campaign(model: PAClassifier, X, y: np.ndarray, data: Bunch) -> dict[str, float]:
    """Run one campaign in one pass and score its model on the test rows.

    Average precision and AUC are those of the decision values. F1 and balanced accuracy are taken at the thresholds
    that are best for them on the labels asked for, as `thresholds` finds them.

    Parameters
    ----------
    model : PAClassifier
        To be trained; its ``query`` says which labels it asks for.
    X, y : array or CSR matrix of shape (n, d), array of shape (n,)
        The stream, labels in {-1, +1}.
    data : Bunch
        With ``X_test, y_test``.

    Returns
    -------
    dict
        With ``labels`` asked for, ``updates`` made, and `SCORES`.
    """
    X, y, weight = learn(model, X, y)
    at_f1, at_balanced = thresholds(y, decision_values(model, X), weight)
    p = decision_values(model, data.X_test)
    found = metrics.measures(data.y_test, p, at_f1)
    found["balanced_accuracy"] = metrics.measures(data.y_test, p, at_balanced)["balanced_accuracy"]
    return {"labels": model.n_queries_, "updates": model.n_updates_} | {score: found[score] for score in SCORES}


def mistakes(model: PAClassifier, X, y: np.ndarray, seeds: Iterable[int]) -> np.ndarray:
    """Count the rows that a model predicts wrongly on its way through a stream, before it may ask for their labels.

    Parameters
    ----------
    model : PAClassifier
        Each pass starts from zero weights.
    X, y : array or CSR matrix of shape (n, d), array of shape (n,)
        The stream, labels in {-1, +1}.
    seeds : iterable of int
        A pass for each; the seed decides which labels are asked for.

    Returns
    -------
    int array
        A count for each seed. Unlike the ``n_mistakes_`` of a learner, which cannot know better, it counts mistakes on
        rows that were not asked for as well.

    Examples
    --------
    >>> model = PAClassifier(label_budget=1)
    >>> mistakes(model, np.array([[1.0], [1.0], [1.0]]), np.array([1, -1, -1]), [0]).tolist()
    [3]
    """
    counts = []
    for seed in seeds:
        p = trace(clone(model).set_params(random_state=seed), X, y)["score"]
        counts.append(np.count_nonzero((p > 0) != (y > 0)))
    return np.array(counts)


def learn(model: PAClassifier, X, y: np.ndarray):
    """Train a model in one pass, and return what is labelled now.

    Returns the rows asked for, their labels, and their weights for `thresholds`, None for equal ones.

    >>> learn(PAClassifier(label_budget=2), np.eye(3), np.array([1, -1, 1]))[1].tolist()
    [1, -1]
    """
    if model.query == "all":
        model.partial_fit(X, y, classes=[-1, 1])
        return X[: model.n_queries_], y[: model.n_queries_], None
    steps = trace(model, X, y)
    asked = steps["asked"].to_numpy(dtype=bool)
    if model.query != "margin":
        return X[asked], y[asked], None
    return X[asked], y[asked], 1.0 + np.abs(steps["score"].to_numpy()[asked]) / model.delta


def thresholds(y: np.ndarray, p: np.ndarray, weight: np.ndarray | None = None) -> tuple[float, float]:
    """Return the thresholds with the best F1 and with the best balanced accuracy on some labelled rows.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels in {-1, +1}.
    p : ndarray of shape (n,)
        Decision values.
    weight : ndarray of shape (n,), optional
        How many rows of the stream each one stands for: one over the probability with which its label was asked for,
        which the margin rule knows. It asks more often near the boundary, so that a row there stands for fewer.

    Returns
    -------
    tuple of two floats
        Each lies half-way between two decision values, or by 0.5 below the least one if all rows are best called
        positive. Where one class is missing they are 0.

    Examples
    --------
    >>> thresholds(np.array([-1, -1, 1, 1]), np.array([-2.0, 0.5, 1.0, 3.0]))
    (0.75, 0.75)
    """
    if len(np.unique(y)) < 2:
        return 0.0, 0.0
    falling = np.argsort(-p, kind="stable")
    p, above = p[falling], np.where(y[falling] > 0, 1.0, 0.0)
    weight = np.ones(len(p)) if weight is None else weight[falling]
    true, false = np.cumsum(weight * above), np.cumsum(weight * (1.0 - above))
    below = np.append(p[1:], p[-1] - 1.0)
    ends = p > below  # rows with the same decision value fall on the same side
    f1 = 2.0 * true / (true + false + true[-1])
    balanced = true / true[-1] - false / false[-1]
    best = [np.argmax(np.where(ends, values, -np.inf)) for values in (f1, balanced)]
    return tuple(float((p[i] + below[i]) / 2.0) for i in best)
