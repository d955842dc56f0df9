"""Where results and figures go, and how they are written: whole or not at all, same input same bytes.

Every path starts from `ROOT`, found from this file, so the working directory of a notebook does not matter.
Once a process has touched stand-in data it is tainted for good, and what it saves goes to `build/stand-in/`.
"""

import contextlib
import io
import json
import math
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pandas as pd

import pa_lab

if TYPE_CHECKING:
    import matplotlib.figure
    from sklearn.utils import Bunch

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "matplotlib")
TAINT_FILE = ".stand-in"  # lies in an output folder that holds anything made from stand-in data


def flag(variable: str) -> bool:
    """Say whether an environment variable is set, to anything but 0."""
    return os.environ.get(variable, "") not in ("", "0")


_stand_in = flag("PA_LAB_STAND_IN")


def mark_stand_in() -> None:
    """Record, for the rest of this process, that stand-in data was used."""
    global _stand_in
    _stand_in = True


def is_stand_in() -> bool:
    """Say whether this process has used stand-in data."""
    return _stand_in


def output_dir() -> Path:
    """Return the folder that holds `figures/` and `report/results/` for this process.

    `PA_LAB_OUTPUT` if set, else `build/stand-in` when the process is tainted, else the project itself.
    """
    if chosen := os.environ.get("PA_LAB_OUTPUT"):
        return (ROOT / chosen).resolve()
    return ROOT / "build" / "stand-in" if _stand_in else ROOT


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of `path` at the end, in one step, or is removed on any error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as out:
            yield out
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: str | Path, content: bytes | str) -> Path:
    """Write bytes, or text as UTF-8, so that nobody ever sees half a file; missing folders are made."""
    path = Path(path)
    with replacing(path) as out:
        out.write(content.encode() if isinstance(content, str) else content)
    return path


def save_results(
    name: str, values: dict, *, data: "Iterable[Bunch]" = (), seeds: int | list[int] | None = None
) -> None:
    """Add numbers to those of a notebook in `report/results/NAME.json`, with where they come from.

    A notebook saves each result where it is made. The first call of a process starts the file anew, and every later
    call adds to it. A key that is saved again takes its new value. Floats keep 6 significant digits and keys are
    sorted, so that a rerun gives the same bytes.

    Parameters
    ----------
    name : str
        The notebook's name, such as `"02_linear_ijcnn1"`.
    values : dict
        Numbers, text, None, and any nesting of dicts, lists, NumPy arrays and pandas objects; a frame becomes a list
        of row dicts, a series a dict.
    data : iterable of Bunch
        The data sets the numbers come from; their `name` and `digest` are recorded.
    seeds : int or list of int, optional
        Seeds of the runs. Those of the last call that gives some are recorded.

    Raises
    ------
    ValueError
        For NaN or an infinite number: the message names its key. For a `name` that is not a plain file name.
    TypeError
        For anything JSON cannot hold, and for `values` or `data` of another type.

    Examples
    --------
    >>> save_results("02_linear_ijcnn1", {"auc": 0.91}, seeds=0)  # doctest: +SKIP
    """
    _save_json("report/results", name, values, data, seeds)


def save_times(name: str, values: dict) -> None:
    """Add wall-clock numbers, which a rerun changes, to `report/results/times/NAME.json`, as `save_results` does."""
    _save_json("report/results/times", name, values, (), None)


_saved = {}  # what this process has saved so far, by folder and name


def _save_json(folder, name, values, data, seeds):
    if not isinstance(values, dict):
        raise TypeError(f"values must be a dict; got {values!r}.")
    data = data if isinstance(data, dict) else list(data)
    if isinstance(data, dict) or not all(hasattr(bunch, "digest") for bunch in data):
        raise TypeError(f"data must be a list of what datasets.load returned; got {data!r:.80}.")
    before = _saved.get((folder, name), {"values": {}, "seeds": None, "data": {}})
    record = {
        "values": before["values"] | _plain(values, "values"),
        "seeds": before["seeds"] if seeds is None else _plain(seeds, "seeds"),
        "data": before["data"] | {bunch.name: bunch.digest for bunch in data},
        "versions": _versions(),
    }
    if _stand_in:
        record["stand_in"] = True
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    _put(folder, f"{name}.json", text)
    _saved[folder, name] = record


def _versions():
    own = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}", "pa-lab": pa_lab.__version__}
    return own | {package: version(package) for package in PACKAGES}


