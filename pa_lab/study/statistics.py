"""Means, intervals, paired differences and tests: what repeated runs show.

A frame has one row per run ("long form").
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats


def summarize(frame: pd.DataFrame, by: str | list[str], values: list[str]) -> pd.DataFrame:
    """Return the mean, standard deviation and 95 % interval of the mean (Student t) of some columns, by group.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    by : str or list of str
        Columns to group by.
    values : list of str
        Columns to summarize. Runs in which a value is missing (NaN) do not count for it.

    Returns
    -------
    DataFrame
        The grouping columns, ``n`` (runs in the group), and for each value ``V`` the columns ``V`` (mean), ``V_sd``,
        ``V_low`` and ``V_high``; also ``V_n``, the runs that count for it, if any is missing. A single run has
        spread 0.

    Examples
    --------
    >>> runs = pd.DataFrame({"rule": ["PA", "PA"], "f1": [0.4, 0.6]})
    >>> summarize(runs, "rule", ["f1"]).round(2).to_csv(index=False).split()
    ['rule,n,f1,f1_sd,f1_low,f1_high', 'PA,2,0.5,0.14,-0.77,1.77']
    """
    groups = frame.groupby(by, sort=False, dropna=False)
    out = groups.size().rename("n").reset_index()
    for value in values:
        mean, sd, n = (groups[value].agg(how).to_numpy() for how in ("mean", "std", "count"))
        sd = np.where(n == 1, 0.0, sd)
        half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) / np.sqrt(np.maximum(n, 1)) * sd
        out[value], out[f"{value}_sd"], out[f"{value}_low"], out[f"{value}_high"] = mean, sd, mean - half, mean + half
        if (n < out["n"]).any():
            out[f"{value}_n"] = n
    return out


def paired(
    frame: pd.DataFrame, column: str, one, other, by: list[str], values: list[str], pair: str = "seed"
) -> pd.DataFrame:
    """Return a summary of the differences ``one`` minus ``other`` between paired runs, with 95 % intervals.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    column : str
        The column that tells the two sides apart.
    one, other : object
        Two of its values.
    by, values : list of str
        Columns to group by and columns to compare.
    pair : str, default="seed"
        What the two runs of a pair have in common within their group. Runs without a partner are left out.

    Returns
    -------
    DataFrame
        The summary of the differences by `summarize`.

    Examples
    --------
    >>> runs = pd.DataFrame({"seed": [0, 0, 1, 1], "rule": "PA", "way": ["a", "b"] * 2, "f1": [0.4, 0.3, 0.6, 0.3]})
    >>> paired(runs, "way", "a", "b", ["rule"], ["f1"])[["f1", "f1_low"]].round(2).values.tolist()
    [[0.2, -1.07]]
    """
    sides = []
    for value in (one, other):
        side = frame[frame[column] == value]
        if side.empty:
            raise ValueError(f"column {column!r} has no {value!r}; it holds {frame[column].unique().tolist()}.")
        side = side.set_index([*by, pair])[values]
        if not side.index.is_unique:
            raise ValueError(f"several runs with {column} = {value!r} agree in {[*by, pair]}: name in by or pair what "
                             "tells them apart.")  # fmt: skip
        sides.append(side)
    differences = (sides[0] - sides[1]).dropna()
    if differences.empty:
        raise ValueError(f"no run with {column} = {one!r} has a partner with {other!r} of the same {[*by, pair]}.")
    return summarize(differences.reset_index(), by, values)


def verdict(frame: pd.DataFrame, value: str) -> np.ndarray:
    """Return "better" or "worse" for each interval of a difference that excludes 0, else "not shown".

    Parameters
    ----------
    frame : DataFrame
        From `paired` or `summarize`: with columns ``V_low`` and ``V_high``.
    value : str
        The name ``V``.

    Examples
    --------
    >>> verdict(pd.DataFrame({"f1_low": [0.1, -0.1], "f1_high": [0.2, 0.1]}), "f1").tolist()
    ['better', 'not shown']
    """
    return np.select([frame[f"{value}_low"] > 0, frame[f"{value}_high"] < 0], ["better", "worse"], "not shown")


def corrected_t_test(differences: Sequence[float], n_train: float = 1, n_test: float = 0) -> dict[str, float]:
    """Test whether paired differences over resampled splits have mean 0 (Nadeau and Bengio, 2003).

    The training sets of different splits overlap, so the variance of independent runs is too small. The correction
    replaces the factor ``1/k`` by ``1/k + n_test/n_train``.

    Parameters
    ----------
    differences : array of shape (k,)
        Score of one method minus score of the other, by split.
    n_train, n_test : int, default=1 and 0
        Rows a split trains on and tests on. The default gives the ordinary paired t-test, for independent runs.

    Returns
    -------
    dict
        With ``mean``, ``low`` and ``high`` (95 % interval), ``t``, ``p`` (two-sided), and ``effect``, the mean in
        standard deviations of one difference.

    Examples
    --------
    >>> corrected_t_test([0.1, 0.2, 0.3], 90, 10)["p"] < 0.15
    True
    """
    differences = np.asarray(differences, dtype=float)
    k = differences.size
    good = differences.ndim == 1 and k >= 2 and np.isfinite(differences).all()
    if not (good and n_train > 0 and n_test >= 0):
        raise ValueError("differences must hold at least 2 finite numbers in one row, n_train be > 0 and n_test >= 0; "
                         f"got {differences!r}, {n_train!r} and {n_test!r}.")  # fmt: skip
    sd, mean = differences.std(ddof=1), differences.mean()
    error = np.sqrt(1 / k + n_test / n_train) * sd
    half = stats.t.ppf(0.975, k - 1) * error
    t, effect = _divide(mean, error), _divide(mean, sd)
    found = {"mean": mean, "low": mean - half, "high": mean + half, "t": t, "p": 2 * stats.t.sf(abs(t), k - 1)}
    return {name: float(value) for name, value in (found | {"effect": effect}).items()}


def _divide(mean, spread):
    """Return ``mean / spread``, infinite where only the spread is 0, and 0 where both are."""
    if spread > 0:
        return mean / spread
    return np.copysign(np.inf, mean) if mean else 0.0


def sign_permutation_test(differences: Sequence[float], n: int = 100_000, seed: int = 0) -> dict[str, float]:
    """Test whether paired differences have mean 0, by permuting their signs, and return an interval of the mean.

    If the two sides of every pair are exchangeable, each difference is as likely to have either sign. The p-value is
    the share of sign patterns whose mean lies at least as far from 0 as the one observed, in the same direction,
    doubled. The interval holds every shift of the differences that the same test does not reject at 5 %. With five
    pairs or fewer no p-value lies below 1/16 and the interval is the whole line.

    Use it on independent repetitions, such as runs over independent shuffles of a stream; for overlapping training
    sets there is `corrected_t_test`.

    Source: the subset means of Hartigan (1969), which order the shifts that reject.

    Parameters
    ----------
    differences : array of shape (k,)
        One side minus the other, by pair.
    n : int, default=100,000
        All ``2^k`` patterns are counted if they are no more than this (16 pairs), else so many are drawn at random.
    seed : int, default=0
        Seed of the random patterns.

    Returns
    -------
    dict
        With ``mean``, ``low`` and ``high`` (95 % interval) and ``p`` (two-sided).

    Raises
    ------
    ValueError
        If ``differences`` is not one row of finite numbers.

    Examples
    --------
    >>> sign_permutation_test([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])["p"]
    0.03125
    """
    differences = np.asarray(differences, dtype=float)
    k = differences.size
    if differences.ndim != 1 or not k or not np.isfinite(differences).all() or n < 1:
        raise ValueError("differences must be one row of finite numbers, and n at least 1; "
                         f"got {differences!r} and {n!r}.")  # fmt: skip
    if 2**k <= n:
        flipped = (np.arange(1, 2**k)[:, np.newaxis] >> np.arange(k)) & 1  # a row per pattern: which signs change
    else:
        flipped = np.random.default_rng(seed).integers(0, 2, (n, k))
        flipped = flipped[flipped.any(axis=1)]
    # A pattern's mean reaches the observed one exactly if the differences it flips have a mean of 0 or less.
    means = np.sort((flipped * differences).sum(axis=1) / flipped.sum(axis=1))
    rounding = 1e-12 * np.abs(differences).max()
    at_or_below, at_or_above = np.sum(means <= rounding), np.sum(means >= -rounding)
    patterns = len(means) + 1
    p = min(1.0, 2.0 * float(1 + min(at_or_below, at_or_above)) / patterns)
    rejected = patterns // 40  # 2.5 % at either end
    low, high = (means[rejected - 1], means[-rejected]) if rejected else (-np.inf, np.inf)
    return {"mean": float(differences.mean()), "low": float(low), "high": float(high), "p": p}


def compare(
    frame: pd.DataFrame,
    column: str,
    reference,
    value: str,
    by: list[str] | tuple = (),
    pair: str = "seed",
    test=sign_permutation_test,
    **settings,
) -> pd.DataFrame:
    """Test each other name in a column against a reference, by the differences of paired runs.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    column, reference : str and object
        The column with the names, and the one that the others are compared with.
    value : str
        The column to compare.
    by : list of str, optional
        Columns to group by.
    pair : str, default="seed"
        What the two runs of a pair have in common. Each run needs its partner.
    test : callable, default=`sign_permutation_test`
        Takes an array of differences and returns a dict.
    **settings
        Further arguments of the test, such as ``n_train`` and ``n_test`` of `corrected_t_test`.

    Returns
    -------
    DataFrame
        A row for each group and other name: the test of that name minus the reference.

    Examples
    --------
    >>> runs = pd.DataFrame({"seed": [0, 0, 1, 1], "rule": ["PA", "PA-I"] * 2, "f1": [0.4, 0.5, 0.6, 0.9]})
    >>> compare(runs, "rule", "PA", "f1")[["rule", "mean"]].round(2).values.tolist()
    [['PA-I', 0.2]]
    """
    if reference not in set(frame[column]):
        raise ValueError(f"column {column!r} has no {reference!r}; it holds {frame[column].unique().tolist()}.")
    rows = []
    for key, part in frame.groupby(list(by), sort=False) if by else [((), frame)]:
        wide = part.pivot(index=pair, columns=column, values=value)
        for name in part[column].drop_duplicates():
            if name != reference:
                found = test(wide[name] - wide[reference], **settings)
                rows.append(dict(zip(by, key, strict=True)) | {column: name} | found)
    return pd.DataFrame(rows)
