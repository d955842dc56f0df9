"""Where numba keeps what it compiled from this package: beside the sources, and never longer than they stay the same.

numba compares a compiled function with its own file only, although the code of other files is compiled into it: a
changed step size in `rules.py` would not reach the passes. Where nothing can be written, numba refuses to compile at
all. `arrange_cache` mends both, before the first function is compiled.
"""

import hashlib
import os
import stat
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parent
STAMP = "compiled-from.sha256"

# Options of compiled functions. Compiling takes far longer than a first fit, so that no code is made in vain: none for
# calls from C. Small functions are INLINED before anything is compiled. INNER ones are for compiled code alone: no code
# is made for calls from Python, which would take as long again, and none is kept, as it is part of what calls them.
# Without "_nrt", numba's run time, they make no arrays, and count no references to those they are given: a tuple of
# arrays then costs nothing to hand on. With it, a pass would take up to twice as long.
COMPILED = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
INLINED = COMPILED | {"inline": "always"}
INNER = {"error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True, "_nrt": False}


def arrange_cache() -> None:
    """Drop compiled code that other sources gave, and find a place for it if the package folder is read-only.

    The place is the one in ``NUMBA_CACHE_DIR``, the package folder, the user's cache folder, or a temporary folder
    that belongs to this user alone: the first of them that can be written in.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or not find_spec("numba"):
        return  # whoever sets it looks after the folder; without numba there is none
    try:
        drop_outdated(PACKAGE)
    except OSError:
        if not numba_finds_a_place():
            folder = str(private_folder(Path(tempfile.gettempdir())))
            os.environ["NUMBA_CACHE_DIR"] = folder  # for processes that this one starts
            sys.modules["numba"].config.CACHE_DIR = folder


def drop_outdated(package: Path) -> None:
    """Remove compiled code beside the sources of a package when any of them has changed.

    Raises
    ------
    OSError
        When nothing can be written there.
    """
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    stamp = package / "__pycache__" / STAMP
    stamp.parent.mkdir(exist_ok=True)
    tempfile.TemporaryFile(dir=stamp.parent).close()
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    for compiled in package.rglob("__pycache__/*.nb[ci]"):
        compiled.unlink(missing_ok=True)
    stamp.write_text(digest.hexdigest())


def numba_finds_a_place() -> bool:
    """Say whether numba can keep compiled code for a file of this package."""
    import numba

    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:  # "cannot cache function ... no locator available"
        return False
    return True


def _nothing():
    """Stand for any compiled function of the package."""


def private_folder(parent: Path) -> Path:
    """Return a folder in `parent` that only this user can read and write, the same one in every process.

    numba runs what it finds in its cache. A folder that somebody else made or may write in is therefore not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = parent / f"pa_lab-{user}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077:
            return Path(tempfile.mkdtemp(prefix="pa_lab-", dir=parent))
    return folder
