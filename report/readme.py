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
    seconds = {row["method"]: row["fit"] for row in values(results / "times", "05_kernel_pa")["seconds"]}
    seconds |= values(results / "times", "02_linear_ijcnn1")["seconds"]
    scored = {row["method"]: row for row in [*linear["table"], *kernel["quality"]]}
    rows = [
        ("PA-I, one pass, last weights", "PA-I, last, 1 pass", "PA-I"),
        ("PA-I, one pass, averaged weights", "PA-I, averaged, 1 pass", "PA-I, averaged"),
        ("LIBLINEAR", "LIBLINEAR, hinge", "LIBLINEAR"),
        ("LIBSVM, linear", "LIBSVM", "LIBSVM"),
        ("PA-I, RBF kernel, one pass", "kernel PA-I", "kernel PA-I"),
        ("LIBSVM, RBF kernel", "LIBSVM, tuned for AUC", "LIBSVM, tuned for AUC"),
    ]
    cells = [[name, *(spread(scored[method], score) for score in ("f1", "auc")), duration(seconds[timed])]
             for name, method, timed in rows]  # fmt: skip
    n = f"{linear['n_shuffles']}; kernel: {kernel['n_shuffles']}"
    note = f"""
Test part of {linear["sizes"][1]["rows"]:,} rows; mean ± standard deviation over shuffles of the training rows ({n}). C
is tuned on training rows, by F1 (linear) or AUC (RBF kernel). Times are of one machine with two cores, at C = 1 for
linear methods.
"""
    return table(["method", "F1", "AUC", "time to train"], cells) + note


def spread(row, score):
    """A score, with its standard deviation where it has one."""
    deviation = row.get(f"{score}_sd") or 0
    return f"{row[score]:.3f}" + (f" ± {deviation:.3f}" if deviation >= 5e-4 else "")


def duration(seconds):
    """Two digits, in the unit that fits."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def libraries(results):
    """What scikit-learn and river do where PA's constraint has one answer."""
    r = values(results, "07_regression_and_streams")
    scores = {(row["library"], row["format"]): row["f1"] for row in r["formats"]}
    ours, theirs = (f"{scores[name, 'dense']:.3f} / {scores[name, 'CSR']:.3f}" for name in ("pa_lab", "scikit-learn"))
    margins, worst = r["margins"], r["constant_worst"]
    dense, csr = (margins[f"scikit-learn, {kind}"] for kind in ("dense", "CSR"))
    rows = [
        ["margin after one uncapped step (1 is asked for)", f"{margins['pa_lab']:.1f}", f"{dense:.1f}; CSR {csr:.1f}",
         f"{margins['river']:.1f}"],
        ["F1 on ijcnn1 of the same rows, dense / CSR", ours, theirs, "–"],
        ["constant stream x = 0.01, y = 1: worst distance to 1", f"{worst['pa_lab']:.0f}",
         f"{worst['scikit-learn']:.1g}", f"{worst['river, PA-I']:.1g}; no cap {worst['river, PA']:.0g}"],
        ["constant stream x = 1, y = 2, no intercept: ends at", *(f"{r['without_intercept'][k]:g}" for k in NAMES)],
    ]  # fmt: skip
    return table(["", *NAMES], rows)


NAMES = ("pa_lab", "scikit-learn", "river")
BLOCKS = {"headline": headline, "libraries": libraries}
