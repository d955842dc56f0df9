"""The site: its sources name what is there, its links lead somewhere, and Sphinx builds it without a warning."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GUIDE = [path for path in sorted((DOCS / "guide").glob("*.md")) if path.stem not in ("index", "around")]
SPHINX = ("sphinx", "numpydoc", "myst_nb", "pydata_sphinx_theme")


def broken_links(folder):
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    return links.broken_links(folder)


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here"></a><a href="#top"></a><img src="no.png">'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="a.html#top"></a><a href="https://example.org"></a>')
    assert broken_links(tmp_path) == [("a.html", "b.html#here"), ("a.html", "no.png")]


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.stem)
def test_a_page_of_the_guide_has_a_picture_and_a_notebook(path):
    text = path.read_text()
    (picture,) = re.findall(r"```\{image\} \.\./(\S+)\n:alt: \S", text)
    (notebook,) = re.findall(r"\]\(\.\./(notebooks/\S+\.ipynb)\)", text)
    assert (ROOT / picture).is_file() and (ROOT / notebook).is_file()


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.stem)
def test_code_on_the_site_can_be_parsed(path):
    for code in re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.S):
        compile(code, path.name, "exec")


def test_what_the_site_needs_is_pinned():
    lines = [line for line in (DOCS / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in SPHINX), reason="what `make docs` installs is not installed"
)
def test_sphinx_builds_the_site_without_a_warning(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(DOCS, source)
    for name in ("notebooks", "figures"):
        shutil.copytree(ROOT / name, source / name)
    shutil.copy(ROOT / "README.md", source)
    (source / "extra").mkdir()
    for name in ("report.html", "report.pdf", "explore.html"):
        shutil.copy(ROOT / "report" / name, source / "extra")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html"]
    made = subprocess.run([*command, source, site], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert broken_links(site) == []
