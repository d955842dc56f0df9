"""The data sets: their names, where they come from, and how a copy is found, checked and kept.

A file is looked for in the folder `PA_LAB_DATA`, then in the cache (`PA_LAB_CACHE`, or the user's cache
folder), then at its original address; when none of these has it, a generated stand-in takes its place and a
`StandInWarning` says so. Each file is checked by a digest of its parsed content, since compressed bytes and
line ends differ between honest copies. Nothing is unpickled, and no file may unpack to more than `LARGEST` bytes.

`PA_LAB_OFFLINE=1` skips downloads, `PA_LAB_STAND_IN=1` skips the search, `PA_LAB_STAND_IN_ROWS` caps the rows
of a stand-in. `python -m pa_lab.datasets` lists the sets; `fetch NAME...` fills the cache; `verify` checks
every file found.
"""

import argparse
import bz2
import contextlib
import difflib
import functools
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from pa_lab.study import newswire, store
from pa_lab.study.standin import drifting, lookalike, misfire_stream, wire

TIMEOUT = 10  # seconds without a byte before a download is given up
LARGEST = 2**26  # bytes that a file may have, packed or not; the largest of the registry has 28 million
_ADVICE = "set PA_LAB_CACHE to a folder you may write"
_BZ2, _GZIP = b"BZh", b"\x1f\x8b"  # what packed files begin with
_LETTERS = {"g": 1, "b": -1, "M": 1, "R": -1}  # class letters of the UCI files


class DatasetError(RuntimeError):
    """A data file is damaged, is not what it should be, or cannot be stored."""


class UnavailableError(DatasetError):
    """A data file is in no folder and cannot be downloaded."""


class StandInWarning(UserWarning):
    """Generated rows took the place of a real data set."""


@dataclass(frozen=True)
class File:
    """One file: `path` in a data folder, where it is published, and what its rows must be.

    The newswire is one "file" too: a folder with its 22 parts, or the archive they are published in.
    """

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
    n_features: int  # 0: stories, whose features are up to the user
    files: tuple[File, ...]
    positive: tuple[float, ...] = (1,)  # labels of the text that become +1; all others become -1
    nonzeros: int = 0  # stored values per row of a set kept as CSR; 0 for a dense one
    first_column: int = 0  # of the features in a comma-separated file
    generate: Callable | None = None  # returns (X, y) of a set that is defined, not collected


