"""Write the measured tables of README.md from `report/results/`, between its marker comments."""

import json
import re
from pathlib import Path

MARK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.S)


def refreshed(text, results):
    """Return the README with each marked block written anew.

    Parameters
    ----------
    text : str
        ``<!-- results: NAME -->`` and ``<!-- end -->`` enclose what the function ``NAME`` of this file returns.
    results : Path
        The folder of JSON files.

    Returns
    -------
    str
    """

    def block(match):
        return f"{match[1]}{BLOCKS[match[2]](results)}{match[3]}"

    return MARK.sub(block, text)


def update(root):
    """Refresh ``root/README.md`` from ``root/report/results``; leave it alone where there is none."""
    path = Path(root) / "README.md"
    if path.exists():
        path.write_text(refreshed(path.read_text(), Path(root) / "report" / "results"))


def table(header, rows):
    """A Markdown table; numbers come as text already."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def values(results, name):
    """The values a notebook saved."""
    return json.loads((results / f"{name}.json").read_text())["values"]


def headline(results):
    """One pass of PA against support vector machines on ijcnn1, linear and with an RBF kernel."""
    linear, kernel = values(results, "02_linear_ijcnn1"), values(results, "05_kernel_pa")
    timed = values(results / "times", "02_linear_ijcnn1")["seconds"]
    most = max(row["rows"] for row in timed)
    seconds = {row["name"]: row["seconds"] for row in timed if row["rows"] == most}
    seconds |= {row["method"]: row["fit"] for row in values(results / "times", "05_kernel_pa")["seconds"]}
    scored = {row["method"]: row for row in [*linear["table"], *kernel["quality"]]}
    rows = [
        ("PA-I, one pass, last weights", "PA-I, last"),
        ("PA-I, one pass, averaged weights", "PA-I, averaged"),
        ("linear SVM (LIBLINEAR, hinge loss)", "LIBLINEAR, hinge"),
        ("PA-I, RBF kernel, one pass, averaged", "kernel PA-I, averaged"),
        ("SVM, RBF kernel (LIBSVM)", "LIBSVM"),
    ]
    cells = [[name, spread(scored[method], "auc"), duration(seconds[method])] for name, method in rows]
    note = f"""
AUC on the test part: mean ± standard deviation over shuffles of the training rows
({linear["n_orders"]}; kernel: {kernel["n_shuffles"]}). C is tuned on training rows, by AUC. Times are of one machine.
"""
    return table(["method", "AUC", "time to train"], cells) + note


def spread(row, score):
    """A score, with its standard deviation where it has one."""
    deviation = row.get(f"{score}_sd") or 0
    return f"{row[score]:.3f}" + (f" ± {deviation:.3f}" if deviation >= 5e-4 else "")


def duration(seconds):
    """Two digits, in the unit that fits."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


BLOCKS = {"headline": headline}
