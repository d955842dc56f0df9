"""Build the page to play with, `report/explore.html`: one file, no network, everything inside.

The sources are in `report/explore/`: a template, a style sheet and small JavaScript modules, which are joined here into
one script. The curves of its last part are read from `report/results/`; `TOPICS` says which keys they come from.

    python report/explore.py
"""

import base64
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pa_lab.study import store
from pa_lab.study import toy as toy_stream

SOURCES = Path(__file__).parent / "explore"
PAGE = "report/explore.html"
LEARNERS = ("rules", "linear", "budget", "kernel")  # each needs only those before it
VIEWS = ("random", "state", "draw", "controls", "chart", "step", "stream", "asking", "surface", "curves", "main")

# ---------------------------------------------------------------- which results the curves show


@dataclass(frozen=True)
class Line:
    """A curve: its name and group on the page, its look, and what its rows hold in the results.

    A ``{score}`` in a value stands for the score that is shown.
    """

    name: str
    group: str
    rows: dict
    look: str


@dataclass(frozen=True)
class Score:
    """A score on the y axis: its name and its key in the rows; where rows hold one score each, ``of`` says which."""

    name: str
    key: str
    of: str = ""

    @property
    def id(self):
        """What the page calls it."""
        return self.of or self.key


@dataclass(frozen=True)
class Topic:
    """One chart: the rows ``values[rows]`` of ``report/results/{results}.json``, with ``x`` against each score.

    ``low`` and ``high`` are the keys of the ends of the band, or the key of the half-width where ``high`` is empty;
    ``{key}`` in them stands for the score's key.
    """

    key: str
    name: str
    results: str
    rows: str
    x: str
    x_name: str
    x_kind: str  # "share" or "log"
    choose: str  # what the groups are
    low: str
    high: str
    band: str
    do: str
    see: str
    about: str
    scores: tuple
    lines: tuple


_AUC = Score("AUC", "auc")
_F1 = Score("F1", "f1")
_PRECISION = Score("average precision", "average_precision")

TOPICS = (
    Topic(
        key="noise",
        name="Wrong labels",
        results="03_noise_robustness",
        rows="table",
        x="rate",
        x_name="share of training labels that are wrong",
        x_kind="share",
        choose="Data",
        low="{key}_sd",
        high="",
        band="one standard deviation over ten draws to either side",
        do="Follow PA to the right",
        see="and see how much of it its average keeps; then look for a rival that averages do not beat.",
        about="One pass in random order for PA and AROW. C is tuned on the noisy labels, for each score by that score.",
        scores=(_AUC, _PRECISION, _F1),
        lines=tuple(
            Line(name, data, {"data": data, "kind": "both classes", "method": method}, look)
            for data in ("ijcnn1", "a9a", "cod-rna")
            for name, method, look in (
                ("PA, last weights", "PA", "PA"),
                ("PA-I, last weights", "PA-I", "PA-I"),
                ("PA-I, averaged", "PA-I averaged", "PA-II"),
                ("SVM, hinge loss", "hinge SVM", "LIBLINEAR"),
                ("logistic regression", "logistic", "all"),
                ("AROW", "AROW", "random"),
            )
        ),
    ),
    Topic(
        key="labels",
        name="Fewer labels",
        results="04_active_label_budgets",
        rows="quality",
        x="labels",
        x_name="labels asked for",
        x_kind="log",
        choose="Data",
        low="{key}_low",
        high="{key}_high",
        band="95 % interval of the mean over the seeds",
        do="Compare small scores with random asking",
        see="at the same number of labels, and then change the data and the score.",
        about="PA-I with C = 1, averaged weights, one pass; the threshold for F1 comes from the paid labels.",
        scores=(_PRECISION, _AUC, _F1),
        lines=tuple(
            Line(name, data, {"data": data, "asking": asking}, look)
            for data in ("ijcnn1", "a9a", "w8a", "cod-rna", "phishing", "electricity", "weather", "reuters21578")
            for name, asking, look in (
                ("small score", "margin", "margin"),
                ("at random", "random", "random"),
                ("first rows only", "first", "first"),
                ("below a threshold", "threshold", "threshold"),
                ("every label", "all", "all"),
            )
        ),
    ),
    Topic(
        key="kernel",
        name="Kernel budgets",
        results="10_few_vectors",
        rows="frontier",
        x="size",
        x_name="vectors held",
        x_kind="log",
        choose="Methods",
        low="{key}_low",
        high="{key}_high",
        band="95 % interval of the mean over shuffles",
        do="Find the smallest budget",
        see="with which projection does as well as the other policies do with their largest.",
        about="ijcnn1, one pass of kernel PA-I (RBF); C and gamma tuned by AUC for each method at each size.",
        scores=(_AUC, _PRECISION),
        lines=tuple(
            Line(name, group, {"method": name}, name)
            for group, names in (
                ("budget policies", ("projection", "nearest", "removal", "oldest", "smallest")),
                ("fixed features", ("projection", "landmarks", "landmark features", "random Fourier")),
            )
            for name in names
        ),
    ),
    Topic(
        key="newswire",
        name="A newswire",
        results="09_real_streams",
        rows="asked",
        x="labels",
        x_name="labels asked for",
        x_kind="log",
        choose="Stream",
        low="{key}_low",
        high="{key}_high",
        band="95 % interval of the mean over twenty draws",
        do="Find the number of labels",
        see="from which a newswire learner that chooses is as good as one that reads them all.",
        about="Stories on acquisitions, Reuters 1987, in order of time; F1 of the predictions before learning.",
        scores=(_F1,),
        lines=tuple(
            Line(name, "newswire", {"query": query}, query)
            for name, query in (
                ("small score", "margin"),
                ("at random", "random"),
                ("below a threshold", "threshold"),
                ("every label", "all"),
            )
        ),
    ),
)