def _twonorm(rows=7400, n_features=20, seed=0):
    """Breiman's twonorm: two unit normal clouds around +a and -a in every column, a = 2 / sqrt(20)."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, -1], rows // 2))
    return rng.standard_normal((rows, n_features)) + y[:, None] * (2 / np.sqrt(n_features)), y


def _registry():
    """Read the table of the sets: a row per file, those of a set one after the other."""
    table = pd.read_csv(Path(__file__).with_name("datasets.csv"), keep_default_na=False).astype({"withdrawn": bool})
    for (name, title, width, positive, nonzeros, first), rows in table.groupby(list(table.columns[:6]), sort=False):
        files = tuple(File(*row) for row in rows[table.columns[6:]].itertuples(index=False))
        positive = tuple(map(float, positive.split()))
        generate = _twonorm if name == "twonorm" else None
        yield name, Dataset(name, title, width, files, positive, nonzeros, first, generate)


REGISTRY = dict(_registry())


def names():
    """Return the names of all registered sets."""
    return list(REGISTRY)


def content_digest(X, y=None):
    """Return the sha256 of rows and labels as 64 hexadecimal digits, the same on every machine.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or frame of stories
        Dense rows count as C-ordered little-endian float64; CSR as its data, int32 indices and int32 indptr; stories as
        what `newswire.pack` makes of them.
    y : array of shape (n,)
        Counted as float64. Left out with stories.

    Examples
    --------
    >>> content_digest(np.eye(2), [1, -1])[:12]
    '3301fcc12bd8'
    """
    if y is None:
        return hashlib.sha256(newswire.pack(X)).hexdigest()
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
        `X_train, y_train, X_test, y_test`, or `X, y` for a set without a test part: X float64, C-ordered of shape
        (n, d) or CSR with int32 indices; y int64, -1 or +1. The newswire has `stories` instead, a frame (see
        `pa_lab.study.newswire`). Rows of a stream are in order of time. Also `name`; `source` ("folder", "cache",
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
    if stand_in or (stand_in is None and store.flag("PA_LAB_STAND_IN")):
        return _load_stand_in(dataset, "it was asked for")
    try:
        parts, sources = zip(*(_load_file(dataset, file) for file in dataset.files), strict=True)
    except UnavailableError as why:
        if stand_in is False:
            raise
        return _load_stand_in(dataset, why)
    if dataset.n_features:
        parts = [(X, np.where(np.isin(y, dataset.positive), 1, -1)) for X, y in parts]
    source = max(sources, key=["folder", "cache", "download"].index)
    return _bunch(dataset, parts, source, [file.digest for file in dataset.files])


def available(name):
    """Say where `load` would find a set, without reading it or touching the network.

    It is in the "folder", in the "cache" or "generated", or, None, would have to be downloaded or replaced by a
    stand-in.

    >>> available("twonorm")
    'generated'
    """
    dataset = _lookup(name)
    if dataset.generate:
        return "generated"
    sources = [next(iter(_copies(file)), (None,))[0] for file in dataset.files]
    if store.flag("PA_LAB_STAND_IN") or None in sources:
        return None
    return max(sources, key=["folder", "cache"].index)


def fetch(name):
    """Bring the files of a set into the cache, from the data folder or the original site, and return their paths.

    Raises
    ------
    ValueError
        Unknown name.
    DatasetError
        A file is damaged, cannot be had or cannot be stored.
    """
    dataset = _lookup(name)
    paths = []
    for file in [] if dataset.generate else dataset.files:
        _, source = _load_file(dataset, file)
        path = next(path for _, path in _copies(file))
        paths.append(_keep(file, _bytes(path)) if source == "folder" else path)
    return paths


def _lookup(name):
    if not isinstance(name, str) or name not in REGISTRY:
        close = difflib.get_close_matches(str(name), REGISTRY, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"unknown data set {name!r}: {hint}choose one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def _bunch(dataset, parts, source, digests):
    rows = " + ".join(f"{part[0].shape[0]:,}" for part in parts)
    origin = "GENERATED STAND-IN, not the real set" if source == "stand-in" else dataset.files[0].address
    ones = " or ".join(f"{label:g}" for label in dataset.positive)
    form = f"rows x {dataset.n_features} features, y = +1 for label {ones} and -1 for the rest"
    if not dataset.n_features:
        form = f"stories, {parts[0][0]['date_malformed'].sum()} of them with a malformed date"
    bunch = Bunch(name=dataset.name, source=source, DESCR=f"{dataset.name}: {dataset.title}; {rows} {form}. {origin}.")
    if not dataset.n_features:
        bunch |= {"stories": parts[0][0], "digest": digests[0]}
        return bunch
    ends = ("_train", "_test") if len(parts) > 1 else ("",)
    for (X, y), digest, part in zip(parts, digests, ends, strict=True):
        bunch |= {f"X{part}": X, f"y{part}": y, "digest_test" if part == "_test" else "digest": digest}
    return bunch


# --- Finding a copy ---------------------------------------------------------------------------------------


def _data_folder():
    """The folder named by PA_LAB_DATA: relative to here or, for notebooks, to the project."""
    if not (value := os.environ.get("PA_LAB_DATA")):
        return None
    folder = Path(value).expanduser()
    return folder if folder.exists() else store.ROOT / folder


def cache_folder():
    """Folder for downloads and parsed copies: ``PA_LAB_CACHE``, from the project if relative, or the user's cache."""
    return store.ROOT / Path(os.environ.get("PA_LAB_CACHE") or pooch.os_cache("pa_lab")).expanduser()


