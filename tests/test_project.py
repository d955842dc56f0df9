"""What holds for the project as a whole: nothing unused, clean notebooks, figures of a decent size."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

import pa_lab
from build import parameters_of
from pa_lab import datasets

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Where the names of package and module differ.
MODULES = {
    "scikit-learn": "sklearn",
    "pyyaml": "yaml",
    "quickjs-ng": "quickjs",
    "axe-core-python": "axe_core_python",
    "dask-ml": "dask_ml",
    "scikit-activeml": "skactiveml",
}
# Not imported: the words by which the project uses them.
COMMANDS = {
    "ruff": "-m ruff",
    "nbval": "--nbval",
    "pytest-xdist": "--dist loadfile",
    "ipykernel": '"python3"',
    "setuptools": "setuptools.build_meta",
}
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
    return found - sys.stdlib_module_names


def requirements():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def modules(declared):
    """The modules of the packages that a list such as ``["scikit-learn>=1.9"]`` declares."""
    names = (re.match(r"[\w.-]+", line)[0] for line in declared)
    return {MODULES.get(name, name) for name in names}


# ---------------------------------------------------------------- what it needs


def test_every_requirement_is_pinned_and_used():
    *lines, last = requirements()
    assert last == "-e .[study,test]"
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    scripts = (path for folder in ("pa_lab", "report", "tests") for path in (ROOT / folder).rglob("*.py"))
    used = imported(path.read_text() for path in scripts)
    for path in NOTEBOOKS:
        used |= imported(cell.source for cell in code_cells(path))
    words = "".join((ROOT / name).read_text() for name in ("Makefile", "pyproject.toml", "report/build.py"))
    unused = []
    for name in (line.partition("==")[0] for line in lines):
        if name in COMMANDS:
            if COMMANDS[name] not in words:
                unused.append(name)
        elif MODULES.get(name, name) not in used and name not in FOR_THE_READER:
            unused.append(name)
    assert not unused


def test_other_learners_are_pinned_installed_by_the_checks_and_used():
    lines = [line for line in (ROOT / "tests/bench/requirements.txt").read_text().splitlines() if line[0] != "#"]
    assert lines and all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("*.py"))
    assert all(f'importorskip("{line.partition("==")[0]}")' in tests for line in lines)
    assert "peers" in (ROOT / ".ci/run").read_text().splitlines()[-1]


def test_the_package_declares_what_it_imports_and_no_more():
    learners = imported(path.read_text() for path in (ROOT / "pa_lab").glob("*.py")) - {"pa_lab"}
    study = imported(path.read_text() for path in (ROOT / "pa_lab/study").glob("*.py")) - {"pa_lab"}
    needed, extras = PROJECT["dependencies"], PROJECT["optional-dependencies"]
    assert modules(needed) == learners
    assert imported([(ROOT / "pa_lab/plain.py").read_text()]) == {"numpy"}
    assert modules(extras["study"]) == study - modules(needed)
    assert modules([*needed, *extras["study"], *extras["test"]]) == modules(requirements()[:-1]) - FOR_THE_READER


# ---------------------------------------------------------------- what it says of itself


def test_version_and_licence_are_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # what the format asks for
    assert citation["version"] == PROJECT["version"] == pa_lab.__version__
    assert f"\n## {pa_lab.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    texts = "".join(path.read_text() for path in [*ROOT.glob("*.*"), *ROOT.glob("report/**/*.typ")] if path.is_file())
    assert "pa-lab/pa_lab" not in texts and "urls" not in PROJECT  # the project has no public address yet
    assert citation["license"] == PROJECT["license"] == "BSD-3-Clause"
    assert "the pa_lab authors" in (ROOT / "LICENSE").read_text()


def test_every_supported_python_is_checked_by_the_same_script():
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["checks"]
    supported = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    assert job["strategy"]["matrix"]["python"] == supported
    assert PROJECT["requires-python"] == f">={supported[0]}"
    assert job["steps"][-1] == {"run": ".ci/run"}


LIMITS = {"C901", "PLR0912", "PLR0913", "PLR0915"}  # complexity, branches, arguments, statements


def test_an_exception_from_the_limits_on_size_is_needed_and_has_a_reason():
    everything = [sys.executable, "-m", "ruff", "check", "--exit-zero", "--output-format", "json", "--no-cache"]
    everything += ["--config", "lint.per-file-ignores = {}", "--select", ",".join(LIMITS), str(ROOT)]
    run = subprocess.run(everything, capture_output=True, text=True, check=True)
    over = {(str(Path(v["filename"]).relative_to(ROOT)), v["code"]) for v in json.loads(run.stdout)}
    text = (ROOT / "pyproject.toml").read_text()
    ignored = tomllib.loads(text)["tool"]["ruff"]["lint"]["per-file-ignores"]
    excused = {(file, code) for file, codes in ignored.items() for code in codes if code in LIMITS}
    assert excused == over, "remove an exception that is no longer needed"
    for file in dict(excused):
        block = text[: text.index(f'"{file}" = ')].rpartition("\n\n")[2]
        assert "\n# " in block, f"the exception for {file} has no reason above it"


# ---------------------------------------------------------------- notebooks, figures, results


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
def test_a_notebook_names_the_data_sets_it_loads_in_its_parameters(path):
    """Those it names anywhere in its code, so that the build looks for all of them before it starts."""
    sources = (re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.M) for cell in code_cells(path))
    nodes = (node for source in sources for node in ast.walk(ast.parse(source)))
    quoted = {node.value for node in nodes if isinstance(node, ast.Constant)}
    known, declared = set(datasets.names()), set(parameters_of(path).get("data_sets", []))
    assert declared <= known
    assert quoted & known <= declared


@each_notebook
def test_a_notebook_has_one_parameters_cell_and_saves_in_its_last_cell(path):
    cells = code_cells(path)
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in cells) == 1
    if any(cell.source.startswith("# for the article") for cell in cells):
        assert cells[-1].source.startswith("# for the article")
        assert not [cell.source for cell in cells[:-1] if "store.save_" in cell.source]


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


def test_every_function_of_pa_lab_is_used():
    """By another one, a notebook or the report: what only a test calls has no user."""
    notebooks = [re.sub(r"^\s*[%!].*$", "", c.source, flags=re.M) for path in NOTEBOOKS for c in code_cells(path)]
    texts = [path.read_text() for path in (*SOURCES, *(ROOT / "report").glob("*.py"))] + notebooks
    # What others import is used, too.
    used = {*pa_lab.__all__, "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "mix", "estimate"}
    for top in (top for text in texts for top in ast.parse(text).body):
        names = {getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(top)}
        used |= names - {getattr(top, "name", None)}  # by others
    called = [path for path in SOURCES if path.name != "plain.py"]  # which is read, and shown
    defined = [node for path in called for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    assert len(defined) > 150
    names = {node.name for node in defined}
    for node in defined:  # a decorator of the package keeps a list of what it decorates
        decorators = {getattr(part, "id", None) for mark in node.decorator_list for part in ast.walk(mark)}
        used |= {node.name} if decorators & names else set()
    assert not sorted(names - used - {"__getattr__", "__dir__"})  # these two are called by Python
