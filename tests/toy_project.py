"""A project of two toy notebooks and a toy report, to try `report/build.py` on."""

import contextlib
import hashlib
import importlib
import io
import os
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nbformat

from pa_lab.study import store

BUILD = Path(__file__).resolve().parents[1] / "report" / "build.py"

NUMBERS = """
store.save_results("{name}", {{"answer": answer, "third": 1 / 3}}, seeds=0)
store.save_times("{name}", {{"total": 1.5}})
store.output_dir() / "report" / "results" / "times" / "{name}.json"
"""
PLOT = """
import matplotlib.pyplot as plt
from pa_lab.study import store
fig, ax = plt.subplots()
ax.plot([0, 1], [0, answer])
store.save_figure(fig, "{name}")
plt.show()
"""
REPORT = """
#import "template.typ": *
#show: article.with(title: "Toy", abstract: [Short.])
#let r = res("01_toy")
#num(r.answer) and #num(res("02_toy").third) and #num(timings("02_toy").total)
#fig("01_toy", alt: "A rising line.", caption: [A line.])
"""


def notebook(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(source.strip(), id=f"c{i}") for i, source in enumerate(cells)]
    cells[0].metadata["tags"] = ["parameters"]
    cells.insert(0, nbformat.v4.new_markdown_cell("# Toy", id="title"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def make(folder):
    """Write a project of two notebooks, the first with a figure, whose report is one page."""
    for name, parts in (("01_toy", (PLOT, NUMBERS)), ("02_toy", ("from pa_lab.study import store", NUMBERS))):
        cells = ["answer = 42", *(part.format(name=name) for part in parts)]
        notebook(folder / "notebooks" / f"{name}.ipynb", *cells)
    (folder / "report").mkdir()
    (folder / "report" / "report.typ").write_text(REPORT)
    for name in ("template.typ", "report.css"):
        shutil.copy(BUILD.with_name(name), folder / "report")
    return folder


def build(project, *arguments, **environment):
    """Run the script on a project, in this process, as its imports take longer than the toys."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PA_LAB")}
    said, warned = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, clean | environment, clear=True),
        mock.patch.object(store, "_stand_in", "PA_LAB_STAND_IN" in environment),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(warned),
        warnings.catch_warnings(action="ignore"),
    ):
        code = importlib.import_module("build").main(["--root", str(project), *arguments])
    return SimpleNamespace(returncode=code, stdout=said.getvalue(), stderr=warned.getvalue())


def contents(project):
    """Every file but those of a build in progress, by name, as a digest."""
    files = (path for path in sorted(project.rglob("*")) if path.is_file() and path.name != "lock")
    return {str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
