"""How numba compiles this package; what it has compiled is kept beside the sources, as long as they stay the same.

numba compares a compiled function with its own file only, although the code of other files is compiled into it: a
changed step size in `rules.py` would not reach the passes. `drop_outdated` mends that, before anything is compiled.
"""

import contextlib
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent

# Options of compiled functions. Compiling takes far longer than a first fit, so that no code is made in vain: none for
# calls from C. Small functions are INLINED before anything is compiled. INNER ones are for compiled code alone: no code
# is made for calls from Python, which would take as long again, and none is kept, as it is part of what calls them.
# Without "_nrt", numba's run time, they make no arrays, and count no references to those they are given: a tuple of
# arrays then costs nothing to hand on. With it, a pass would take up to twice as long.
COMPILED = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
INLINED = COMPILED | {"inline": "always"}
INNER = {"error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True, "_nrt": False}


def drop_outdated(package: Path) -> None:
    """Remove compiled code beside the sources of a package when any of them has changed, if it can be removed."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    stamp = package / "__pycache__" / "compiled-from.sha256"
    with contextlib.suppress(OSError):  # where nothing can be written, numba does not look for compiled code
        stamp.parent.mkdir(exist_ok=True)
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        for compiled in package.rglob("__pycache__/*.nb[ci]"):
            compiled.unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest())
