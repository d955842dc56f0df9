"""The claims of Ezukwoke and Zareian (2019), each in its own words and as a test on figures.

A figure is an array of shape (cells,) or (cells, runs), where a cell is a column and a score of a table. A claim is a
test on a dict of them; `claim_figures` makes it from runs.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

Figures = dict[str, np.ndarray]
IN_PART = "in part"  # true of most cells, and not shown in all
MISSING = "-"  # there are no such figures
Truth = bool | str | None  # None: chance may decide


# ---------------------------------------------------------------- comparing figures


def above(a: np.ndarray, b: np.ndarray, by: float = 0.0, times: float = 1.0) -> Truth:
    """Return whether ``a`` exceeds ``times b`` by more than ``by`` in every cell, or None if chance may decide.

    Parameters
    ----------
    a, b : arrays of shape (cells,) or (cells, runs)
        With several runs the 95 % interval of the difference of means must exclude ``by``.
    by, times : float

    Examples
    --------
    >>> above([2, 3], [1, 1]), above([2, 1], [1, 3]), above([[1, 5]], [[2, 2]])
    (True, False, None)
    """
    mean, half = _difference(a, b, times)
    if (mean - half > by).all():
        return True
    return False if (mean + half <= by).any() else None


def mostly_above(a: np.ndarray, b: np.ndarray) -> Truth:
    """Return whether ``a`` exceeds ``b`` in more than half of the cells, judged as in `above`.

    >>> mostly_above([2, 3, 0], [1, 1, 1]), mostly_above([2, 0], [1, 1])
    (True, False)
    """
    mean, half = _difference(a, b)
    if np.mean(mean - half > 0) > 0.5:
        return True
    return False if np.mean(mean + half <= 0) >= 0.5 else None


def above_in_part(a: np.ndarray, b: np.ndarray) -> Truth:
    """Return True if ``a`` exceeds ``b`` in every cell, "in part" if it is shown to in more than half, else as `above`.

    >>> above_in_part([2, 3], [1, 1]), above_in_part([2, 3, 0], [1, 1, 1]), above_in_part([2, 0], [1, 1])
    (True, 'in part', False)
    """
    everywhere = above(a, b)
    return IN_PART if everywhere is not True and mostly_above(a, b) else everywhere


def _difference(a, b, times=1.0):
    """Return the mean of ``a`` minus ``times`` that of ``b`` in each known cell, and half its 95 % interval (Welch)."""
    a, b = (np.asarray(v, dtype=float).reshape(len(v), -1) for v in (a, b))
    known = ~np.isnan(a).any(axis=1) & ~np.isnan(b).any(axis=1)
    runs = [a[known], times * b[known]]
    freedom = [max(v.shape[1] - 1, 1) for v in runs]
    errors = [np.zeros(len(v)) if v.shape[1] == 1 else v.var(axis=1, ddof=1) / v.shape[1] for v in runs]
    total, spread = sum(errors), sum(e**2 / f for e, f in zip(errors, freedom, strict=True))
    welch = np.divide(total**2, spread, out=np.ones_like(total), where=spread > 0)
    return runs[0].mean(axis=1) - runs[1].mean(axis=1), stats.t.ppf(0.975, welch) * np.sqrt(total)


# ---------------------------------------------------------------- figures


def claim_figures(frame: pd.DataFrame) -> Figures:
    """Return the figures that the claims speak of, from printed tables or from runs in the place of such tables.

    Parameters
    ----------
    frame : DataFrame
        Columns ``published.KEY`` and ``value``, a row per cell and run. Table ``table1`` holds the plain runs,
        ``table3`` those on folds, ``table5`` those with noise, and ``update_counts`` the metrics ``updates`` and
        ``mistakes``. The SVM may have fewer cells on folds and with noise. It is compared on those that it has.

    Returns
    -------
    dict of arrays of shape (cells, runs)
        A fall or drop is a mean over cells. A spread is the standard deviation of a block of runs.
    """
    plain, fold, noisy = ({m: _cells(frame, table, m) for m in ("PA", "APA", "SVM")} for table in TABLES)
    figures = {name: plain[m].to_numpy() for name, m in LEARNERS.items()}
    figures |= {f"{name}_fold": fold[m].to_numpy() for name, m in LEARNERS.items()}
    for name, m in LEARNERS.items():
        figures[f"{name}_fall"], figures[f"{name}_drop"] = _fall(plain[m], noisy[m]), _fall(plain[m], fold[m])
    figures["all_rows"], figures["fold"] = (
        np.vstack(np.broadcast_arrays(kind["PA"], kind["APA"])) for kind in (plain, fold)
    )
    figures["svm_all_rows"] = plain["SVM"].loc[fold["SVM"].index].to_numpy()
    figures["svm_noisy"], figures["pa_noisy"] = noisy["SVM"].to_numpy(), noisy["PA"].loc[noisy["SVM"].index].to_numpy()
    for i, rule in ((1, "PA-I"), (2, "PA-II")):
        for name in ("pa", "apa"):
            figures[f"{name}_{i}"] = noisy[LEARNERS[name]].xs(rule, level="variant").to_numpy()
    for counted in ("updates", "mistakes"):  # mistakes count, where they are known
        for name in ("pa", "apa"):
            count = _cells(frame, "update_counts", LEARNERS[name], [counted]).to_numpy()
            figures |= (
                {f"{name}_{counted}": count, f"{name}_counted": count} if len(count) else {}
            )  # mistakes, if known
    for name, part in (("apa_spread", plain["APA"]), ("apa_spread_fold", fold["APA"])):
        figures |= {name: _spread(part.to_numpy())} if part.shape[1] >= 2 * BLOCK else {}
    return figures


def sound_figures(runs: pd.DataFrame) -> Figures:
    """Return the figures that the claims speak of from sound runs, as notebook 08 makes them.

    Parameters
    ----------
    runs : DataFrame
        Columns ``table``, ``model``, ``variant``, ``C`` and ``seed``, and the results ``auc``, ``f1`` and ``mistakes``.
    """
    frame = runs.melt(["table", "model", "variant", "C", "seed"], ["auc", "f1", "mistakes"], "metric")
    return claim_figures(pd.concat([frame, frame[frame["table"] == "table1"].assign(table="update_counts")]))


def time_figures(seconds: pd.DataFrame) -> Figures:
    """Return the figures that the claims on time speak of, from a table with a column for each model.

    >>> time_figures(pd.DataFrame({"PA": [2.0], "APA": [1.0], "SVM": [3.0]}))["apa_seconds"].tolist()
    [1.0]
    """
    return {f"{name}_seconds": seconds[model].to_numpy() for name, model in LEARNERS.items()}


TABLES = ("table1", "table3", "table5")
LEARNERS = {"pa": "PA", "apa": "APA", "svm": "SVM"}
BLOCK = 10  # runs that make one standard deviation


def _cells(frame, table, model, metrics=("auc", "f1")):
    """Return the figures of a learner in a table, with a row per metric, variant and C and a column per run."""
    part = frame[(frame["table"] == table) & (frame["model"] == model) & frame["metric"].isin(metrics)]
    part = part.assign(C=part["C"].astype(float).fillna(0.0), value=part["value"].astype(float))
    cell = ["metric", "variant", "C"]
    return part.assign(run=part.groupby(cell).cumcount()).pivot(index=cell, columns="run", values="value")


def _fall(before, after):
    """Return by how much the figures fall, by metric: means over the cells that both have, of shape (2, runs)."""
    cells = before.index.intersection(after.index)
    fall = pd.DataFrame(np.subtract(*np.broadcast_arrays(before.loc[cells], after.loc[cells])), cells)
    return fall.groupby(level="metric").mean().to_numpy()


def _spread(values):
    """Return the standard deviations within blocks of runs, so that a spread has a spread."""
    return values[:, : values.shape[1] // BLOCK * BLOCK].reshape(len(values), -1, BLOCK).std(axis=2, ddof=1)


# ---------------------------------------------------------------- the claims


class Claim(NamedTuple):
    """A claim of the paper: a short name, its words and where they stand, and what must exceed what for it to hold.

    ``pairs`` names figures, the first of which must exceed the second, as ``how`` says.
    """

    name: str
    quote: str
    place: str
    pairs: list[tuple[str, str]]
    how: Callable[[np.ndarray, np.ndarray], Truth] = above

    def truth(self, figures: Figures) -> Truth:
        """Return what the pair says that is least for the claim: False, None (chance may decide), "in part" or True."""
        return min((self.how(figures[a], figures[b]) for a, b in self.pairs), key=[False, None, IN_PART, True].index)


BY_A_QUARTER, TWICE = partial(above, by=0.25), partial(above, times=2)
CLAIMS = [
    Claim("PA beats SVM in all cases", "outperforms ... SVM (in all cases)", "text to Table 1", [("pa", "svm")]),
    Claim("Active PA beats SVM", "PA and APA algorithms outperformed SVM", "conclusion", [("apa", "svm")]),
    Claim("PA beats active PA in most cases", "outperforms its active version (in most cases)", "text to Table 1",
          [("pa", "apa")], mostly_above),
    Claim("PA is faster than SVM", "faster running time than SVM", "text to Table 2", [("svm_seconds", "pa_seconds")]),
    Claim("Active PA is fastest", "fastest of them all", "text to Table 2",
          [("svm_seconds", "apa_seconds"), ("pa_seconds", "apa_seconds")]),
    Claim("Active PA makes fewer mistakes", "number of mistakes made by Active Learning model is less", "conclusion",
          [("pa_counted", "apa_counted")], above_in_part),
    Claim("Cross-validation lowers every score", "reduction in the accuracy across all models", "text to Table 3",
          [("all_rows", "fold"), ("svm_all_rows", "svm_fold")], BY_A_QUARTER),
    Claim("Cross-validation makes active PA stable", "becomes stable on performing a 10-fold", "text to Table 3",
          [("apa_spread", "apa_spread_fold")], TWICE),
    Claim("Cross-validation leaves active PA and SVM stable", "APA and SVM however remain relatively stable",
          "text to Table 3", [("pa_drop", "apa_drop"), ("pa_drop", "svm_drop")], BY_A_QUARTER),
    Claim("Active PA beats PA under cross-validation", "performs better on 10fold cross-validation", "conclusion",
          [("apa_fold", "pa_fold")], above_in_part),
    Claim("PA beats SVM despite noise",
          "despite the introduction of random noise in the data, PA remains the best performing algorithm",
          "text to Table 5", [("pa_noisy", "svm_noisy")]),
    Claim("Noise hurts PA most", "only reduces ... for PA algorithm significantly", "conclusion",
          [("pa_fall", "svm_fall"), ("pa_fall", "apa_fall")], BY_A_QUARTER),
    Claim("Under noise active PA beats PA, relaxation 1", "APA outperform PA in most cases", "text to Table 5",
          [("apa_1", "pa_1")], mostly_above),
    Claim("Under noise PA beats active PA, relaxation 2", "PA outperforms APA on F2 relaxation", "text to Table 5",
          [("pa_2", "apa_2")], mostly_above),
]  # fmt: skip


# ---------------------------------------------------------------- verdicts


def judge(protocol: Figures, sound: Figures | None, printed: Figures) -> pd.DataFrame:
    """Test each of the ``CLAIMS`` on the printed figures, on those of the protocol run again and on sound ones.

    Parameters
    ----------
    protocol, printed : dict of str to array of shape (cells,) or (cells, runs)
        A claim whose figures are not all in ``protocol`` is left out.
    sound : dict like them, or None
        None says that there are no sound figures, and the protocol run again decides.

    Returns
    -------
    DataFrame
        With ``claim, quote, place``; whether the claim is true of each set of figures (None: open, "-": there are no
        such figures); and the verdict of `conclude`.
    """
    rows = []
    for said in CLAIMS:
        kinds = {"printed": printed, "protocol": protocol, "sound": sound or {}}
        truth = {kind: _truth(said, figures) for kind, figures in kinds.items()}
        if truth["protocol"] != MISSING and (sound is None or truth["sound"] != MISSING):
            verdict = conclude(truth["protocol"], truth["sound"], exists=sound is not None)
            rows.append({"claim": said.name, "quote": said.quote, "place": said.place, **truth, "verdict": verdict})
    return pd.DataFrame(rows)


def _truth(claim, figures):
    try:
        return claim.truth(figures)
    except KeyError:
        return MISSING


def conclude(protocol: Truth, sound: Truth, exists: bool = True) -> str:
    """Return the verdict on a claim from its truth under the protocol run again and on sound figures, if these exist.

    >>> conclude(True, False), conclude(False, "in part"), conclude(False, None, exists=False)
    ('holds only under the published protocol', 'holds in part', 'does not hold when run again')
    """
    if IN_PART in (sound, None if exists else protocol):
        return "holds in part"
    if (sound if exists else protocol) is None:
        return "cannot be decided"
    if not exists:
        return "holds when run again" if protocol else "does not hold when run again"
    if sound:
        return "holds"
    return "holds only under the published protocol" if protocol else "does not hold"