def _copies(file):
    """Yield (source, path) of every copy on disk, in the order of the search."""
    for source, folder in [("folder", _data_folder()), ("cache", cache_folder())]:
        for suffix in (".bz2", ".tar.gz", ""):
            if folder and _parts(path := folder / (file.path + suffix)):
                yield source, path


def _parts(path):
    """The files of a copy: itself, or all parts of the newswire where `path` is a folder."""
    if path.is_file():
        return [path]
    found = (sorted(path.glob(f"reut2-[0-9][0-9][0-9].sgm{suffix}")) for suffix in (".bz2", ""))
    return next((parts for parts in found if len(parts) == newswire.PARTS), [])


def _bytes(path):
    """The bytes of a copy, parts one after the other: several bz2 files in a row are a bz2 file again."""
    try:
        if sum(part.stat().st_size for part in _parts(path)) > LARGEST:
            raise DatasetError(f"{path} has more than {LARGEST:,} bytes, too many for this set: remove it")
        return b"".join(part.read_bytes() for part in _parts(path))
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}): make it readable or remove it") from error


def _load_file(dataset, file):
    """Return (content, source) of one file; the content is X and y, with y as in the text, or the stories alone."""
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
    content = _parsed(dataset, file, raw, file.url)
    _keep(file, raw)
    return content, "download"


def _keep(file, raw):
    """Store bytes in the cache; that they cannot be is an error, since they had to be fetched."""
    kind = ".bz2" if raw.startswith(_BZ2) else ".tar.gz" if raw.startswith(_GZIP) else ""
    path = cache_folder() / (file.path + kind)
    try:
        store.atomic_write(path, raw)
    except OSError as error:
        raise DatasetError(f"cannot write {path} ({error.strerror}): {_ADVICE}") from error
    return path


def _download(file):
    """Return the bytes at the file's address; held in memory, so an interruption leaves nothing behind."""
    import requests  # slow to import, and needed here only

    folder = os.environ.get("PA_LAB_DATA") or "not set"
    missing = f"{file.path} is neither in PA_LAB_DATA ({folder}) nor in the cache ({cache_folder()}) and"
    advice = f"save a copy of {file.address} as {file.path} in either folder"
    if file.withdrawn:
        raise UnavailableError(f"{missing} its address is dead: {advice}")
    if store.flag("PA_LAB_OFFLINE"):
        raise UnavailableError(f"{missing} PA_LAB_OFFLINE forbids a download: unset it, or {advice}")
    body = _Capped()
    try:
        pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT, chunk_size=2**16)(file.url, body, None)
    except requests.RequestException as error:
        why = type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"
        raise UnavailableError(f"{missing} its download failed ({why}): go online, or {advice}") from error
    return body.getvalue()


class _Capped(io.BytesIO):
    """Bytes in memory, up to as many as a file may have."""

    def write(self, content):
        """Append, or refuse."""
        if self.tell() + len(content) > LARGEST:
            raise DatasetError(f"a download brings more than {LARGEST:,} bytes, too many for any set: it was given up")
        return super().write(content)


# --- Checking and reading ---------------------------------------------------------------------------------


