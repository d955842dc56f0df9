import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")

from pa_lab.study import store

FIGURE = """
import sys; from pathlib import Path
import matplotlib; matplotlib.use("agg")
from matplotlib import pyplot as plt
from pa_lab.study import plotting, store
plotting.use_style()
fig, axes = plt.subplots(1, 2)
axes[0].plot([0, 1, 2], [0, 1, 4], "o-", label="PA"); axes[0].legend(); axes[0].set_xlabel("$p$")
axes[0].fill_between([0, 1, 2], [0, 0, 0], [0, 1, 4], hatch="/"); axes[0].set_title("Title")
axes[1].imshow([[0, 1], [2, 3]]); axes[1].scatter([0, 1], [0, 1], rasterized=True)
if "taint" in sys.argv: store.mark_stand_in()
store.save_figure(fig, "toy", times="times" in sys.argv)
print(store.output_dir() / "figures" / ("times" if "times" in sys.argv else "") / "toy.svg")
"""


@pytest.fixture(autouse=True)
def output(tmp_path, monkeypatch):
    """Save below a temporary folder; give the process its clean record back."""
    monkeypatch.setenv("PA_LAB_OUTPUT", str(tmp_path))
    monkeypatch.setattr(store, "_stand_in", False)
    monkeypatch.setattr(store, "_saved", {})
    return tmp_path


def saved_results(name, values, **where):
    """Save results and return the path of their file."""
    store.save_results(name, values, **where)
    return store.output_dir() / "report" / "results" / f"{name}.json"