class MissingResultError(LookupError):
    """A curve of the page has no numbers in the results."""


def curves(root):
    """Read every chart of the last part from ``root/report/results``.

    Parameters
    ----------
    root : Path
        The project folder, or a copy of it that is being built.

    Returns
    -------
    list of dict, one per topic, as the page's `curves.js` takes them.

    Raises
    ------
    MissingResultError
        If a results file, a row or a key is missing: the message names it and the notebook that should write it.
    """
    return [_chart(topic, *_read(root, topic)) for topic in TOPICS]


def _read(root, topic):
    path = Path(root) / "report" / "results" / f"{topic.results}.json"
    try:
        record = json.loads(path.read_text())
        rows = record["values"][topic.rows]
    except (OSError, KeyError) as error:
        raise _missing(topic, f"values.{topic.rows}") from error
    return rows, record.get("stand_in", False)


def _chart(topic, rows, stand_in):
    lines = []
    for line in topic.lines:
        values = {score.id: _points(topic, line, score, rows) for score in topic.scores}
        lines.append({"name": line.name, "group": line.group, "look": line.look, "values": values})
    return {
        "key": topic.key, "name": topic.name, "source": f"{topic.results}.json", "stand_in": stand_in,
        "x": {"name": topic.x_name, "kind": topic.x_kind}, "choose": topic.choose, "band": topic.band,
        "do": topic.do, "see": topic.see, "about": topic.about,
        "scores": [{"key": score.id, "name": score.name} for score in topic.scores], "lines": lines,
    }  # fmt: skip


def _points(topic, line, score, rows):
    """The points of a curve, ``[x, value, low, high, n]``, in order of x."""
    wanted = {key: value.format(score=score.of) for key, value in line.rows.items()}
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        raise _missing(topic, f"a row of values.{topic.rows} with {wanted}")
    low, high = (name.format(key=score.key) for name in (topic.low, topic.high))
    points = []
    for row in found:
        try:
            value, x, n, first = float(row[score.key]), float(row[topic.x]), int(row["n"]), row[low]
            first = float(first) if first is not None else 0.0
            ends = (float(first), float(row[high])) if high else (value - first, value + first)
        except (KeyError, TypeError, ValueError) as error:
            raise _missing(topic, f"{error} in the rows of values.{topic.rows} with {wanted}") from error
        points.append([_short(x), *map(_short, (value, *ends)), n])
    return sorted(points)


def _short(number):
    return float(f"{number:.4g}") if abs(number) < 1000 else round(number)


def _missing(topic, what):
    return MissingResultError(
        f"the page's chart {topic.name!r} wants {what} from report/results/{topic.results}.json, which has none. "
        f"Run that notebook, or change TOPICS in report/explore.py to the keys it saves now."
    )


# ---------------------------------------------------------------- the toy stream


def toy():
    """Return the toy stream of notebooks and article as a list of ``[x1, x2, label]``."""
    X, y = toy_stream.stream()
    return [[float(a), float(b), int(label)] for (a, b), label in zip(X, y, strict=True)]


# ---------------------------------------------------------------- one file


def script(names=(*LEARNERS, *VIEWS)):
    """Join modules into one script: their import lines and the word export go, for they now share one scope.

    Parameters
    ----------
    names : iterable of str
        Modules of ``report/explore``, each after those it imports.
    """
    parts = []
    for name in names:
        text = (SOURCES / f"{name}.js").read_text()
        text = re.sub(r"^import [^;]*;\n", "", text, flags=re.M)
        parts.append(re.sub(r"^export ", "", text, flags=re.M).strip())
    return "\n\n".join(parts) + "\n"


def write(root):
    """Write ``root/report/explore.html`` and return its path; a project without the page's sources gets none.

    Parameters
    ----------
    root : Path
        The project folder, or a staged copy with ``report/explore`` and ``report/results`` in it.

    Raises
    ------
    MissingResultError
        If the results lack what a chart shows; the page that was there stays.
    """
    if not (Path(root) / "report" / "explore").is_dir():
        return None
    path = Path(root) / PAGE
    store.atomic_write(path, page(curves(root)))
    return path


def page(topics):
    """Return the page as text, with a policy that lets nothing run or load but what is in it."""
    style = (SOURCES / "page.css").read_text()
    code = f'"use strict";\n(() => {{\n{script()}}})();\n'
    # "<" could end the data block; inside JSON strings it may be written as an escape.
    data = json.dumps({"toy": toy(), "topics": topics}, separators=(",", ":"), ensure_ascii=False)
    parts = {
        "POLICY": f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'",
        "STYLE": style,
        "DATA": data.replace("<", "\\u003c"),
        "SCRIPT": code,
    }
    template = (SOURCES / "page.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


if __name__ == "__main__":
    try:
        written = write(Path(__file__).parents[1])
    except MissingResultError as error:
        sys.exit(f"error: {error}")
    print(f"{written}: {written.stat().st_size / 1000:.0f} kB")
