"""The data sets: their names, where they come from, and how a copy is found, checked and kept.

A file is looked for in the folder `PA_LAB_DATA`, then in the cache (`PA_LAB_CACHE`, or the user's cache
folder), then at its original address; when none of these has it, a generated stand-in takes its place and a
`StandInWarning` says so. Each file is checked by a digest of its parsed arrays, since compressed bytes and
line ends differ between honest copies.

`PA_LAB_OFFLINE=1` skips downloads, `PA_LAB_STAND_IN=1` skips the search, `PA_LAB_STAND_IN_ROWS` caps the rows
of a stand-in. `python -m pa_lab.datasets` lists the sets; `fetch NAME...` fills the cache; `verify` checks
every file found.
"""

import argparse
import bz2
import contextlib
import difflib
import functools
import hashlib
import io
import os
import sys
import uuid
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from pa_lab.stand_in import lookalike, misfire_stream

try:
    import fcntl
except ImportError:  # Windows: stale temporary files are left to the user there
    fcntl = None

TIMEOUT = 10  # seconds without a byte before a download is given up
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_PROJECT = Path(__file__).resolve().parents[1]
_LETTERS = {"g": 1, "b": -1, "M": 1, "R": -1}  # class letters of the UCI files


class DatasetError(RuntimeError):
    """A data file is damaged, is not what it should be, or cannot be stored."""


class UnavailableError(DatasetError):
    """A data file is in no folder and cannot be downloaded."""


class StandInWarning(UserWarning):
    """Generated rows took the place of a real data set."""


@dataclass(frozen=True)
class File:
    """One file: `path` in a data folder, where it is published, and what its rows must be."""

    path: str
    url: str
    rows: int
    positives: int
    digest: str  # `content_digest` of the parsed rows with the labels of the text
    withdrawn: bool = False

    @property
    def address(self):
        """The original address as told to the user."""
        return self.url + (" (since withdrawn)" if self.withdrawn else "")


@dataclass(frozen=True)
class Dataset:
    """One registry entry: a training file (or the only one), maybe a test file, and how to read them."""

    name: str
    title: str
    n_features: int
    files: tuple[File, ...]
    positive: tuple[float, ...] = (1,)  # labels of the text that become +1; all others become -1
    nonzeros: int | None = None  # stored values per row: given for the sets kept as CSR
    first_column: int = 0  # of the features in a comma-separated file
    generate: Callable | None = None  # returns (X, y) of a set that is defined, not collected


