"""The package as others install it: the learners stand alone, the study is an extra."""

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STUDY = {"pandas", "matplotlib", "pooch", "tqdm"}
NOT_LEARNERS = {"__init__.py", "datasets.py"}  # they lead to `pa_lab.study.datasets`, when asked for it

# Runs without site-packages: what can be imported is the standard library and the folders named.
START = """
import sys
sys.path[:0] = sys.argv[1:]
for name in ("pandas", "matplotlib", "pooch", "tqdm"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{name} was not to be found here")
"""
FIT = """
import numpy as np
import pa_lab
from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, 1, -1)
for model in (PAClassifier(average=True), PAClassifier(batch_size=4), KernelPAClassifier(), PARegressor()):
    assert model.fit(X, y).predict(X).shape == y.shape
assert PAClassifier(max_iter=5).fit(X, y).score(X, y) > 0.9
assert KernelPAClassifier(gamma=0.5, max_iter=5).fit(X, y).score(X, y) > 0.9
print(pa_lab.__file__)
"""
ASK = """
try:
    from pa_lab import datasets
except ImportError as error:
    print(error)
"""


def needed(name, seen):
    """The installed packages that a package needs, without its extras, as their own metadata tell."""
    if name in seen:
        return seen
    seen.add(name)
    for line in distribution(name).requires or []:
        if "extra ==" not in line:
            needed(re.match(r"[\w.-]+", line)[0], seen)
    return seen


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the sources, since building leaves files beside them."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "pa_lab", source / "pa_lab", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    made = tmp_path_factory.mktemp("wheel")
    subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", made, source], check=True)
    (path,) = made.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Where the wheel was installed, and beside it links to the packages that it declares to need."""
    target, links = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("links")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", target, wheel], check=True)
    (metadata,) = target.glob("*.dist-info/METADATA")
    required = re.findall(r"^Requires-Dist: ([\w.-]+)(?!.*extra ==)", metadata.read_text(), flags=re.M)
    seen = set()
    for name in required:
        needed(name, seen)
    for name in seen:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files if file.parts[0] not in ("..", "__pycache__")}:
            if not (links / top).exists():
                (links / top).symlink_to(package.locate_file(top))
    return target, links


def alone(installed, code, tmp_path):
    """Run Python code where nothing but the wheel and what it needs can be imported."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", START + code, *map(str, installed)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    return run.stdout.strip()


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in (ROOT / "pa_lab").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {str(path.relative_to(ROOT)) for path in files}
    assert any(name.endswith("licenses/LICENSE") for name in zipfile.ZipFile(wheel).namelist())


def test_links_and_figures_on_the_package_page_lead_to_the_project(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        page = archive.read(name).decode()
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert targets and all(re.match(r"https?://|#", target) for target in targets)
    ours = [re.fullmatch(r"https://github\.com/pa-lab/pa_lab/(?:blob|raw)/main/(.+)", target) for target in targets]
    assert all((ROOT / match[1]).exists() for match in ours if match)
    assert "Description-Content-Type: text/markdown" in page


def test_twine_accepts_the_wheel(wheel):
    pytest.importorskip("twine", reason="docs/requirements.txt, which has twine, is not installed")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", wheel], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_learners_fit_without_the_packages_of_the_study(installed, tmp_path):
    assert alone(installed, FIT, tmp_path).startswith(str(installed[0]))


def test_the_study_says_in_one_sentence_what_to_install(installed, tmp_path):
    said = alone(installed, ASK, tmp_path)
    assert len(said.splitlines()) == 1
    assert "pip install 'pa-lab[study]'" in said
    assert all(name in said for name in STUDY)


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
