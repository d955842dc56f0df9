"""Published tables as they were printed, and how figures computed again compare with them.

Notebook 08 computes the figures of Ezukwoke and Zareian (2019) again, `published_claims` tests what they say.
"""

from pathlib import Path

import numpy as np
import pandas as pd

KEY = ["table", "model", "variant", "C", "metric"]  # what names one printed figure of Ezukwoke and Zareian


def load_table(name: str) -> pd.DataFrame:
    """Return a transcribed table: ``"ezukwoke_zareian_2019"``, ``"perez_suay_table2"`` or ``"libol_table3"``.

    >>> load_table("perez_suay_table2").shape
    (63, 5)
    """
    return pd.read_csv(Path(__file__).parent / "published_tables" / f"{name}.csv")


def without_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with None in place of what is missing, as results files want it.

    >>> without_gaps(pd.DataFrame({"printed": [0.5, np.nan]}))["printed"].tolist()
    [0.5, None]
    """
    return frame.astype(object).where(frame.notna(), None)


def printed_seconds() -> pd.DataFrame:
    """Return the times that Ezukwoke and Zareian (2019) print, in seconds, by table, variant and C.

    >>> printed_seconds().loc["table2"].shape
    (9, 3)
    """
    table = load_table("ezukwoke_zareian_2019").query("metric == 'seconds'")
    return table.pivot(index=["table", "variant", "C"], columns="model", values="value")


def called(variant: str, C: float | None) -> str:
    """Return what a column of the tables is called.

    >>> called("PA-I", 0.1), called("PA", None)
    ('PA-I, C = 0.1', 'PA')
    """
    return variant if pd.isna(C) else f"{variant}, C = {C:g}"


def compare_with_printed(runs: pd.DataFrame, tolerance: float = 0.02) -> pd.DataFrame:
    """Return the printed figures of Ezukwoke and Zareian (2019) beside recomputed ones, each pair with a mark.

    Parameters
    ----------
    runs : DataFrame
        Columns ``KEY`` and ``value``, with many rows per figure for the active learner, one per seed.
    tolerance : float, default=0.02
        Largest difference at which a deterministic score counts as reproduced. Counts must be equal.

    Returns
    -------
    DataFrame
        The printed figures that ``runs`` covers, with ``rule`` (see `called`); ``recomputed`` (median),
        ``recomputed_low`` and ``recomputed_high`` (95 % range over seeds); ``difference``; ``rank`` (share of seeds
        below the printed figure); and ``mark``.
    """
    values = runs.astype({"C": float}).groupby(KEY, dropna=False)["value"].agg(list).reset_index()
    table = load_table("ezukwoke_zareian_2019").drop(columns="note").rename(columns={"value": "printed"})
    table = table.merge(values, on=KEY)
    is_active = table["model"] == "APA"
    low, median, high = np.array([np.quantile(ours, [0.025, 0.5, 0.975]) for ours in table["value"]]).T
    difference = table["printed"] - median
    is_close = difference.abs() <= (tolerance + 1e-9) * (table["metric"] != "updates")
    rank = table.apply(lambda figure: np.mean(np.less(figure["value"], figure["printed"])), axis=1).where(is_active)
    agrees = np.where(is_active, table["printed"].between(low, high), is_close)
    mark = np.select(
        [table["printed"].isna(), ~agrees, is_active],
        ["digits lost", "not reproduced", "inside 95 % range"],
        "reproduced",
    )
    found = {"recomputed": median, "recomputed_low": low, "recomputed_high": high}
    found |= {"difference": difference, "rank": rank, "mark": mark}
    rule = [called(*column) for column in zip(table["variant"], table["C"], strict=True)]
    return table.drop(columns="value").assign(rule=rule, **found)
