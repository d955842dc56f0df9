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
    """PA against linear support vector machines on ijcnn1."""
    r = values(results, "02_linear_ijcnn1")
    seconds = values(results / "times", "02_linear_ijcnn1")["seconds"]
    pa = [row for row in r["shuffled"] if row["C"] == min(s["C"] for s in r["shuffled"])]
    rows = [
        [f"{row['rule']}, C = {row['C']:g}, one pass", *(f"{row[k]:.3f} ± {row[k + '_sd']:.3f}" for k in ("f1", "auc")),
         f"{1000 * seconds[row['rule']]:.1f} ms"]
        for row in pa
    ]  # fmt: skip
    rows += [
        [f"{row['rule']}, C = {row['C']:g}", f"{row['f1']:.3f}", f"{row['auc']:.3f}", f"{seconds[row['rule']]:.2g} s"]
        for row in r["svm"]
    ]
    note = f"\nMean ± standard deviation over {r['n_shuffles']} shuffles of the training rows; test set of "
    return table(["method", "F1", "AUC", "time to train"], rows) + f"{note}{r['sizes'][1]['rows']:,} rows.\n"


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
