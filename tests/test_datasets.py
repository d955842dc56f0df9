"""Data sets: what is found, checked, kept, refused, downloaded and, in need, generated."""

import bz2
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pa_lab import datasets
from pa_lab.study import store
from pa_lab.study.datasets import REGISTRY, Dataset, DatasetError, File, StandInWarning, UnavailableError, load
from pa_lab.study.standin import drifting

PROJECT = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("PA_LAB_DATA") or PROJECT.parent / "shared" / "data")
REAL = (REAL if REAL.exists() else PROJECT / REAL).resolve()
needs_data = pytest.mark.skipif(not REAL.exists(), reason="no data folder: set PA_LAB_DATA")
COLLECTED = [name for name, dataset in REGISTRY.items() if dataset.n_features and not dataset.generate]
TEXT = b"".join(b"%d 1:%d 3:0.5\n" % (i % 2, i) for i in range(1, 21))


@pytest.fixture(autouse=True)
def marks(tmp_path, monkeypatch):
    """Own folders, no network, and a record of the stand-in marks in place of a lasting taint."""
    for variable in ("PA_LAB_STAND_IN", "PA_LAB_STAND_IN_ROWS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PA_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PA_LAB_OFFLINE", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(datasets, "TIMEOUT", 0.3)
    calls = []
    monkeypatch.setattr(store, "mark_stand_in", lambda: calls.append(1))
    return calls


@pytest.fixture
def real(monkeypatch):
    monkeypatch.setenv("PA_LAB_DATA", str(REAL))


@pytest.fixture
def tiny(monkeypatch):
    """Register a small set; every failure can be played with it."""
    X = np.array([[i, 0, 0.5] for i in range(1, 21)])
    digest = datasets.content_digest(X, np.arange(1, 21) % 2)
    file = File("libsvm/tiny", "http://127.0.0.1:9/tiny", 20, 10, digest)
    monkeypatch.setitem(REGISTRY, "tiny", Dataset("tiny", "a toy", 3, (file,)))
    return REGISTRY["tiny"]


def put(folder, name, content):
    path = Path(folder) / "libsvm" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def leftovers(tmp_path):
    return [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"]


# --- The real files


@needs_data
@pytest.mark.parametrize("name", COLLECTED)
def test_real_set_has_registered_shape_counts_and_digest(name, real):
    dataset, data = REGISTRY[name], load(name, stand_in=False)
    pairs = [(data.X, data.y)] if "X" in data else [(data.X_train, data.y_train), (data.X_test, data.y_test)]
    for (X, y), file in zip(pairs, dataset.files, strict=True):
        assert X.shape == (file.rows, dataset.n_features)
        assert X.dtype == np.float64 and y.dtype == np.int64
        assert set(y) == {-1, 1} and (y == 1).sum() == file.positives
        if dataset.nonzeros:
            assert X.format == "csr" and X.indices.dtype == X.indptr.dtype == np.int32
            assert round(X.nnz / len(y)) == dataset.nonzeros
        else:
            assert X.flags.c_contiguous
    assert data.source == datasets.available(name) == "folder"
    assert data.digest == dataset.files[0].digest


@needs_data
@pytest.mark.parametrize("name", ["ijcnn1", "phishing", "breast"])
def test_parsed_copy_is_bit_equal_and_is_used(name, real, monkeypatch):
    first = load(name)
    monkeypatch.setattr(datasets, "_read", None)  # parsing again would fail
    second = load(name)
    for key in first:
        a, b = first[key], second[key]
        if sp.issparse(a):
            assert all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("data", "indices", "indptr"))
        else:
            assert np.array_equal(a, b)


# --- Finding and keeping


@pytest.mark.parametrize("content", [TEXT, bz2.compress(TEXT), TEXT.replace(b"\n", b"\r\n")])
@pytest.mark.parametrize("file", ["tiny", "tiny.bz2"])
def test_plain_and_bz2_and_any_line_ends_are_accepted(tmp_path, tiny, content, file):
    put(tmp_path / "data", file, content)
    data = load("tiny")
    assert data.source == "folder" and data.X.shape == (20, 3) and data.y.sum() == 0


def test_folder_comes_before_cache(tmp_path, tiny):
    assert datasets.available("tiny") is None
    put(tmp_path / "cache", "tiny", TEXT)
    assert datasets.available("tiny") == load("tiny").source == "cache"
    put(tmp_path / "data", "tiny", TEXT)
    assert datasets.available("tiny") == load("tiny").source == "folder"


@pytest.mark.parametrize("damage", ["flipped", "exchanged", "pickled", "empty"])
def test_damaged_parsed_copy_is_rebuilt(tmp_path, tiny, damage):
    put(tmp_path / "data", "tiny", TEXT)
    first = load("tiny").X
    (parsed,) = (tmp_path / "cache" / "parsed").iterdir()
    good = parsed.read_bytes()
    at = good.index(first.tobytes()) + 40
    if damage == "exchanged":  # sound in form, so that only the digest can tell
        np.savez(parsed, X=first[::-1], y=load("tiny").y)
    elif damage == "pickled":
        np.savez(parsed, digest=tiny.files[0].digest, X=np.array([{}], object), y=np.zeros(20))
    else:
        parsed.write_bytes(good[:at] + b"!" + good[at + 1 :] if damage == "flipped" else b"")
    assert np.array_equal(load("tiny").X, first)
    assert parsed.stat().st_size == len(good)


def test_unwritable_cache_is_a_warning_when_the_folder_has_the_file(tmp_path, tiny):
    put(tmp_path / "data", "tiny", TEXT)
    (tmp_path / "cache").write_text("in the way")  # a folder without write permission would not stop root
    datasets.warn_unwritable.cache_clear()
    with pytest.warns(UserWarning, match="cannot keep parsed copies.*set PA_LAB_CACHE"):
        assert load("tiny").X.shape == (20, 3)
    assert load("tiny").X.shape == (20, 3)  # and says so once


def test_damaged_cache_copy_is_dropped_with_a_note(tmp_path, tiny):
    path = put(tmp_path / "cache", "tiny", TEXT[:50])
    with pytest.warns(UserWarning, match="dropped from the cache"), pytest.raises(UnavailableError):
        load("tiny", stand_in=False)
    assert not path.exists() and datasets.available("tiny") is None


# --- Errors


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"BZh9 not bzip2 at all", "is cut or damaged"),
        (TEXT[: TEXT.index(b"0 1:20")], "is cut or another file .19 x 3 values instead of 20 x 3"),
        (TEXT[:-3] + b"x:y\n", "is cut or damaged"),
        (TEXT.replace(b"3:0.5", b"9:0.5"), "is cut or damaged"),
        (TEXT.replace(b"3:0.5", b"99999999999999999999:0.5"), "is cut or damaged"),
        (bz2.compress(TEXT)[:-9], "is cut or damaged"),
        (TEXT.replace(b"0.5", b"0.4"), "has digest [0-9a-f]{12} instead of [0-9a-f]{12}"),
        (b"\n<!DOCTYPE html><html>Sorry</html>", "is an HTML page, not data"),
        (b"", "is cut or"),
    ],
)
def test_damaged_file_in_the_folder_is_an_error(tmp_path, tiny, content, words):
    path = put(tmp_path / "data", "tiny", content)
    with pytest.raises(DatasetError, match=f"{path} {words}.*replace it with a good copy of http://"):
        load("tiny")