def _read(dataset, file, raw, where):
    """Parse the bytes of one file, check them against the registry, return its content (see `_load_file`)."""

    def rejected(problem):
        return DatasetError(f"{where} {problem}: replace it with a good copy of {file.address}")

    try:
        text = _unpacked(raw)
        if re.match(rb"\s*<(?!!DOCTYPE lewis)", text):
            raise rejected("is an HTML page, not data")
        folder = file.path.partition("/")[0]
        if folder not in _READERS:
            raise DatasetError(f"datasets.csv has {file.path}, but there is a reader for {', '.join(_READERS)} only")
        content = _READERS[folder](text, dataset)
    except (ValueError, OverflowError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise rejected(f"is cut or damaged ({(str(error) or repr(error)).splitlines()[0]})") from error
    shape, expected = content[0].shape, (file.rows, dataset.n_features or len(newswire.COLUMNS))
    if shape != expected:
        raise rejected(
            f"is cut or another file ({shape[0]} x {shape[1]} values instead of {expected[0]} x {expected[1]})"
        )
    digest = content_digest(*content)
    if not file.digest:
        raise DatasetError(f"{where} has no digest in datasets.csv yet; if all is as it should be, write {digest}")
    if digest != file.digest:
        raise rejected(f"has digest {digest[:12]} instead of {file.digest[:12]}")
    return content


def _unpacked(raw):
    """Return the text in some bytes: plain, one or several bz2 files, or the newswire's archive."""
    if raw.startswith(_BZ2):
        return _all_of(bz2.open(io.BytesIO(raw)))
    if raw.startswith(_GZIP):
        with tarfile.open(fileobj=io.BytesIO(_all_of(gzip.open(io.BytesIO(raw))))) as archive:
            parts = [part for part in archive if re.search(r"reut2-\d{3}\.sgm$", part.name) and part.isfile()]
            if sum(part.size for part in parts) > LARGEST:
                raise ValueError(f"it unpacks to more than {LARGEST:,} bytes")
            return b"".join(archive.extractfile(part).read() for part in sorted(parts, key=lambda part: part.name))
    return raw


def _all_of(packed):
    """Read a packed file to its end, and no further than a file may go: five kilobytes of bz2 can hold gigabytes."""
    with packed:
        text = packed.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST:,} bytes")
    return text


def _read_svmlight(text, dataset):
    X, y = load_svmlight_file(io.BytesIO(text), n_features=dataset.n_features, zero_based=False)
    if not dataset.nonzeros:
        return np.ascontiguousarray(X.toarray()), y
    X.sort_indices()
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape), y


def _read_csv(text, dataset):
    lines = [line for line in text.decode("ascii").splitlines() if line.strip() and "?" not in line]
    if not lines:
        raise ValueError("no rows")
    table = np.loadtxt(lines, delimiter=",", ndmin=2, converters=lambda s: float(_LETTERS.get(s, s)))
    return np.ascontiguousarray(table[:, dataset.first_column : -1]), table[:, -1].copy()


def _read_stream(text, dataset):
    """Rows below a line of names, with the six decimals that were published: copies carry what rounding added."""
    _, _, rows = text.partition(b"\n")
    X, y = _read_csv(rows, dataset)
    return X.round(6), y


_READERS = {"libsvm": _read_svmlight, "uci": _read_csv, "streams": _read_stream,
            "reuters21578": lambda text, dataset: (newswire.parse(text.decode("latin-1")),)}  # fmt: skip


# --- The parsed copy --------------------------------------------------------------------------------------


def _parsed(dataset, file, raw, where):
    """Return the content of one file, from the parsed copy in the cache if there is a sound one.

    It is named after the sha256 of the bytes it came from, so it can only be missing, never out of date.
    """
    name = f"{hashlib.sha256(raw).hexdigest()}.{'npz' if dataset.n_features else 'json'}"
    path = cache_folder() / "parsed" / name
    with contextlib.suppress(Exception):  # whatever is wrong with it, it can be made again
        return _read_parsed(dataset, file, path)
    content = _read(dataset, file, raw, where)
    try:
        with store.replacing(path) as out:
            _write_parsed(out, dataset, *content)
    except OSError as error:
        warn_unwritable("parsed copies", str(path.parent), error.strerror)
    return content


def _write_parsed(out, dataset, X, y=None):
    if y is None:
        out.write(newswire.pack(X))
    else:
        arrays = {k: getattr(X, k) for k in ("data", "indices", "indptr")} if dataset.nonzeros else {"X": X}
        np.savez(out, y=y, **arrays)