def _twonorm(rows=7400, n_features=20, seed=0):
    """Breiman's twonorm: two unit normal clouds around +a and -a in every column, a = 2 / sqrt(20)."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], rows // 2))
    return rng.standard_normal((rows, n_features)) + y[:, None] * (2 / np.sqrt(n_features)), y


def _libsvm(file, rows, positives, digest, served=""):
    return File(f"libsvm/{file}", LIBSVM + file + served, rows, positives, digest)


def _uci(path, rows, positives, digest, withdrawn=False):
    return File(f"uci/{path.split('/')[-1]}", UCI + path, rows, positives, digest, withdrawn)


# fmt: off
_ENTRIES = (
    Dataset("ijcnn1", "engine misfires, in the order of time", 22, (
        _libsvm("ijcnn1", 49_990, 4_853,
                "d1ede14f5b5fdc4e7606970986eb1a9fe5968ff73ed305b096de8fa2c8abd5b0", ".bz2"),
        _libsvm("ijcnn1.t", 91_701, 8_712,
                "f6d98c9dcc4c1175bed6f5aee697971429a81e705a5768db071cb1fc3a35fb66", ".bz2"))),
    Dataset("a9a", "census income above 50,000 dollars", 123, (
        _libsvm("a9a", 32_561, 7_841, "d8ccd4340cbe1c2dfb3840430ad69b4eee472e17b9a878a509a847783174d323"),
        _libsvm("a9a.t", 16_281, 3_846,
                "cdf5ec527b3e84f4dc8bfdc4012fb6504f74a58bf1a43a36ded908fb4ae7804b")), nonzeros=14),
    Dataset("w8a", "web pages by their words", 300, (
        _libsvm("w8a", 49_749, 1_479,
                "b206154ecaa2135af29db433f7a34064696c1102bd2d2c527b1c87c6c7c0c421"),), nonzeros=12),
    Dataset("mushrooms", "mushrooms, 2 edible and 1 poisonous", 112, (
        _libsvm("mushrooms", 8_124, 4_208,
                "78c1ae7888003742fc88f2d3ed54d62b6109891e5655b53bbd84acaed49c2837"),), (2,), nonzeros=21),
    Dataset("cod-rna", "RNA that codes no protein", 8, (
        _libsvm("cod-rna", 59_535, 19_845,
                "5789c714126fb6519431f87ffbe8d3b95bb0b0d0111fb5709dc9961a5ed6b17d"),)),
    Dataset("phishing", "phishing web sites, 1 honest and 0 phishing", 68, (
        _libsvm("phishing", 11_055, 6_157,
                "aa2bf34be255b9d8c25f0bba55945c9511bf0bc3b4ce22c5465e286377cb8daf"),), nonzeros=30),
    Dataset("german.numer", "credit risk, 1 bad and -1 good", 24, (
        _libsvm("german.numer", 1_000, 300,
                "56ebd1e867db7d7c1daeb427fc235189707b08e0f07745529e543290629da9c9"),)),
    Dataset("svmguide1", "astroparticles", 4, (
        _libsvm("svmguide1", 3_089, 2_000,
                "727bb9a5fffe7f4f683516888718ef9ecfd735eafe6e316751d5a74663d52cc4"),
        _libsvm("svmguide1.t", 4_000, 2_000,
                "9ab93a48b2fc29531afa7781bcbf975b2340ab53103c3dba7e688f1104eed8f2"))),
    Dataset("breast", "Wisconsin breast cancer, 2 benign and 4 malignant", 9, (
        _uci("breast-cancer-wisconsin/breast-cancer-wisconsin.data", 683, 239,
             "766c30823f4a6351496fbbeda57cb8d085faf58fefc9c0fd110def4575a0f478"),), (4,), first_column=1),
    Dataset("diabetes", "Pima Indians diabetes", 8, (
        _uci("pima-indians-diabetes/pima-indians-diabetes.data", 768, 268,
             "7e2c234c8ac627b98cd291115c1cfc58b082435a122958fce19a4f93049a2e49", withdrawn=True),)),
    Dataset("heart", "Cleveland heart disease, 0 absent and 1 to 4 present", 13, (
        _uci("heart-disease/processed.cleveland.data", 297, 137,
             "9c9d909ec4f215821b8fc25aa1776cbb921dc6bccb7967c6a853fa73ccac407b"),), (1, 2, 3, 4)),
    Dataset("ionosphere", "radar returns, g good as 1 and b bad as -1", 34, (
        _uci("ionosphere/ionosphere.data", 351, 225,
             "08d4d4d2b46bd7dc3ba60d0c5b975c61275913fa8ca266db78c1d5d124d70ae4"),)),
    Dataset("liver", "BUPA liver disorders; the class is the selector column, as in papers", 6, (
        _uci("liver-disorders/bupa.data", 345, 200,
             "462ee4a9b8bbcde5c51134944818dc1785d26fdc504c113fb6b67139acf3ea00"),), (2,)),
    Dataset("sonar", "sonar echoes, M mine as 1 and R rock as -1", 60, (
        _uci("undocumented/connectionist-bench/sonar/sonar.all-data", 208, 111,
             "70441c5eae8667a9179187281a720ba999bde02b907aa147c7f7ee896a874b19"),)),
    Dataset("twonorm", "Breiman's two normal clouds, generated", 20, (
        File("", "Breiman (1996), Bias, variance, and arcing classifiers", 7_400, 3_700,
             "bc14f400c7866c82e8f8ef9d00f0c7518d68354917ee71a035cd22870a97f42b"),),
        generate=_twonorm),
)
# fmt: on
REGISTRY = {entry.name: entry for entry in _ENTRIES}


def names():
    """Return the names of all registered sets.

    Examples
    --------
    >>> "ijcnn1" in names()
    True
    """
    return list(REGISTRY)


def content_digest(X, y):
    """Return the sha256 of rows and labels, the same on every machine.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Dense rows count as C-ordered little-endian float64; CSR as its data, int32 indices and int32 indptr.
    y : array of shape (n,)
        Counted as float64.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> content_digest(np.eye(2), [1, -1])[:12]
    '3301fcc12bd8'
    """
    if sp.issparse(X):
        parts = [(X.data, "<f8"), (X.indices, "<i4"), (X.indptr, "<i4")]
    else:
        parts = [(X, "<f8")]
    digest = hashlib.sha256()
    for array, kind in [*parts, (y, "<f8")]:
        digest.update(np.ascontiguousarray(array, kind))
    return digest.hexdigest()


def load(name, *, stand_in=None):
    """Load a data set from the data folder, the cache or its original site; else generate a stand-in.

    Parameters
    ----------
    name : str
        One of `names()`.
    stand_in : bool, optional
        True: hand out the stand-in without a search. False: raise when the data cannot be had. By default the
        stand-in is the last resort, unless `PA_LAB_STAND_IN=1` asks for it.

    Returns
    -------
    Bunch
        `X_train, y_train, X_test, y_test`, or `X, y` for a set without a test part: X float64, C-ordered of
        shape (n, d) or CSR with int32 indices; y int64, -1 or +1. Also `name`; `source` ("folder", "cache",
        "download", "generated" or "stand-in"; of two files the one fetched from furthest); `digest` (and
        `digest_test`), the `content_digest` of the rows with the labels of the text; and `DESCR`.

    Raises
    ------
    ValueError
        Unknown name.
    DatasetError
        A file in the data folder or at the original site is damaged, or a download cannot be stored.
    UnavailableError
        No copy can be had and `stand_in` is False.

    Examples
    --------
    >>> data = load("twonorm")
    >>> data.X.shape, data.source
    ((7400, 20), 'generated')
    """
    dataset = _lookup(name)
    if dataset.generate:
        X, y = dataset.generate()
        return _bunch(dataset, [(X, y)], "generated", [content_digest(X, y)])
    if stand_in or (stand_in is None and _flag("PA_LAB_STAND_IN")):
        return _load_stand_in(dataset, "it was asked for")
    try:
        parts, sources = zip(*(_load_file(dataset, file) for file in dataset.files), strict=True)
    except UnavailableError as why:
        if stand_in is False:
            raise
        return _load_stand_in(dataset, why)
    parts = [(X, np.where(np.isin(y, dataset.positive), 1, -1)) for X, y in parts]
    source = max(sources, key=["folder", "cache", "download"].index)
    return _bunch(dataset, parts, source, [file.digest for file in dataset.files])


def available(name):
    """Say where `load` would find a set, without reading it or touching the network.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    str or None
        "folder", "cache", "generated", or None when it would have to be downloaded or replaced by a stand-in.

    Examples
    --------
    >>> available("twonorm")
    'generated'
    """
    dataset = _lookup(name)
    if dataset.generate:
        return "generated"
    sources = [next(iter(_copies(file)), (None,))[0] for file in dataset.files]
    if _flag("PA_LAB_STAND_IN") or None in sources:
        return None
    return max(sources, key=["folder", "cache"].index)


def fetch(name):
    """Bring the files of a set into the cache, from the data folder or the original site.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    list of Path
        The files in the cache.

    Raises
    ------
    ValueError
        Unknown name.
    DatasetError
        A file is damaged, cannot be had or cannot be stored.
    """
    dataset = _lookup(name)
    return [_fetch_file(dataset, file) for file in ([] if dataset.generate else dataset.files)]


def _lookup(name):
    if not isinstance(name, str) or name not in REGISTRY:
        close = difflib.get_close_matches(str(name), REGISTRY, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"unknown data set {name!r}: {hint}choose one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def _flag(variable):
    return os.environ.get(variable, "") not in ("", "0")


def _bunch(dataset, parts, source, digests):
    rows = " + ".join(f"{X.shape[0]:,}" for X, _ in parts)
    origin = "GENERATED STAND-IN, not the real set" if source == "stand-in" else dataset.files[0].address
    ones = " or ".join(f"{label:g}" for label in dataset.positive)
    descr = (
        f"{dataset.name}: {dataset.title}; {rows} rows x {dataset.n_features} features, "
        f"y = +1 for label {ones} and -1 for the rest. {origin}."
    )
    bunch = Bunch(name=dataset.name, source=source, digest=digests[0], DESCR=descr)
    if len(parts) == 1:
        bunch.update(X=parts[0][0], y=parts[0][1])
    else:
        (X_train, y_train), (X_test, y_test) = parts
        bunch.update(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, digest_test=digests[1])
    return bunch


# --- Finding a copy ---------------------------------------------------------------------------------------


def _data_folder():
    """The folder named by PA_LAB_DATA: relative to here or, for notebooks, to the project."""
    if not (value := os.environ.get("PA_LAB_DATA")):
        return None
    folder = Path(value).expanduser()
    return folder if folder.exists() else _PROJECT / folder


def cache_folder():
    """Folder for downloads and parsed copies: ``PA_LAB_CACHE`` if set, else the user's cache."""
    return Path(os.environ.get("PA_LAB_CACHE") or pooch.os_cache("pa_lab")).expanduser()