@pytest.mark.parametrize("where", ["data", "cache"])
def test_five_kilobytes_do_not_become_gigabytes(tmp_path, tiny, where):
    bomb = bz2.compress(bytes(2**20)) * 200  # bz2 files in a row are one; a few kilobytes, 200 MB
    assert len(bomb) < 20_000
    path = put(tmp_path / where, "tiny.bz2", bomb)
    tracemalloc.start()
    if where == "data":
        with pytest.raises(DatasetError, match="it unpacks to more than 67,108,864 bytes"):
            load("tiny")
    else:
        with (
            pytest.warns(UserWarning, match="unpacks to more.*dropped from the cache"),
            pytest.raises(UnavailableError),
        ):
            load("tiny", stand_in=False)
        assert not path.exists()
    assert tracemalloc.get_traced_memory()[1] < 2**28
    tracemalloc.stop()


@pytest.mark.parametrize("text", [b"", b"1,2,?,4\n", b"1,2,x,2\n", b"1,2\n", b"\xff\n"])
def test_damaged_comma_separated_file_is_an_error(tmp_path, text):
    path = tmp_path / "data" / "uci" / "bupa.data"
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    with pytest.raises(DatasetError, match="is cut or"):
        load("liver")


def test_missing_data_says_where_to_put_it(tmp_path):
    with pytest.raises(UnavailableError, match=r"neither in PA_LAB_DATA .* PA_LAB_OFFLINE .* save a copy of https"):
        load("w8a", stand_in=False)
    with pytest.raises(UnavailableError, match=r"address is dead.*since withdrawn"):
        load("diabetes", stand_in=False)


