"""The experiment of Pérez-Suay, Ferri, Arevalillo-Herráez and Albert (section 4): mini-batches on seven databases.

The kernel values of a database are computed once for each width, and a learner is then a pass over rows of that matrix.
The source does not say how features are scaled, how sigma enters the kernel or in which order the examples come. Here
features have mean 0 and variance 1 unless asked otherwise, ``k(x, x') = exp(-||x - x'||^2 / (2 sigma^2)) + 1``, where
the 1 is the bias of their section 2, and the order is random.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy.spatial.distance import pdist, squareform
from sklearn.utils import Bunch

from pa_lab import PAClassifier
from pa_lab.passes import Examples, State, learn, make_group
from pa_lab.queries import ASK_ALL, N_COUNTERS
from pa_lab.rows import make_gram_rows
from pa_lab.rules import make_rule
from pa_lab.study import datasets
from pa_lab.study.experiments import Splits, flip_labels, grid, sweep
from pa_lab.study.published_protocol import weighted_sums

METHODS = {"BPAI": "PA-I", "BPAII": "PA-II", "BPALS": "PALS"}
DATABASES = ("breast", "diabetes", "heart", "ionosphere", "liver", "sonar", "twonorm")
BATCHES = (1, 2, 3, 4, 6, 8, 10, 20)
CS, SIGMAS = np.logspace(-5, 1, 7), np.logspace(-4, 1, 6)
SCALINGS = ("standard", "unit", "none")
WIDTHS = {"2 sigma^2": lambda s: 0.5 / s**2, "sigma^2": lambda s: s**-2.0, "gamma": lambda s: s}


def load(name: str, n_trials: int, seed: int = 0, scaling: str = "standard") -> Bunch:
    """Load a database with the rows of its trials and those to tune on.

    Parameters
    ----------
    name : str in ``DATABASES``
    n_trials : int
    seed : int, default=0
        Seed of the trials; the subsamples have the next one.
    scaling : str in ``SCALINGS``

    Returns
    -------
    Bunch
        As from `pa_lab.datasets.load`, with ``X`` scaled; ``parts``, training and test rows of each trial; and
        ``subsamples``, three arrays of at most 1000 rows to tune on.

    Examples
    --------
    >>> data = load("twonorm", n_trials=25)
    >>> len(data.parts), [len(rows) for rows in data.subsamples]
    (25, [1000, 1000, 1000])
    """
    data = datasets.load(name)
    data.X = scaled(data.X, scaling)
    data.parts = splits(len(data.y), n_trials, seed=seed)
    data.subsamples = [rows for rows, _ in splits(len(data.y), 3, seed=seed + 1, most=1000)]
    return data


def scaled(X: np.ndarray, how: str = "standard") -> np.ndarray:
    """Return features with mean 0 and variance 1 ("standard"), in [0, 1] ("unit"), or as they are ("none").

    Features that are constant become 0.

    >>> scaled(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if how == "none":
        return X
    low, unit = (X.mean(0), X.std(0)) if how == "standard" else (X.min(0), np.ptp(X, 0))
    return (X - low) / np.where(unit > 0, unit, 1.0)


def rbf(squares: np.ndarray, sigma: float, width: str = "2 sigma^2") -> np.ndarray:
    """Return the kernel matrix for the squared distances of scipy's `pdist`; ``WIDTHS`` says how sigma enters.

    >>> rbf(np.array([2.0]), 1.0).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    K = squareform(np.exp(-WIDTHS[width](sigma) * squares))
    np.fill_diagonal(K, 1.0)
    return K


def kernel_pass(
    K: np.ndarray, y: np.ndarray, order: np.ndarray, method: str, C: float, batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Run one online pass of a kernel learner with bias over some rows of a database.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel values of the whole database.
    y : array of shape (n,)
        Labels in {-1, +1}.
    order : array of int
        The rows to learn from, as they come; at least one.
    method : {"BPAI", "BPAII", "BPALS"}
    C : float
    batch_size : int

    Returns
    -------
    trace : array of shape (len(order), 2)
        The score before the update and the step size of each example.
    w : array of shape (n + 1,)
        The coefficient of each row, then the bias.

    Examples
    --------
    >>> trace, w = kernel_pass(np.eye(2), np.array([1.0, -1.0]), np.array([1]), "BPALS", 0.5, 1)
    >>> trace.round(3).tolist(), w.round(3).tolist()
    ([[0.0, 0.333]], [0.0, -0.333, -0.333])
    """
    if not len(order):
        raise ValueError(f"order must name at least one row to learn from; got {order!r}.")
    n, trace = len(K), np.zeros((len(order), 2))
    state = State(np.zeros((n + 1, 1)), np.empty((n + 1, 0)), np.zeros(N_COUNTERS, np.int64))
    rows, rule = make_gram_rows(K, np.zeros((n, 1)), norm_one=1.0), make_rule(METHODS[method])
    examples = Examples(y.astype(float), np.full(n, float(C)), order, trace)
    learn(rows, examples, rule, ASK_ALL, state, None, None, make_group(min(batch_size, len(order)), rule))
    return trace, state.weights[:, 0]


def predict(K: np.ndarray, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the scores of some rows of a database under the coefficients of a `kernel_pass`.

    >>> predict(np.eye(2), np.array([0, 1]), np.array([2.0, 0.0, 0.5])).tolist()
    [2.5, 0.5]
    """
    return weighted_sums(K[rows], w[:-1]) + w[-1]


def wrong(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which scores have the wrong sign; a score of 0 predicts -1, as in the learners."""
    return (p > 0) != (y > 0)


def tune(
    databases: dict[str, Bunch],
    methods: Sequence[str] = tuple(METHODS),
    batches: Sequence[int] = BATCHES,
    width: str = "2 sigma^2",
    Cs: Sequence[float] = CS,
    sigmas: Sequence[float] = SIGMAS,
) -> pd.DataFrame:
    """Choose C and sigma for each database, method and batch size, by the online error averaged over subsamples.

    Parameters
    ----------
    databases : dict of str to Bunch
        With ``X``, ``y`` and ``subsamples``, as from `load`.
    methods, batches, Cs, sigmas : sequences
        What to tune and what to try.
    width : str in ``WIDTHS``

    Returns
    -------
    DataFrame
        Columns ``database``, ``method``, ``B``, ``C`` and ``sigma``. Among equal errors the smallest C, then the
        smallest sigma, is chosen.
    """
    frames, learners = [], grid(method=methods, B=batches, C=Cs)
    for name, data in databases.items():
        settings = grid(sigma=sigmas, subsample=range(len(data.subsamples)))
        squares = [pdist(data.X[rows], "sqeuclidean") for rows in data.subsamples]
        shared = {"squares": squares, "y": [data.y[rows] for rows in data.subsamples], "learners": learners}
        with parallel_config(backend="threading"):  # the passes are compiled, and the kernel values are shared
            runs = sweep(_tune_one, settings, label=f"tuning {name}", width=width, **shared)
        means = runs.groupby(["method", "B", "C", "sigma"], sort=True)["error"].mean().round(12).reset_index()
        best = means.loc[means.groupby(["method", "B"])["error"].idxmin()].drop(columns="error")
        frames.append(best.assign(database=name))
    return pd.concat(frames, ignore_index=True)[["database", "method", "B", "C", "sigma"]]


def _tune_one(sigma, subsample, squares, y, learners, width):
    K, y = rbf(squares[subsample], sigma, width), y[subsample]
    order, rows = np.arange(len(y)), []
    for run in learners:
        trace, _ = kernel_pass(K, y, order, run["method"], run["C"], run["B"])
        rows.append(run | {"error": wrong(trace[:, 0], y).mean()})
    return rows


def splits(n: int, trials: int, share: float = 0.75, seed: int = 0, most: int | None = None) -> Splits:
    """Return random training and test rows for each trial; the training rows in the order in which they come.

    Parameters
    ----------
    n, trials : int
        Number of rows and of splits.
    share : float, default=0.75
        Share of the rows to train on, but not more than ``most`` rows.
    seed : int, default=0

    Examples
    --------
    >>> train, test = splits(8, 1)[0]
    >>> len(train), len(test)
    (6, 2)
    """
    cut = min(round(share * n), most or n)
    orders = [np.random.default_rng([seed, trial]).permutation(n) for trial in range(trials)]
    return [(order[:cut], order[cut:]) for order in orders]


def trials(
    databases: dict[str, Bunch],
    chosen: pd.DataFrame,
    width: str = "2 sigma^2",
    flips: Sequence[float] = (0.0,),
    paths: bool = False,
) -> pd.DataFrame:
    """Learn from the training rows of each trial and test on the rest, with the chosen C and sigma.

    Parameters
    ----------
    databases : dict of str to Bunch
        With ``X``, ``y`` and ``parts``, as from `load`.
    chosen : DataFrame
        With the columns of `tune`. A setting that comes twice is run once.
    width : str in ``WIDTHS``
    flips : sequence of float, default=(0.0,)
        Shares of the training labels to flip. Errors are counted by the true labels.
    paths : bool, default=False
        Also follow the test error along the stream, for its `variation`.

    Returns
    -------
    DataFrame
        The columns of `tune`, ``trial``, ``flip``, ``online`` (final cumulative error), ``test`` (error), ``updates``,
        and ``curve``, the cumulative error after each example.
    """
    frames, chosen = [], chosen[["database", "method", "B", "C", "sigma"]].drop_duplicates()
    for name, data in databases.items():
        squares, settings = pdist(data.X, "sqeuclidean"), grid(trial=range(len(data.parts)), flip=flips)
        for sigma, part in chosen[chosen["database"] == name].groupby("sigma"):
            K, learners = rbf(squares, sigma, width), part.to_dict("records")
            shared = {"parts": data.parts, "y": data.y, "K": K, "learners": learners, "paths": paths}
            with parallel_config(backend="threading"):
                frames.append(sweep(_trial, settings, label=f"{name}, sigma {sigma:g}", **shared))
    return pd.concat(frames, ignore_index=True)


def _trial(trial, flip, parts, y, K, learners, paths):
    train, test = parts[trial]
    noisy = y.copy()
    noisy[train] = flip_labels(y[train], flip, np.random.default_rng([trial, 1]))
    seen, rows = np.arange(1, len(train) + 1), []
    for run in learners:
        trace, w = kernel_pass(K, noisy, train, run["method"], run["C"], run["B"])
        curve = np.cumsum(wrong(trace[:, 0], y[train])) / seen
        result = run | {
            "online": curve[-1],
            "test": wrong(predict(K, test, w), y[test]).mean(),
            "updates": np.count_nonzero(trace[:, 1]),
            "curve": curve,
        }
        if paths:
            path = error_path(K, y, noisy, train, test, trace[:, 1], run["B"])
            result |= {"rough_test": variation(path), "rough_online": variation(curve)}
        rows.append(result)
    return rows


def error_path(
    K: np.ndarray, y: np.ndarray, noisy: np.ndarray, train: np.ndarray, test: np.ndarray, tau: np.ndarray, B: int
) -> np.ndarray:
    """Return the test error of the current hypothesis after each example of the stream.

    Parameters
    ----------
    K, y : arrays of shape (n, n) and (n,)
        Kernel values and true labels of the whole database.
    noisy : array of shape (n,)
        The labels that were learned from.
    train, test : arrays of int
        Rows, the training rows in their order.
    tau : array of shape (len(train),)
        Step sizes, from `kernel_pass`.
    B : int
        Batch size: the hypothesis changes after every ``B`` examples and at the end.
    """
    steps = (K[np.ix_(test, train)] + 1.0) * (tau * noisy[train])
    p = np.cumsum(steps, axis=1)
    ends = np.arange(1, len(train) + 1) // B * B - 1  # the last example that has been learned from
    ends[-1] = len(train) - 1
    errors = wrong(p, y[test][:, None]).mean(axis=0)
    return np.where(ends < 0, wrong(0.0, y[test]).mean(), errors[ends])


def variation(curve: np.ndarray) -> float:
    """Return how much a curve goes up and down over its second half: the sum of its absolute steps.

    >>> variation(np.array([9.0, 9.0, 1.0, 2.0, 1.0]))
    2.0
    """
    return float(np.abs(np.diff(curve[len(curve) // 2 :])).sum())


def stream_errors(
    kinds: dict[str, np.ndarray],
    y: np.ndarray,
    orders: list[np.ndarray],
    batches: Sequence[int] = BATCHES,
    Cs: Sequence[float] = CS,
) -> pd.DataFrame:
    """Run linear mini-batches with an intercept over several orders of a long stream.

    Parameters
    ----------
    kinds : dict of str to array of shape (n, d)
        Kinds of features of the same rows.
    y : array of shape (n,)
    orders : list of arrays of int
        Orders of the rows.
    batches, Cs : sequences
        Batch sizes and values of C, every pair of which is run.

    Returns
    -------
    DataFrame
        Columns ``kind``, ``order`` (its number), ``method``, ``B``, ``C`` and ``online``, the percentage of rows that
        were predicted wrongly before their batch was learned.

    Examples
    --------
    >>> stream_errors({"linear": np.eye(2)}, np.array([1, -1]), [[0, 1]], batches=[2], Cs=[1.0])["online"].tolist()
    [50.0, 50.0, 50.0]
    """
    runs, settings = [], grid(method=METHODS, B=batches, C=Cs)
    for kind, X in kinds.items():
        for number, rows in enumerate(orders):
            X_here, y_here = X[rows], y[rows]
            for setting in settings:
                model = PAClassifier(METHODS[setting["method"]], C=setting["C"], batch_size=setting["B"])
                mistakes = model.fit(X_here, y_here).n_mistakes_
                about = {"kind": kind, "order": number}
                runs.append(about | setting | {"online": 100 * mistakes / len(y_here)})
    return pd.DataFrame(runs)


# ---------------------------------------------------------------- what the runs show


def against_published(summary: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return our test errors beside the source's Table 2, in percent, and whether the 95 % intervals overlap.

    Parameters
    ----------
    summary : DataFrame
        From `statistics.summarize` by ``database``, ``method``, ``B``, of ``test``.
    published : DataFrame
        ``published.load_table("perez_suay_table2")``.

    Returns
    -------
    DataFrame
        Columns ``database``, ``method``, ``B``, ``ours``, ``ours_ci``, ``theirs``, ``theirs_ci``, ``overlap``; the
        intervals as half-widths.
    """
    theirs = published.set_axis(["database", "method", "B", "theirs", "theirs_ci"], axis=1)
    ours = summary.assign(ours=100 * summary["test"], ours_ci=100 * (summary["test_high"] - summary["test"]))
    cells = ours[["database", "method", "B", "ours", "ours_ci"]].merge(theirs, on=["database", "method", "B"])
    return cells.assign(overlap=(cells.ours - cells.theirs).abs() <= cells.ours_ci + cells.theirs_ci)