def _copies(file):
    """Yield (source, path) of every copy on disk, in the order of the search."""
    for source, folder in [("folder", _data_folder()), ("cache", cache_folder())]:
        for suffix in (".bz2", ""):
            if folder and (path := folder / (file.path + suffix)).is_file():
                yield source, path


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}): make it readable or remove it") from error


def _load_file(dataset, file):
    """Return ((X, y), source) of one file, with y as in its text."""
    for source, path in _copies(file):
        try:
            return _parsed(dataset, file, _bytes(path), path), source
        except DatasetError as error:
            if source == "folder":  # the user's own: silence would hide what is wrong with it
                raise
            warnings.warn(f"{error}; it is dropped from the cache", stacklevel=4)
            with contextlib.suppress(OSError):
                path.unlink()
    raw = _download(file)
    arrays = _parsed(dataset, file, raw, file.url)
    _keep(_cached_path(file, raw), raw)
    return arrays, "download"


def _fetch_file(dataset, file):
    _, source = _load_file(dataset, file)
    path = next(path for _, path in _copies(file))
    if source != "folder":
        return path
    raw = _bytes(path)
    return _keep(_cached_path(file, raw), raw)


def _cached_path(file, raw):
    return cache_folder() / (file.path + (".bz2" if raw.startswith(b"BZh") else ""))


