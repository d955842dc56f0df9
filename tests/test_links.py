"""Links lead to files that are there; addresses outside stand in `addresses.csv` with their use. None is visited."""

import csv
import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("report/*.html"),
         *ROOT.glob("report/**/*.typ")]  # fmt: skip
OTHERS = [ROOT / "CITATION.cff", ROOT / "pyproject.toml", *ROOT.glob("report/*.bib"), *ROOT.glob("pa_lab/**/*.csv"),
          *ROOT.glob("pa_lab/**/*.py")]  # fmt: skip
LINKS = {
    ".md": r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"|^```\{image\} (\S+)",
    ".html": r"\b(?:href|src)=\"([^\"]+)\"",
    ".typ": r"\b(?:link|image)\(\"([^\"]+)\"\)",
}
LINKS[".ipynb"] = LINKS[".md"]
ADDRESS = re.compile(r"https?://[^\s\"'`<>(){},\\\]]+")


def text_of(path):
    """What a reader sees: of a notebook the Markdown, of a page no script and no code."""
    if path.suffix == ".ipynb":
        return "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown")
    text = path.read_text(encoding="utf-8")
    return re.sub(r"<script.*?</script>|```python.*?```", "", text, flags=re.S)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(path):
    """Typst makes one file in ``report``; on the site, docs, notebooks, figures and report are one folder."""
    links = {next(filter(None, found)) for found in re.findall(f"(?:{LINKS[path.suffix]})()", text_of(path), re.M)}
    folder = ROOT / "report" if path.suffix == ".typ" else path.parent
    for link in links:
        target = unquote(link.partition("#")[0].partition("?")[0])
        if target and not re.match(r"[a-z]+:", target):
            place = (folder / target).resolve()
            on_site = str(place.relative_to(ROOT)).removeprefix("docs/")
            assert any(each.exists() for each in (place, ROOT / on_site, ROOT / "report" / on_site)), link


def test_every_address_outside_is_listed_with_its_use():
    with open(Path(__file__).with_name("addresses.csv"), newline="", encoding="utf-8") as file:
        listed = {row["starts with"]: row["use"] for row in csv.DictReader(file)}
    found = {address for path in PAGES + OTHERS for address in ADDRESS.findall(text_of(path))}
    unlisted = [address for address in found if not address.startswith(tuple(listed))]
    unused = [start for start in listed if not any(address.startswith(start) for address in found)]
    assert all(listed.values()) and not unlisted and not unused, (unlisted, unused)
