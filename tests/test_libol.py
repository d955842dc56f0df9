"""Four online learners against the table in the manual of LIBOL, in its own row orders, to the last digit printed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pa_lab import datasets
from pa_lab.study import store
from pa_lab.study.libol import against_printed, libol_order, libol_runs

TABLE = Path(store.ROOT) / "pa_lab" / "study" / "published_tables" / "libol_table3_ijcnn1.csv"


def test_an_order_is_a_permutation_that_its_seed_decides():
    for n in (1, 2, 1000, 40_000):  # past 2^15 rows one random number takes two calls
        np.testing.assert_array_equal(np.sort(libol_order(3, n)), np.arange(n))
    assert (libol_order(3, 1000) != libol_order(4, 1000)).mean() > 0.9


@pytest.mark.skipif(not datasets.available("ijcnn1"), reason="ijcnn1 is not on this machine")
def test_the_runs_have_the_printed_means_and_deviations():
    data = datasets.load("ijcnn1")
    X, y = np.vstack([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    ours = libol_runs(X, y).groupby("model")[["mistake_rate", "updates"]].agg(["mean", "std"])
    for row in pd.read_csv(TABLE, dtype=str).to_dict("records"):
        for statistic in ("mean", "std"):
            if isinstance(row[statistic], str):
                digits = len(row[statistic].partition(".")[2])
                mine = ours.loc[row["model"], (row["quantity"], statistic)]
                assert abs(mine - float(row[statistic])) <= 0.5 * 10.0**-digits + 1e-9, (row, statistic, mine)


def test_the_comparison_has_both_tables():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice([-1, 1], 60)
    table, runs = against_printed(X, y), libol_runs(X, y)
    assert table.loc[("PA", "updates"), "mean, printed"] == 33847.95
    assert table.loc[("PA", "updates"), "std, ours"] == pytest.approx(runs[runs.model == "PA"].updates.std())
    assert len(table) == 8