def _keep(path, raw):
    """Store bytes in the cache; that they cannot be is an error, since they had to be fetched."""
    try:
        with _replacing(path) as out:
            out.write(raw)
    except OSError as error:
        raise DatasetError(
            f"cannot write {path} ({error.strerror}): set PA_LAB_CACHE to a folder you may write"
        ) from error
    return path


def _download(file):
    """Return the bytes at the file's address; held in memory, so an interruption leaves nothing behind."""
    import requests  # slow to import, and needed here only

    folder = os.environ.get("PA_LAB_DATA") or "not set"
    missing = f"{file.path} is neither in PA_LAB_DATA ({folder}) nor in the cache ({cache_folder()}) and"
    advice = f"save a copy of {file.address} as {file.path} in either folder"
    if file.withdrawn:
        raise UnavailableError(f"{missing} its address is dead: {advice}")
    if _flag("PA_LAB_OFFLINE"):
        raise UnavailableError(f"{missing} PA_LAB_OFFLINE forbids a download: unset it, or {advice}")
    body = io.BytesIO()
    try:
        pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT, chunk_size=2**16)(file.url, body, None)
    except requests.RequestException as error:
        why = type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"
        raise UnavailableError(f"{missing} its download failed ({why}): go online, or {advice}") from error
    return body.getvalue()