def _read_parsed(dataset, file, path):
    """Return the content of a parsed copy; anything but what was stored is an error."""
    if dataset.n_features:
        with open(path, "rb") as stored, np.load(stored, allow_pickle=False) as saved:
            X, y = dict(saved), saved["y"]
        parts = X.get("data"), X.get("indices"), X.get("indptr")
        X = sp.csr_matrix(parts, shape=(file.rows, dataset.n_features)) if dataset.nonzeros else X["X"]
        content, digest = (X, y), content_digest(X, y)
    else:
        packed = path.read_bytes()
        content, digest = (newswire.unpack(packed),), hashlib.sha256(packed).hexdigest()
    if digest != file.digest:
        raise ValueError("not what was stored")
    return content


@functools.cache
def warn_unwritable(what, folder, reason):
    """Warn once a process: all works without what is kept in the cache folder, only slower."""
    warnings.warn(f"cannot keep {what} in {folder} ({reason}): {_ADVICE}", stacklevel=3)


# --- The stand-in -----------------------------------------------------------------------------------------


def _load_stand_in(dataset, why):
    """Generate rows in the form of a set, loudly."""
    warnings.warn(
        f"STAND-IN DATA for {dataset.name!r}: generated rows that say nothing of the real set ({why})",
        StandInWarning,
        stacklevel=3,
    )
    store.mark_stand_in()
    rows = [min(file.rows, _row_cap()) for file in dataset.files]
    share, seed = _positive_share(dataset), zlib.crc32(dataset.name.encode())
    if dataset.name == "ijcnn1":
        parts = [misfire_stream(n, seed=seed) for seed, n in enumerate(rows)]
    elif not dataset.n_features:
        parts = [(wire(rows[0], newswire.TOP_TEN, seed=seed),)]
    elif dataset.files[0].path.startswith("streams/"):
        parts = [drifting(rows[0], dataset.n_features, share=share, seed=seed)]
    else:
        X, y = lookalike(sum(rows), dataset.n_features, share=share, nonzeros=dataset.nonzeros or None, seed=seed)
        parts = [(X[stop - n : stop], y[stop - n : stop]) for n, stop in zip(rows, np.cumsum(rows), strict=True)]
    return _bunch(dataset, parts, "stand-in", [content_digest(*part) for part in parts])


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
    for name, dataset in REGISTRY.items():
        rows = " + ".join(f"{file.rows:,}" for file in dataset.files)
        found = available(name) or "-"
        print(f"{name:<14}{rows:>17}  {dataset.n_features or 'text':>8}  {_positive_share(dataset):>9.1%}  {found}")


def _fetch_all(wanted):
    for name in wanted:
        print("\n".join(map(str, fetch(name))) or f"{name} is generated: nothing to fetch")


def _verify():
    """Check every copy found, from its raw bytes, and say whether one is damaged; parsed copies are not asked."""
    damaged = False
    files = [(dataset, file) for dataset in REGISTRY.values() if not dataset.generate for file in dataset.files]
    for dataset, file, path in ((*pair, path) for pair in files for _, path in _copies(pair[1])):
        try:
            _read(dataset, file, _bytes(path), path)
            print(f"good     {path}")
        except DatasetError as error:
            damaged = True
            print(f"DAMAGED  {error}")
    return damaged


def main(argv=None):
    """Run the command line: list, `fetch NAME...` or `verify`; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pa_lab.datasets", description="List, fetch, verify data.")
    commands = parser.add_subparsers()
    fetching = commands.add_parser("fetch", help="bring sets into the cache")
    fetching.add_argument("wanted", nargs="+", metavar="NAME")
    fetching.set_defaults(run=_fetch_all)
    commands.add_parser("verify", help="check every file found").set_defaults(run=_verify)
    arguments = vars(parser.parse_args(argv))
    try:
        return int(bool(arguments.pop("run", _list)(**arguments)))
    except (DatasetError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