def _put(folder, file, content):
    """Write below the output folder, leaving a trace there when the content comes from stand-in data."""
    if not re.fullmatch(r"\w[\w.-]*\.(json|svg)", file):
        raise ValueError(
            f"name must be a plain file name, such as '02_linear_ijcnn1'; got {file[: file.rindex('.')]!r}."
        )
    if _stand_in:
        atomic_write(output_dir() / TAINT_FILE, "")
    atomic_write(output_dir() / folder / file, content)


def _plain(value, key):
    """Return `value` as plain JSON types; `key` is where it stands, for the error message."""
    value = _unwrapped(value, key)
    if isinstance(value, dict):
        if None in value:
            raise ValueError(f"{key} has the key None: give it a name.")
        plain = {str(k): _plain(v, f"{key}.{k}") for k, v in value.items()}
        if len(plain) < len(value):
            raise ValueError(f"{key} has two keys that read the same as text: {sorted(map(str, value))}.")
        return plain
    if isinstance(value, list | tuple | range):
        return [_plain(v, f"{key}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{key} is {value}; only finite numbers can be saved (None for 'no value').")
        return float(f"{value:.6g}") + 0.0  # + 0.0 turns -0.0 into 0.0
    if value is None or isinstance(value, str | bool | int):
        return value
    raise TypeError(f"{key} is a {type(value).__name__}, which cannot be saved as JSON.")


def _unwrapped(value, key):
    """Return arrays and pandas objects as lists, dicts and numbers, and anything else as it is."""
    if isinstance(value, pd.DataFrame):
        indexed = any(name is not None for name in value.index.names)
        return (value.reset_index() if indexed else value).to_dict("records")
    if isinstance(value, pd.Series):
        if not value.index.is_unique:
            raise ValueError(f"{key} has an index with repeated labels: {value.index.tolist()}.")
        return value.to_dict()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def save_campaign(name: str, frame: pd.DataFrame, data: "Iterable[Bunch]", seconds: float) -> None:
    """Store all rows of a long experiment in `report/results/campaigns/NAME.json`, a column a line; NaN as None."""
    frame = frame.astype(object).where(frame.notna(), None)
    columns = {column: _plain(frame[column], column) for column in frame.to_dict("list")}
    head = {"data": {bunch.name: bunch.digest for bunch in data}, "seconds": round(seconds), "versions": _versions()}
    lines = [f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in head.items()]
    rows = [f"  {json.dumps(key)}: {json.dumps(list(value.values()))}" for key, value in columns.items()]
    text = "{\n" + ",\n".join([*lines, ' "columns": {\n' + ",\n".join(rows) + "\n }"]) + "\n}\n"
    atomic_write(campaign_file(name), text)


def campaign_file(name: str) -> Path:
    """Return where the rows of a campaign are stored."""
    return ROOT / "report" / "results" / "campaigns" / f"{name}.json"


def load_campaign(name: str) -> pd.DataFrame:
    """Return the stored rows of a long experiment."""
    try:
        return pd.DataFrame(json.loads(campaign_file(name).read_text(encoding="utf-8"))["columns"])
    except FileNotFoundError:
        raise FileNotFoundError(f"the campaign {name!r} has not been run: make campaign NAME={name}") from None


def save_figure(fig: "matplotlib.figure.Figure", name: str, times: bool = False) -> None:
    """Save a figure to `figures/NAME.svg`, the same bytes each time.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        Closing it is the caller's business. Made from stand-in data, it gets a visible mark.
    name : str
    times : bool, default=False
        The figure shows wall-clock times, which a rerun changes: it goes to `figures/times/NAME.svg`.

    Examples
    --------
    >>> save_figure(fig, "02_cumulative_mistakes")  # doctest: +SKIP
    """
    import matplotlib.figure  # here, so that code without figures starts fast

    if not isinstance(fig, matplotlib.figure.Figure):
        raise TypeError(f"fig must be a matplotlib Figure; got {fig!r}.")
    if _stand_in and not any(text.get_gid() == "stand-in" for text in fig.texts):
        style = {"color": "red", "alpha": 0.35, "size": 24, "weight": "bold", "rotation": 20}
        fig.text(0.5, 0.5, "STAND-IN DATA", ha="center", va="center", gid="stand-in", zorder=9, **style)
    buffer = io.BytesIO()
    # Paths, not text: the figure then looks the same in the report, a notebook and any browser.
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    _put("figures/times" if times else "figures", f"{name}.svg", buffer.getvalue())
