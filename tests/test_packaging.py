"""The package as others install it: the learners stand alone, the study is an extra."""

import ast
import contextlib
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STUDY = {"pandas", "matplotlib", "pooch", "tqdm"}
NOT_LEARNERS = {"__init__.py", "datasets.py"}  # they lead to `pa_lab.study.datasets`, when asked for it

FRESH = ROOT / "tests" / "fresh"

# Runs without site-packages: what can be imported is the standard library and the folders named.
START = "import runpy, sys; script, *sys.path[:0] = sys.argv[1:]; runpy.run_path(script)"


def needed(name, seen):
    """Add to ``seen`` the installed packages that a package needs, without its extras, as their own metadata tell."""
    with contextlib.suppress(PackageNotFoundError):  # it is for another system
        requires = () if name in seen else distribution(name).requires or ()
        seen.add(name)
        for line in requires:
            if "extra ==" not in line:
                needed(re.match(r"[\w.-]+", line)[0], seen)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the sources, since building leaves files beside them."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "pa_lab", source / "pa_lab", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    made = tmp_path_factory.mktemp("wheel")
    subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", made, source], check=True)
    (path,) = made.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def target(wheel, tmp_path_factory):
    """Where the wheel was installed."""
    folder = tmp_path_factory.mktemp("target")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", folder, wheel], check=True)
    return folder


def run_fresh(form, target, links):
    """Run a script of `fresh` where nothing can be imported but the wheel and what that way to install it brings."""
    (metadata,) = target.glob("*.dist-info/METADATA")
    declared = re.compile(r"^Requires-Dist: ([\w.-]+)(?:.*extra == \W(\w+))?", re.M)
    seen = set()
    for name, extra in declared.findall(metadata.read_text()):
        if extra in ("", form):
            needed(name, seen)
    for name in seen:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files if file.parts[0] not in ("..", "__pycache__")}:
            if not (links / top).exists():
                (links / top).symlink_to(package.locate_file(top))
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", START, FRESH / f"{form}.py", target, links]
    run = subprocess.run(command, capture_output=True, text=True, cwd=links)
    assert run.returncode == 0, run.stderr
    *said, where = run.stdout.splitlines()
    assert where.startswith(str(target))
    return said


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in (ROOT / "pa_lab").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {str(path.relative_to(ROOT)) for path in files}
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(wheel).namelist())


def test_twine_accepts_the_wheel(wheel):
    pytest.importorskip("twine", reason="docs/requirements.txt, which has twine, is not installed")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", wheel], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_learners_alone_fit_and_say_in_one_sentence_what_the_study_needs(target, tmp_path):
    (said,) = run_fresh("base", target, tmp_path)
    assert "in a clone of the project  pip install '.[study]'" in said
    assert all(name in said for name in STUDY)


def test_the_extra_brings_all_that_the_study_imports(target, tmp_path):
    run_fresh("study", target, tmp_path)


def learners():
    return sorted(path for path in (ROOT / "pa_lab").glob("*.py") if path.name not in NOT_LEARNERS)


@pytest.mark.parametrize("path", learners(), ids=lambda path: path.stem)
def test_no_learner_imports_the_study(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, ["pa_lab" if node.level else "", node.module]))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            assert not name.startswith(("pa_lab.study", "pa_lab.datasets")), f"line {node.lineno}: {name}"
