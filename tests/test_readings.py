"""What the notebooks say in words: every number of a reading stands in an output, and no code writes prose."""

import ast
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
FACTS = {"27", "3200", "14990"}  # what a source says or a file holds: not measured
SMALL = 12  # whole numbers up to this may be counted by hand

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def numbers(text):
    """Numbers in a text, as they are written, without the commas between thousands."""
    return [found.replace(",", "").replace("−", "-").rstrip(".") for found in NUMBER.findall(text)]


def printed(notebook):
    """Every number in the outputs and in the code of a notebook, as exact decimals."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts.append(cell.source)
            for output in cell.outputs:
                texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    return {
        Decimal(found)
        for text in texts
        for found in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text.replace(",", ""))
    }


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
    """Numbers of the Markdown cells that no output and no code of the notebook has."""
    values = {value for value in printed(notebook) if abs(value) < 10**12}
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for number in numbers(NOT_A_READING.sub(" ", cell.source.partition("## Try it")[0])):
                if not (number in FACTS or (number.isdigit() and int(number) <= SMALL)) and not stands(number, values):
                    found.append((number, cell.source[:60]))
    return found


@each_notebook
def test_a_number_in_a_reading_stands_in_an_output(path):
    assert unfounded(nbformat.read(path, 4)) == []


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


def test_a_cell_that_writes_prose_is_seen():
    assert (
        len(prose('Markdown(f"With a tenth of the labels the rule reaches {x:.3f} and so it is ahead of all.")'))
        > MANY_WORDS
    )
    assert len(prose('print(f"{n} updates here, {m} there")')) <= MANY_WORDS