# --- Checking and reading ---------------------------------------------------------------------------------


def _read(dataset, file, raw, where):
    """Parse the bytes of one file, check them against the registry, return X and y as in the text."""
    reject = functools.partial(_rejected, file, where)
    try:
        text = bz2.decompress(raw) if raw.startswith(b"BZh") else raw
    except (OSError, ValueError) as error:
        raise reject(f"is cut or damaged ({error})") from error
    if text.lstrip()[:1] == b"<":
        raise reject("is an HTML page, not data")
    try:
        X, y = (_read_csv if file.path.startswith("uci/") else _read_svmlight)(text, dataset)
    except ValueError as error:
        raise reject(f"is cut or damaged ({str(error).splitlines()[0]})") from error
    if X.shape != (file.rows, dataset.n_features):
        shapes = f"{X.shape[0]} x {X.shape[1]} values instead of {file.rows} x {dataset.n_features}"
        raise reject(f"is cut or another file ({shapes})")
    if (digest := content_digest(X, y)) != file.digest:
        raise reject(f"has digest {digest[:12]} instead of {file.digest[:12]}")
    return X, y


def _rejected(file, where, problem):
    return DatasetError(f"{where} {problem}: replace it with a good copy of {file.address}")


def _read_svmlight(text, dataset):
    X, y = load_svmlight_file(io.BytesIO(text), n_features=dataset.n_features, zero_based=False)
    if dataset.nonzeros is None:
        return np.ascontiguousarray(X.toarray()), y
    X.sort_indices()
    return _csr(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32), X.shape), y


def _read_csv(text, dataset):
    lines = [line for line in text.decode("ascii").splitlines() if line.strip() and "?" not in line]
    if not lines:
        raise ValueError("no rows")
    table = np.loadtxt(lines, delimiter=",", ndmin=2, converters=lambda s: float(_LETTERS.get(s, s)))
    return np.ascontiguousarray(table[:, dataset.first_column : -1]), table[:, -1].copy()


def _csr(data, indices, indptr, shape):
    return sp.csr_matrix((data, indices, indptr), shape=shape)


# --- The parsed copy --------------------------------------------------------------------------------------


def _parsed(dataset, file, raw, where):
    """Return the arrays of one file, from the parsed copy in the cache if there is one.

    It is named after the sha256 of the bytes it came from, so it can only be missing, never out of date.
    """
    path = cache_folder() / "parsed" / f"{hashlib.sha256(raw).hexdigest()}.npz"
    if (arrays := _read_parsed(dataset, file, path)) is not None:
        return arrays
    X, y = _read(dataset, file, raw, where)
    arrays = {"X": X} if dataset.nonzeros is None else {k: getattr(X, k) for k in ("data", "indices", "indptr")}
    try:
        with _replacing(path) as out:
            np.savez(out, digest=file.digest, y=y, **arrays)
    except OSError as error:
        _warn_unwritable(str(path.parent), error.strerror)
    return X, y


def _read_parsed(dataset, file, path):
    """Return the parsed copy, or None if there is no sound one; the zip format brings its own checksums."""
    try:
        with open(path, "rb") as stored, np.load(stored, allow_pickle=False) as saved:
            if str(saved["digest"]) != file.digest:
                return None
            y, shape = saved["y"], (file.rows, dataset.n_features)
            if dataset.nonzeros is None:
                X = saved["X"]
            else:
                X = _csr(saved["data"], saved["indices"], saved["indptr"], shape)
    except Exception:  # whatever is wrong with it, it can be made again
        return None
    return (X, y) if X.shape == shape and y.shape == shape[:1] else None


@functools.cache
def _warn_unwritable(folder, reason):
    """Warn once a process: all works without the parsed copy, only slower."""
    warnings.warn(
        f"cannot keep parsed copies in {folder} ({reason}): set PA_LAB_CACHE to a folder you may write",
        stacklevel=2,
    )