# --- Downloads, from a server on this machine


class Site(BaseHTTPRequestHandler):
    """Serve `body`; with `stall`, send that many bytes and go silent."""

    body, status, stall = TEXT, 200, None

    def do_GET(self):
        if self.stall == 0:
            return time.sleep(1)
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body[: self.stall])
        self.wfile.flush()
        if self.stall:
            time.sleep(1)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site(tiny, monkeypatch):
    handler = type("ThisSite", (Site,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/tiny"
    monkeypatch.setitem(REGISTRY, "tiny", replace(tiny, files=(replace(tiny.files[0], url=url),)))
    monkeypatch.delenv("PA_LAB_OFFLINE")
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("body", [TEXT, bz2.compress(TEXT)])
def test_download_fills_the_cache(tmp_path, site, body):
    site.body = body
    assert load("tiny").source == "download"
    assert load("tiny").source == "cache"
    assert not leftovers(tmp_path)


def test_a_download_that_cannot_be_kept_is_an_error(tmp_path, site):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "libsvm").write_text("in the way")
    with pytest.raises(DatasetError, match=r"cannot write .*set PA_LAB_CACHE to a folder"):
        load("tiny")


@pytest.mark.parametrize(
    ("body", "words"),
    [(TEXT.replace(b"0.5", b"0.6"), "has digest"), (b"<html>log in</html>", "is an HTML page")],
)
def test_bad_download_is_an_error_and_is_not_kept(tmp_path, site, body, words):
    site.body = body
    with pytest.raises(DatasetError, match=f"http://127.0.0.1.*{words}"):
        load("tiny")
    assert datasets.available("tiny") is None and not leftovers(tmp_path)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"stall": 0}, "ReadTimeout"), ({"stall": 9}, "Connection"), ({"status": 404}, "HTTP 404")],
)
def test_failed_download_ends_in_the_stand_in(tmp_path, site, marks, settings, reason):
    for key, value in settings.items():
        setattr(site, key, value)
    with pytest.raises(UnavailableError, match=f"download failed .{reason}.*save a copy"):
        load("tiny", stand_in=False)
    with pytest.warns(StandInWarning, match="STAND-IN DATA for 'tiny'"):
        assert load("tiny").source == "stand-in"
    assert marks and not leftovers(tmp_path)


def test_a_download_without_end_is_given_up(tmp_path, site, monkeypatch):
    monkeypatch.setattr(datasets, "LARGEST", len(TEXT) - 1)
    with pytest.raises(DatasetError, match="too many for any set: it was given up"):
        load("tiny")
    assert datasets.available("tiny") is None and not leftovers(tmp_path)