def python(code, *arguments, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_results_hold_values_seeds_data_and_versions(output):
    bunch = SimpleNamespace(name="ijcnn1", digest="ab12")
    frame = pd.DataFrame({"method": ["PA", "PA-I"], "auc": [0.123456789, 1.0]})
    values = {
        "zeta": np.float32(0.1),
        "n": np.int64(91701),
        "yes": np.bool_(True),
        "array": np.array([[1.0, -0.0], [1e-12 / 3, 2.0**60]]),
        "table": frame,
        "by C": frame.set_index("method")["auc"],
        0.1: (None, "text", range(2)),
    }
    path = saved_results("toy", values, data=[bunch], seeds=range(3))
    assert path == output / "report/results/toy.json"
    saved = json.loads(path.read_text())
    assert saved["values"] == {
        "zeta": 0.1,
        "n": 91701,
        "yes": True,
        "array": [[1.0, 0.0], [3.33333e-13, 1.15292e18]],
        "table": [{"method": "PA", "auc": 0.123457}, {"method": "PA-I", "auc": 1.0}],
        "by C": {"PA": 0.123457, "PA-I": 1.0},
        "0.1": [None, "text", [0, 1]],
    }
    assert saved["data"] == {"ijcnn1": "ab12"}
    assert saved["seeds"] == [0, 1, 2]
    assert set(saved["versions"]) >= {"pa-lab", "python", "numpy", "scipy", "scikit-learn", "numba"}
    assert "stand_in" not in saved


def test_results_are_saved_where_they_are_made(output):
    first, second = SimpleNamespace(name="ijcnn1", digest="ab12"), SimpleNamespace(name="a9a", digest="cd34")
    path = saved_results("toy", {"auc": 0.5, "table": {"a": 1}}, data=[first], seeds=range(2))
    store.save_results("toy", {"f1": 0.25})
    store.save_results("toy", {"table": {"b": 2}}, data=[second])
    store.save_results("other", {"mine": 1})
    store.save_times("toy", {"fit": 0.1})
    store.save_times("toy", {"predict": 0.2})
    times = output / "report/results/times/toy.json"
    saved = json.loads(path.read_text())
    assert saved["values"] == {"auc": 0.5, "f1": 0.25, "table": {"b": 2}}  # a key that is saved again is replaced
    assert saved["data"] == {"ijcnn1": "ab12", "a9a": "cd34"}
    assert saved["seeds"] == [0, 1]
    assert json.loads(times.read_text())["values"] == {"fit": 0.1, "predict": 0.2}


def test_another_run_starts_the_file_anew(output):
    store.save_results("toy", {"old": 1})
    code = "from pa_lab.study import store; store.save_results('toy', {'a': 1}); store.save_results('toy', {'b': 2})"
    python(code, PA_LAB_OUTPUT=str(output))
    assert json.loads((output / "report/results/toy.json").read_text())["values"] == {"a": 1, "b": 2}


def test_a_refused_call_adds_nothing_and_forgets_nothing():
    store.save_results("toy", {"a": 1})
    with pytest.raises(ValueError, match="nan"):
        store.save_results("toy", {"b": 2, "c": float("nan")})
    path = saved_results("toy", {"d": 4})
    assert json.loads(path.read_text())["values"] == {"a": 1, "d": 4}


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"table": [{"auc": 0.5}, {"auc": float("nan")}]}, ValueError, r"values\.table\[1\]\.auc is nan"),
        ({"x": np.array([1.0, -np.inf])}, ValueError, r"values\.x\[1\] is -inf"),
        ({"a": pd.DataFrame({"x": [1.0, None]})}, ValueError, r"values\.a\[1\]\.x is nan"),
        ({"x": {1, 2}}, TypeError, r"values\.x is a set"),
        ({"x": {1: 0, "1": 0}}, ValueError, r"values\.x has two keys"),
        ({"x": {None: 0}}, ValueError, r"values\.x has the key None: give it a name"),
        ({"x": pd.Series([1, 2], index=["a", "a"])}, ValueError, r"values\.x has an index with repeated labels: \['a'"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_named(output, values, error, words):
    good = saved_results("toy", {"x": 1}).read_bytes()
    with pytest.raises(error, match=words):
        store.save_results("toy", values)
    assert (output / "report/results/toy.json").read_bytes() == good


def test_an_interrupted_write_keeps_the_old_file_and_leaves_nothing(output, monkeypatch):
    path = store.atomic_write(output / "deep" / "file", "old\n")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.atomic_write(path, b"new")
    assert path.read_bytes() == b"old\n"
    assert list(path.parent.iterdir()) == [path]


def test_where_output_goes_depends_on_taint_and_environment():
    code = "from pa_lab.study import store; print(store.output_dir()); store.mark_stand_in(); print(store.output_dir())"
    root, stand_in = str(store.ROOT), str(store.ROOT / "build" / "stand-in")
    assert python(code).split("\n") == [root, stand_in]
    assert python(code, PA_LAB_STAND_IN="0").split("\n") == [root, stand_in]
    assert python(code, PA_LAB_STAND_IN="1").split("\n") == [stand_in, stand_in]
    chosen = str(store.ROOT / "build" / "test")
    assert python(code, PA_LAB_OUTPUT="build/test").split("\n") == [chosen, chosen]


def test_stand_in_results_say_so(output):
    store.mark_stand_in()
    assert store.is_stand_in()
    assert json.loads(saved_results("toy", {}).read_text())["stand_in"] is True
    assert (output / store.TAINT_FILE).exists()


def test_figures_are_the_same_bytes_in_two_processes_and_marked_when_made_from_stand_in(tmp_path):
    first, second, tainted = (
        python(FIGURE, *flags, PA_LAB_OUTPUT=str(tmp_path / name))
        for name, *flags in [("a",), ("b",), ("c", "taint", "times")]
    )
    assert first.endswith("a/figures/toy.svg") and tainted.endswith("c/figures/times/toy.svg")
    one, two, marked = (Path(path).read_bytes() for path in (first, second, tainted))
    assert one == two
    assert b"date" not in one and b"Matplotlib v" not in one and b"<text" not in one
    assert b'id="stand-in"' in marked and b'id="stand-in"' not in one
