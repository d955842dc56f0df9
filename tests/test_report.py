"""The report's sources and outputs: nothing typed that was measured, nothing unused, nothing that needs the network."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import typst
from sklearn.metrics import roc_auc_score

from pa_lab.queries import EVERY, WINDOW

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "report"
SOURCES = sorted(REPORT.rglob("*.typ"))

each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


# ---------------------------------------------------------------- what of a Typst source is prose


class Mask:
    """The kind of every character of a Typst source: ``p`` prose, ``m`` math, ``s`` string, ``c`` code, space: other.

    Enough of Typst's grammar for this: markup, code after ``#``, content in brackets inside code, and so on down.
    """

    WORDS = re.compile(r"(let|set|show|import|include|if|for|while|context|return)(?![\w-])")

    def __init__(self, text):
        self.text, self.kinds, self.swallowed = text, [" "] * len(text), []
        self.markup(0, "")

    def only(self, kinds):
        """The text with everything of another kind blotted out, so that positions stay."""
        pairs = zip(self.text, self.kinds, strict=True)
        return "".join(c if k in kinds or c == "\n" else "\0" for c, k in pairs)

    def skip(self, i, pattern):
        found = re.compile(pattern, re.S).match(self.text, i)
        return found.end() if found else 0

    def apart(self, i):
        """End of a comment or of raw text that starts here, else 0."""
        if self.text.startswith("//", i) and self.text[i - 1 : i] != ":":
            return self.skip(i, r"//[^\n]*")
        return self.skip(i, r"/\*.*?\*/") or self.skip(i, r"(`+).*?\1")

    def markup(self, i, end):
        while i < len(self.text) and self.text[i] != end:
            c = self.text[i]
            if past := self.apart(i) or self.skip(i, r"\\u\{\w+\}|\\.|<[\w:.-]+>|@[\w-]+(?:[:.][\w-]+)*"):
                i = past
            elif c == "$":
                i = self.math(i + 1)
            elif c == "#":
                start, i = i, self.expression(i + 1)
                if self.text[i : i + 1] == ";" and not self.WORDS.match(self.text, start + 1):
                    self.swallowed.append(self.text[start : i + 1])
            elif c == "[":
                i = self.markup(i + 1, "]")
            else:
                self.kinds[i] = "p"
                i += 1
        return i + 1

    def math(self, i):
        while i < len(self.text) and self.text[i] != "$":
            if past := self.apart(i) or self.skip(i, r"\\."):
                i = past
            elif self.text[i] == "#":
                i = self.expression(i + 1)
            elif self.text[i] == '"':
                i = self.string(i)
            else:
                self.kinds[i] = "m"
                i += 1
        return i + 1

    def string(self, i):
        end = self.skip(i, r'"(?:\\.|[^"\\])*"')
        for part in re.finditer(r"[^\\]+|\\u\{\w+\}|\\.", self.text[i + 1 : end - 1]):
            if part[0][0] != "\\":
                self.kinds[i + 1 + part.start() : i + 1 + part.end()] = "s" * len(part[0])
        return end

    def expression(self, i):
        if self.WORDS.match(self.text, i):
            return self.code(i, "\n;]")
        self.kinds[i - 1] = "c"
        name = self.skip(i, r"-?[\d.]+|[\w-]+") or i
        self.kinds[i:name] = "c" * (name - i)
        i = name
        while i < len(self.text):
            if self.text[i] in "([{":
                i = self.bracket(i)
            elif past := self.skip(i, r"\.[A-Za-z][\w-]*"):
                i = past
            else:
                break
        return i

    def bracket(self, i):
        if self.text[i] == "[":
            return self.markup(i + 1, "]")
        self.kinds[i] = "c"
        return self.code(i + 1, ")" if self.text[i] == "(" else "}") + 1

    def code(self, i, ends):
        """Code up to one of ``ends``, which is not taken."""
        while (i < len(self.text) and self.text[i] not in ends) or self.skip(i, r"\n\s*(?:\.[a-z]|else\b)"):
            c = self.text[i]
            if past := self.apart(i):
                i = past
            elif c == '"':
                i = self.string(i)
            elif c == "$":
                i = self.math(i + 1)
            elif c in "([{":
                i = self.bracket(i)
            else:
                self.kinds[i] = "c"
                i += 1
        if i < len(self.text):
            self.kinds[i] = "c"
        return i


# ---------------------------------------------------------------- digits

NUMBER = re.compile(r"(?<![\w.])\d++(?:[,\u202f]\d{3}+)*+(?:\.\d++)?+(?!_)")
MEASURE = re.compile(
    r"[\s\u00a0\u202f~]*(?:%|‰|per ?cent\b|(?:ms|µs|s|seconds?|minutes?|hours?|times|points?|[kMG]i?B)\b)"
)
TO = r"(?:(?:,| and| or| to|,? und)?\s+|\u2013|-)"
NAMES = (  # "Theorems 2 to 5", "eqs. 2 to 6"
    "[Ss]ections?|[Cc]hapters?|[Tt]heorems?|[Ll]emmas?|[Cc]orollar(?:y|ies)|[Aa]lgorithms?|[Tt]ables?|[Ff]igures?|"
    "[Ee]qs?\\.|[Ee]quations?|[Pp]ages?|pp?\\.|[Vv]olumes?|[Ii]tems?|[Ss]teps?|[Qq]uestions?|[Tt]asks?|[Pp]arts?|[Cc]olumns?|"
    "[Tt]utorials?|Python|[Nn]otebooks?|IJCNN"
)
ALLOWED = {
    "p": [
        r"(?<![\d.,])(?:19|20)\d\d(?![\d.]*\d)",  # years
        rf"(?:{NAMES})[\s~]+\d+(?:\.\d+)*(?:{TO}\d+(?:\.\d+)*)*",  # references to numbered things
        r"(?<![\d.,])[01](?![\d.,]*\d)(?!\s*%)",  # labels, the constant feature, a loss of 0
        r"95[\s\u202f]%\s+(?:confidence\s+)?(?:interval|band|limit|range)s?",  # the level of every interval here
        r"2\.5[\s\u202f]%\s+and\s+97\.5[\s\u202f]%",
        r"\([2-9]\)",
        r"(?<=[\0\n])\d{1,2}\.\s+(?=[A-Z])",  # items of a list
        r"[123]-?D\b",
        r"\b1(?:\.1)+\b",  # the pattern of heading numbers
    ],
    "m": [r"(?<![\d.])\d(?![\d.])", r"10(?=\^)", r"(?<![\d.])0\.5(?!\d)", r"\(\d+\)|\^\d+|_\d+"],  # constants, powers
}
# Facts about other people's work, which no run here can change, by the file that states them.
FACTS = {  # settings of a protocol, a file or a figure, which are no measurements
    "02_derivation.typ": {0.25, 0.3, 0.5, 0.8, 1.5, 10.0, 0.1, 101.0},  # the worked step; what follows from a norm
    "03_linear.typ": {22.0},  # columns of ijcnn1
    "04_noise.typ": {200.0, 22.0, 23.0},  # clean labels for the threshold; an example of the toy stream
    "a_assignment.typ": {0.95, 250.0, 300.0, 1000.0, 3000.0},  # the share of the quality aimed at; windows of a refit
    "05_labels.typ": {0.95, 0.03, EVERY, WINDOW},  # the share of the quality aimed at; a budget; what steers delta
    "07_generalized.typ": {10.0, 0.05, 0.75},  # features, a level of a test, rows trained on
    "07_streams.typ": {21578.0, 10000.0, 2000.0, 40.0, 30.0, 20.0},  # a collection; settings of a contest
    "08_conclusion.typ": {500.0},  # labels in the recipe
    "b_regression.typ": {4.0, 3000.0},  # features, as in the source; rows of a part of the stream
    "e_published.typ": {20_000, 100, 14990.0, 3200.0, 27.0, 22.0},  # rows and columns of the paper, and most rows read
    "f_reproduce.typ": {256.0},  # in the name of a checksum
}
# A number handed to the document as a literal in code.
LITERAL = re.compile(
    r"\b(?:num|pct|grouped)\(\s*[-+]?[\d.]+\s*[,)]|#-?[\d.]+|\blet\s+[\w-]+\s*=\s*-?\d+\.\d+(?![\w.%])"
)


def held(text, results):
    """Every number in the results a source reads, as it stands there."""
    found = set()

    def collect(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                collect(key)
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.add(abs(float(value)))
        elif isinstance(value, str):  # the name of a setting: "PA-I, C = 0.01"
            found.update(map(float, re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", value)))

    for name in re.findall(r'\b(?:res|record)\("([^"]+)"\)', text):
        record = json.loads((results / f"{name}.json").read_text())
        collect([record["values"], record["seeds"]])
    return found


def typed_numbers(text, results=REPORT / "results", facts=()):
    """The numbers of a source that were typed although they look measured, each with its line.

    Refused is every number that is neither a fact nor held exactly by a result the source reads, and every one with a
    unit of time or size; a percentage counts as its share. Free are years, numbered references, 0 and 1, and small
    constants in equations.
    """
    mask, known = Mask(text), held(text, results) | set(facts)
    refused = {}

    def check(at, digits, unit=""):
        value = float(re.sub(r"[,\u202f]", "", digits))
        share = bool(re.search("%|cent", unit))
        if (unit and not share) or not any(
            abs(v - (value / 100 if share else value)) < 1e-12 * v + 1e-300 for v in known
        ):
            refused[at] = digits + unit

    for kinds, allowed in (("ps", ALLOWED["p"]), ("m", ALLOWED["m"])):
        shown = mask.only(kinds)
        free = [found.span() for pattern in allowed for found in re.finditer(pattern, shown)]
        for number in NUMBER.finditer(shown):
            unit = MEASURE.match(shown, number.end())
            end = unit.end() if unit else number.end()
            if not any(start <= number.start() and end <= stop for start, stop in free):
                check(number.start(), number[0], unit[0] if unit else "")
    for literal in LITERAL.finditer(mask.only("c")):
        check(literal.start(), re.search(r"\d[\d.]*", literal[0])[0])
    return [f"line {text.count(chr(10), 0, at) + 1}: {what.strip()}" for at, what in sorted(refused.items())]


@each_source
def test_no_measured_number_is_typed(path):
    assert not typed_numbers(path.read_text(), facts=FACTS.get(path.name, ()))


@each_source
def test_no_semicolon_of_a_sentence_is_swallowed(path):
    assert not Mask(path.read_text()).swallowed, r"Typst ends an expression with it: write \;"


# ---------------------------------------------------------------- figures and tables

CALL = re.compile(r"(?<![\w.-])fig(?:ure)?\(")


def floats(text):
    """Each call of ``fig`` or ``figure``, as its text and the label after it or None."""
    code = Mask(text).only("c")
    found = []
    for call in CALL.finditer(code):
        if re.search(r"(let|set|where\s*|\.)\s*$", code[: call.start()]) or text[: call.start()].endswith("figure."):
            continue
        mask = Mask.__new__(Mask)
        mask.text, mask.kinds, mask.swallowed = text, [" "] * len(text), []
        end = mask.bracket(call.end() - 1)
        label = re.match(r"[\])}\s]*<([\w:.-]+)>", text[end:])
        found.append((text[call.start() : end], label and label[1]))
    return found


SECTIONS = [path for path in SOURCES if path.name != "template.typ"]


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.stem)
def test_every_figure_and_table_has_a_label_and_a_caption_and_is_referred_to(path):
    everything = "".join(source.read_text() for source in SECTIONS)
    referred = set(re.findall(r"@([\w-]+(?:[:.][\w-]+)*)", everything))
    referred |= set(re.findall(r"ref\(<([\w:.-]+)>", everything))
    for call, label in floats(path.read_text()):
        assert label, f"no label after {call[:60]}..."
        assert label in referred, f"<{label}> is nowhere referred to"
        assert "caption:" in call, f"<{label}> has no caption"


def test_every_figure_is_used():
    text = "".join(path.read_text() for path in SECTIONS)
    used = {f"figures/{name}.svg" for name in re.findall(r'(?<![\w.-])fig\(\s*"([^"]+)"', text)}
    used |= set(re.findall(r"figures/[\w./-]+\.svg", text + (ROOT / "README.md").read_text()))
    made = {str(path.relative_to(ROOT)) for path in (ROOT / "figures").rglob("*.svg")}
    notebooks = "".join(path.read_text() for path in (ROOT / "notebooks").glob("*.ipynb"))
    shown = {name for name in made if f'\\"{Path(name).stem}\\"' in notebooks}  # saved beside where it is shown
    assert not made - used - shown, "made by no notebook, shown nowhere"


def test_every_section_is_included():
    text = (REPORT / "report.typ").read_text()
    assert set(re.findall(r'#include "(sections/[^"]+)"', text)) == {
        str(path.relative_to(REPORT)) for path in REPORT.glob("sections/*.typ")
    }


# ---------------------------------------------------------------- what was built from it


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(REPORT)
        yield importlib.import_module("build"), importlib.import_module("readme")


def test_readme_holds_what_the_results_say(scripts):
    text = (ROOT / "README.md").read_text()
    assert scripts[1].MARK.search(text)
    assert scripts[1].refreshed(text, REPORT / "results") == text


def test_the_report_is_what_its_sources_give(scripts, tmp_path, capsys):
    """Every key exists, no warning is printed, and PDF and page are not left over from an older state."""
    build = scripts[0]
    build.copy(ROOT, tmp_path, (*build.SOURCES, *build.GENERATED))
    build.compile_report(tmp_path)
    assert not capsys.readouterr().err
    assert b"<pdfuaid:part>1" in (tmp_path / build.PDF).read_bytes()  # tagged, with words for figures and equations
    for name in (build.PDF, build.WEB):
        fresh = (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()  # no difference of megabytes is printed
        assert fresh, f"{name} is old: run make report"


def test_what_the_pdf_leaves_to_the_web_version_stands_there(scripts, tmp_path):
    build = scripts[0]
    build.copy(ROOT, tmp_path, (*build.SOURCES, *build.GENERATED))
    build.compile_report(tmp_path)
    page = (tmp_path / build.WEB).read_text()
    links = typst.query(tmp_path / build.REPORT, "link", field="dest", root=tmp_path, ignore_system_fonts=True)
    places = {dest.partition("#")[2] for dest in json.loads(links) if str(dest).startswith("report.html#")}
    assert places and all(f'id="{place}"' in page for place in places)


def test_the_body_of_the_article_has_at_most_thirteen_pages():
    query = {"root": ROOT, "field": "value", "one": True, "ignore_system_fonts": True}
    assert 10 <= json.loads(typst.query(REPORT / "report.typ", "<last-page-of-the-body>", **query)) <= 13


def test_the_three_scripts_run_as_printed():
    """On rows of which one in ten is positive, with labels 900 rows late: alarms, paid labels and a curved boundary."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 5))
    y = (X[:, 0] + 2 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=12_000) > 2.5).astype(int)
    names = {"X": X, "y": y, "delay": 900, "size": 100, "n": 3000, "new": [], "ask": lambda row: int(X[row, 0] > 1.2)}
    for script in re.findall(r"```python\n(.*?)```", (REPORT / "sections" / "f_reproduce.typ").read_text(), re.S):
        exec(script, names)
    assert 0.01 < names["alarms"].mean() < 0.06 and y[names["alarms"]].mean() > 2 * y.mean()
    assert len(names["paid"]) == 200 and (names["final"].predict(X) == (X[:, 0] > 1.2)).mean() > 0.95
    assert all(scores[names["first"] :].all() for scores in names["paths"])  # the choice sees no row without a score
    assert all(roc_auc_score(y, names[k].decision_function(names["Z"])) > 0.95 for k in ("every", "better", "small"))
    scores = np.concatenate([*names["live"](names["models"][28], names["pairs"](X, y, 900, 100))])
    assert roc_auc_score(y[-len(scores) :], scores) > roc_auc_score(y[1000:], names["paths"][28][1000:]) - 0.02