@contextlib.contextmanager
def _replacing(path):
    """Open a temporary file that becomes `path` at the end, in one step, or is removed on any error.

    A killed process leaves its temporary file. The next writer that finds itself alone, which a lock on the
    cache folder tells, removes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _writing(cache_folder()):
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        try:
            with open(part, "xb") as out:
                yield out
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(cache):
    """Hold the cache's lock, shared among writers; sweep first if there is no other."""
    if fcntl is None:
        yield
        return
    with open(cache / ".lock", "ab") as lock:
        with contextlib.suppress(OSError):  # another writer is at work, or the file system knows no locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for stale in cache.glob("*/*.part"):
                stale.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


# --- The stand-in -----------------------------------------------------------------------------------------


def _load_stand_in(dataset, why):
    """Generate rows in the form of a set, loudly."""
    from pa_lab import store  # here, so that reading real data does not depend on it

    warnings.warn(
        f"STAND-IN DATA for {dataset.name!r}: generated rows that say nothing of the real set ({why})",
        StandInWarning,
        stacklevel=3,
    )
    store.mark_stand_in()
    cap = _row_cap()
    rows = [min(file.rows, cap) for file in dataset.files]
    if dataset.name == "ijcnn1":
        parts = [misfire_stream(n, seed=seed) for seed, n in enumerate(rows)]
    else:
        share = _positive_share(dataset)
        seed = zlib.crc32(dataset.name.encode())
        X, y = lookalike(sum(rows), dataset.n_features, share=share, nonzeros=dataset.nonzeros, seed=seed)
        parts = [(X[stop - n : stop], y[stop - n : stop]) for n, stop in zip(rows, np.cumsum(rows), strict=True)]
    return _bunch(dataset, parts, "stand-in", [content_digest(X, y) for X, y in parts])


def _positive_share(dataset):
    return sum(file.positives for file in dataset.files) / sum(file.rows for file in dataset.files)


def _row_cap():
    value = os.environ.get("PA_LAB_STAND_IN_ROWS") or str(sys.maxsize)
    if not value.isdigit() or int(value) < 10:
        raise ValueError(f"PA_LAB_STAND_IN_ROWS is {value!r}: give a whole number of at least 10, or unset it")
    return int(value)


# --- Command line -----------------------------------------------------------------------------------------


def _list():
    print(f"{'name':<14}{'rows':>17}  features  positives  found in")
    for dataset in REGISTRY.values():
        rows = " + ".join(f"{file.rows:,}" for file in dataset.files)
        share = _positive_share(dataset)
        where = available(dataset.name) or "-"
        print(f"{dataset.name:<14}{rows:>17}  {dataset.n_features:>8}  {share:>9.1%}  {where}")
    return 0


def _fetch_all(wanted):
    for name in wanted:
        paths = fetch(name)
        print("\n".join(map(str, paths)) if paths else f"{name} is generated: nothing to fetch")
    return 0


def _verify():
    """Check every copy found, from its raw bytes; the parsed copies are not asked."""
    damaged = 0
    for dataset in REGISTRY.values():
        for file in () if dataset.generate else dataset.files:
            for _, path in _copies(file):
                try:
                    _read(dataset, file, _bytes(path), path)
                    print(f"good     {path}")
                except DatasetError as error:
                    damaged += 1
                    print(f"DAMAGED  {error}")
    return 1 if damaged else 0


def main(argv=None):
    """Run the command line: list, `fetch NAME...` or `verify`; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pa_lab.datasets", description="List, fetch, verify data.")
    commands = parser.add_subparsers(dest="command")
    fetch_parser = commands.add_parser("fetch", help="bring sets into the cache")
    fetch_parser.add_argument("names", nargs="+", metavar="NAME")
    commands.add_parser("verify", help="check every file found")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "fetch":
            return _fetch_all(arguments.names)
        return _verify() if arguments.command == "verify" else _list()
    except (DatasetError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