def child(*lines):
    """Start a fresh process that knows the small set and runs the lines."""
    head = [
        "from pa_lab import datasets",
        "from pa_lab.study.datasets import Dataset, File, load",
        f"datasets.REGISTRY['tiny'] = {REGISTRY['tiny']!r}",
        "print('ready', flush=True)",
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-c", "\n".join([*head, *lines])], text=True, **pipes)


def test_processes_may_load_at_once(tmp_path, site):
    lines = ("data = load('tiny', stand_in=False)", "print(data.X.sum(), data.y.sum())")
    processes = [child(*lines) for _ in range(3)]
    answers = {process.communicate(timeout=30)[0] for process in processes}
    assert answers == {"ready\n220.0 0\n"} and not leftovers(tmp_path)


# --- The stand-in and the generated set


def test_drifting_rows_are_learned_and_then_no_longer():
    X, y = drifting(8000, 6, share=0.4, seed=1)
    assert (y == 1).sum() == 3200 and np.array_equal(X, drifting(8000, 6, share=0.4, seed=1)[0])
    early = LogisticRegression().fit(X[:800], y[:800])
    assert early.score(X[:800], y[:800]) > 0.9 and early.score(X[-800:], y[-800:]) < 0.4
    assert 0.7 < np.mean(y[1:] == y[:-1]) < 0.9


@pytest.mark.parametrize("name", ["ijcnn1", "a9a", "german.numer", "svmguide1", "electricity", "weather"])
def test_stand_in_has_the_shape_and_is_loud(name, marks, monkeypatch):
    monkeypatch.setenv("PA_LAB_STAND_IN_ROWS", "2000")
    with pytest.warns(StandInWarning, match="STAND-IN DATA"):
        data = load(name)
    parts = [data.y] if "y" in data else [data.y_train, data.y_test]
    assert [len(y) for y in parts] == [min(file.rows, 2000) for file in REGISTRY[name].files]
    assert marks == [1] and data.source == "stand-in" and data.DESCR.endswith("not the real set.")
    assert data.digest != REGISTRY[name].files[0].digest
    assert sp.issparse(data.get("X_train")) == (name == "a9a")


def test_stand_in_can_be_forced_or_forbidden(tmp_path, tiny, monkeypatch):
    put(tmp_path / "data", "tiny", TEXT)
    monkeypatch.setenv("PA_LAB_STAND_IN", "1")
    assert datasets.available("tiny") is None
    with pytest.warns(StandInWarning, match="asked for"):
        assert load("tiny").source == "stand-in"
    assert load("tiny", stand_in=False).source == "folder"


def test_twonorm_is_breimans():
    data = load("twonorm")
    assert data.X.shape == (7_400, 20) and data.y.sum() == 0 and data.source == "generated"
    assert data.digest == REGISTRY["twonorm"].files[0].digest
    error = np.mean(np.sign(data.X.sum(1)) != data.y)  # the best rule; its error is 2.3 %
    assert 0.018 < error < 0.028
    assert np.allclose(data.X[data.y == 1].mean(0), 2 / np.sqrt(20), atol=0.06)


# --- Command line


def test_list_names_every_set(capsys):
    assert datasets.main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in datasets.names()) and "49,990 + 91,701" in shown


def test_fetch_and_verify(tmp_path, tiny, capsys):
    put(tmp_path / "data", "tiny", TEXT)
    assert datasets.main(["fetch", "tiny", "twonorm"]) == 0
    cached = tmp_path / "cache" / "libsvm" / "tiny"
    assert cached.read_bytes() == TEXT and str(cached) in capsys.readouterr().out
    assert datasets.main(["verify"]) == 0
    cached.write_bytes(TEXT[:-5])
    assert datasets.main(["verify"]) == 1
    assert f"DAMAGED  {cached}" in capsys.readouterr().out
