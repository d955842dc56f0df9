"""What holds for the project as a whole: nothing unused, clean notebooks, figures of a decent size."""

import ast
import io
import json
import re
import tokenize
import tomllib
from pathlib import Path

import nbformat
import pytest

import pa_lab

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MODULES = {"scikit-learn": "sklearn", "scikit-posthocs": "scikit_posthocs"}  # where package and import differ
# Not imported: the words by which the project uses them.
COMMANDS = {"ruff": "-m ruff", "nbval": "--nbval", "pytest-xdist": "--dist loadfile", "ipykernel": '"python3"'}
FOR_THE_READER = {"jupyter"}  # opens the notebooks

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def imported(sources):
    found = set()
    for source in sources:
        source = re.sub(r"^\s*[%!].*$", "", source, flags=re.M)  # notebook magics
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition(".")[0])
    return found


def requirements():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def package_imports():
    return imported(path.read_text() for path in (ROOT / "pa_lab").rglob("*.py"))


def test_every_requirement_is_pinned_and_used():
    *lines, last = requirements()
    assert last == "-e .[study]"
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    scripts = (path for folder in ("report", "tests") for path in (ROOT / folder).rglob("*.py"))
    used = package_imports() | imported(path.read_text() for path in scripts)
    for path in NOTEBOOKS:
        used |= imported(cell.source for cell in code_cells(path))
    words = (ROOT / "Makefile").read_text() + (ROOT / "report" / "build.py").read_text()
    unused = []
    for name in (line.partition("==")[0] for line in lines):
        if name in COMMANDS:
            if COMMANDS[name] not in words:
                unused.append(name)
        elif MODULES.get(name, name) not in used and name not in FOR_THE_READER:
            unused.append(name)
    assert not unused


def test_the_package_declares_what_it_imports_and_no_more():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {line.partition(">=")[0] for line in project["dependencies"]}
    assert declared <= {line.partition("==")[0] for line in requirements()}
    assert {MODULES.get(name, name) for name in declared} <= package_imports()


@each_notebook
def test_a_notebook_is_as_the_build_leaves_it(path):
    text = path.read_text()
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert text == nbformat.writes(notebook) + "\n"
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "not run top to bottom"
    for number, cell in enumerate(cells, 1):
        for output in cell.outputs:
            assert output.output_type != "error", f"In [{number}] failed"
            assert output.get("name") != "stderr", f"In [{number}] wrote to stderr: {output.text}"
            shown = json.dumps({key: value for key, value in output.get("data", output).items() if key != "image/png"})
            assert not re.search(r"/(home|tmp|root|Users|work)/|site-packages", shown), f"In [{number}] shows a path"
            assert not re.search(r" at 0x[0-9a-f]{6}", shown), f"In [{number}] shows a memory address"


@each_notebook
def test_a_notebook_has_one_parameters_cell_and_short_cells(path):
    cells = code_cells(path)
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in cells) == 1
    assert max(len(cell.source.splitlines()) for cell in cells) <= 17


@pytest.mark.parametrize("path", sorted((ROOT / "figures").rglob("*.svg")), ids=lambda path: path.stem)
def test_a_figure_is_small_and_not_from_stand_in_data(path):
    text = path.read_text()
    assert len(text) < 300_000
    assert 'id="stand-in"' not in text


@pytest.mark.parametrize("path", sorted((ROOT / "report").rglob("*.json")), ids=lambda path: path.stem)
def test_results_are_not_from_stand_in_data(path):
    assert "stand_in" not in json.loads(path.read_text())


# ---------------------------------------------------------------- pa_lab

SOURCES = sorted((ROOT / "pa_lab").rglob("*.py"))


def code_lines(text):
    """Number of lines that hold code: no docstrings, comments and empty lines."""
    lines, docstrings = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def test_code_lines_are_counted():
    assert code_lines('"""Doc."""\n\n# why\ndef f(a,\n      b):\n    """Doc.\n\n    More."""\n    return a\n') == 3


def test_pa_lab_stays_compact():
    """A ceiling to be lowered: who adds a function takes one away, or says here why not."""
    sizes = {path.stem: code_lines(path.read_text()) for path in SOURCES}
    assert sum(sizes.values()) <= 2760, sizes


def test_every_function_of_pa_lab_is_used():
    """By another one, a notebook or the report: what only a test calls has no user."""
    notebooks = [re.sub(r"^\s*[%!].*$", "", c.source, flags=re.M) for path in NOTEBOOKS for c in code_cells(path)]
    texts = [path.read_text() for path in (*SOURCES, *(ROOT / "report").glob("*.py"))] + notebooks
    used = set(pa_lab.__all__)
    for top in (top for text in texts for top in ast.parse(text).body):
        names = {getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(top)}
        used |= names - {getattr(top, "name", None)}  # by others
    sources = [path for path in SOURCES if path.stem != "published_claims"]  # whose tests a decorator collects
    defined = [node.name for path in sources for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    assert len(defined) > 150
    assert sorted(set(defined) - used - {"__getattr__", "__dir__"}) == []  # these two are called by Python
