"""What the notebooks say in words: every number of a reading stands in an output, and no code writes prose."""

import ast
import itertools
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"(?<![\w.$])[-−]?\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")
NOT_A_READING = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>"  # code, mathematics, addresses
    r"|(?:[Ff]igures?|[Tt]ables?|[Aa]lgorithm|[Ss]ections?|[Nn]otebooks?|[Ee]quations?|[Pp]roblem|[Pp]age)"
    r"\s[\d, and–-]+|\b(?:19|20)\d\d\b|\b95 %|(?:river|scikit-learn) \d\.\d+",  # years, the usual level, versions
    re.S,
)
MANY_WORDS = 10  # of an f-string; fewer are a label or a line of results
FACTS = {"27", "22", "3200", "9000", "14990", "141691"}  # what a source says or a file holds: not measured
SMALL = 12  # whole numbers up to this may be counted by hand
WHOLE = "What we found"  # speaks of the whole notebook, as the lead does

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def numbers(text):
    """Numbers in a text, as they are written, without the commas between thousands."""
    return [found.replace(",", "").replace("−", "-").rstrip(".") for found in NUMBER.findall(text)]


def sections(notebook):
    """The prose of each section, from heading to heading, and the numbers in its outputs and code, as exact decimals.

    The lead and "What we found" speak of the whole notebook; the exercises are left out.
    """
    prose, shown = [""], [[]]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown[-1].append(cell.source.replace("_", ""))
            for output in cell.outputs:
                shown[-1] += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
            continue
        for part in re.split(r"^(?=##? )", cell.source.partition("## Try it")[0], flags=re.M):
            if part.startswith("#"):
                prose.append("")
                shown.append([])
            prose[-1] += part + "\n"
        if "## Try it" in cell.source:
            break
    for at, text in enumerate(prose):
        whole = text.startswith("# ") or WHOLE in text
        texts = list(itertools.chain(*shown)) if whole else shown[at]
        found = re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", " ".join(texts).replace(",", ""))
        yield text, {Decimal(value) for value in found if abs(Decimal(value)) < 10**12}


def stands(number, values):
    """Whether a value, or a hundred times it, rounds to the number as it is written; signs are not looked at."""
    wanted = abs(Decimal(number))
    return any(
        abs(value * scale).quantize(wanted, rounding) == wanted
        for value in values
        for scale in (1, 100)
        for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN)
    )


def unfounded(notebook):
    """Numbers of the Markdown cells that no output and no code of their section has."""
    found = []
    for text, values in sections(notebook):
        for number in numbers(NOT_A_READING.sub(" ", text)):
            if not (number in FACTS or (number.isdigit() and int(number) <= SMALL)) and not stands(number, values):
                found.append((number, text[:60]))
    return found


@each_notebook
def test_a_number_in_a_reading_stands_in_its_section(path):
    assert unfounded(nbformat.read(path, 4)) == []


@each_notebook
def test_a_heading_comes_once(path):
    texts = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]
    found = re.findall(r"^#+ .*$", "\n".join(texts), re.M)
    assert len(found) == len(set(found)), found


def prose(source):
    """The words of the longest text that a cell writes with numbers in it: an f-string, or parts joined by ``+``."""
    most = []
    for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*$", "", source, flags=re.M))):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            most = max(most, re.findall(r"[A-Za-z]{2,}", " ".join(parts)), key=len)
    return most


@each_notebook
def test_at_most_one_cell_writes_prose(path):
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    writers = [source for source in cells if len(prose(source)) > MANY_WORDS or "Markdown(" in source]
    assert len(writers) <= 1, "\n---\n".join(writers)


@pytest.mark.parametrize("wrong", ["It has an AUC of 0.913.", "It made 1,024 mistakes.", "A share of 43 %."])
def test_a_number_without_an_output_is_seen(wrong):
    notebook = nbformat.v4.new_notebook()
    output = nbformat.v4.new_output("stream", text="auc 0.912, mistakes 1023, share 0.421")
    notebook.cells = [nbformat.v4.new_code_cell("1", outputs=[output]), nbformat.v4.new_markdown_cell(wrong)]
    assert len(unfounded(notebook)) == 1
    right = wrong.replace("0.913", "0.91").replace("1,024", "1,023").replace("43", "42")
    notebook.cells[1].source = right
    assert unfounded(notebook) == []
