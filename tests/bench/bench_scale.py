"""Time and memory against the number of rows: real rows up to all of ijcnn1, then a generated stream of 20 million."""

import time

import numpy as np
import pandas as pd

from bench import medians, row
from pa_lab import PAClassifier, datasets
from pa_lab.study import experiments
from pa_lab.study.standin import misfire_blocks

MARKS = [1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000]


def slope(rows, seconds):
    """Slope of a straight line on log axes."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def stream_cost(marks, seed=0):
    """Learn a generated stream with PA-I, block by block, and return what it costs, in a process of its own.

    Parameters
    ----------
    marks : sequence of int
        Numbers of rows after which to take a reading, at least a block of 50,000 apart. The last is the length of the
        stream.
    seed : int, default=0
        Seed of the stream (`pa_lab.study.standin.misfire_blocks`).

    Returns
    -------
    DataFrame
        Columns ``seen``; ``learning`` and ``total``, seconds of processor time so far without and with generating the
        rows; ``peak_mb``, the most memory this process ever held.
    """

    for X, y in misfire_blocks(200_000, block_rows=50_000, seed=seed + 1):
        PAClassifier(C=0.1).fit(X, y)  # warm-up: pay once for what does not depend on the rows
    model, learning, rows = PAClassifier(C=0.1), 0.0, []
    start = time.process_time()
    for X, y in misfire_blocks(marks[-1], block_rows=50_000, seed=seed):
        before = time.process_time()
        model.partial_fit(X, y, classes=[-1, 1])
        now = time.process_time()
        learning += now - before
        if model.n_seen_ >= marks[len(rows)]:
            rows.append((model.n_seen_, learning, now - start, experiments.peak_memory()))
    return pd.DataFrame(rows, columns=["seen", "learning", "total", "peak_mb"])


def main():
    """Print times, the peak memory and the slopes."""
    data = datasets.load("ijcnn1")
    sizes = [n for n in (1000, 2000, 5000, 10_000, 20_000) if n < len(data.y_train)] + [len(data.y_train)]
    fits = {n: lambda n=n: PAClassifier().fit(data.X_train[:n], data.y_train[:n]) for n in sizes}
    for n, seconds in medians(fits, runs=15).items():
        row(f"PAClassifier.fit, {n:,} rows", 1000 * seconds, "ms")
    runs = [experiments.in_new_process(stream_cost, MARKS) for _ in range(3)]
    learning, total = (np.median([run[part] for run in runs], axis=0) for part in ("learning", "total"))
    for n, a, b in zip(MARKS, learning, total, strict=True):
        row(f"stream, {n:,} rows, processor time to learn", a, "s")
        row(f"stream, {n:,} rows, to generate and learn", b, "s")
    row("slope on log axes, learning", slope(MARKS, learning), "", "wanted: 0.95 to 1.05")
    row("slope on log axes, with generating", slope(MARKS, total), "", "wanted: 0.95 to 1.05")
    row("peak memory of the process", max(run.peak_mb.max() for run in runs), "MB", "wanted: below 500")


if __name__ == "__main__":
    main()
