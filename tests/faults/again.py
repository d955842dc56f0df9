"""Does the study come out the same? `make again` runs it (with ONLY=05, a part) once more and compares.

The second run has two threads in BLAS and takes the machine for a processor of 2008, without the instructions that have
come since: so do the compiler of the learners, BLAS, NumPy and, on Linux, the C library. Fits of other libraries are
made anew. What comes from our own learners must be the same to the bit. The libraries round otherwise there, and their
solvers stop at a tolerance, so a result or a figure of theirs may move a little: it is told, and passes if no number
moves by more than a hundredth of itself.
Wall-clock times are kept apart (`report/results/times/`, `figures/times/`) and not compared.
"""

import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy._core._multiarray_umath as umath

from pa_lab.study.datasets import cache_folder

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?\d+\.\d+")
ADDRESS = re.compile(r"\b[mp][0-9a-f]{10}\b")  # of a part of a figure, made from its numbers to the last bit
MADE = ("report/results/*.json", "figures/*.svg")
OTHER = {
    "NUMBA_CPU_NAME": "nehalem" if platform.machine() in ("x86_64", "AMD64") else "generic",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_NUM_THREADS": "2",
    "MKL_NUM_THREADS": "2",
}


def made(folder, only=""):
    """What a run made that holds no times, by name."""
    found = (path for pattern in MADE for path in folder.glob(pattern) if path.name.startswith(only))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def apart(a, b, tolerance=0.0, at=""):
    """Yield where two results differ, numbers by more than a relative tolerance: the way there and both values."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from apart(a.get(key), b.get(key), tolerance, f"{at}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b, strict=True)):
            yield from apart(*pair, tolerance, f"{at}[{i}]")
    elif isinstance(a, float) and isinstance(b, float):
        if not math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance / 100):
            yield at, a, b
    elif a != b:
        yield at, a, b


def nearness(difference):
    """The ratio of two numbers, so that the farthest apart come first; 0 for what is no number."""
    _, a, b = difference
    return min(a / b, b / a) if isinstance(a, float) and isinstance(b, float) and a * b > 0 else 0.0


def parsed(name, content):
    """A result as it was stored; a figure as its text and numbers, one after the other."""
    if name.endswith(".json"):
        return json.loads(content)
    parts = re.split(f"({NUMBER.pattern})", ADDRESS.sub("", content.decode()))
    return [float(part) if NUMBER.fullmatch(part) else part for part in parts]


def compared(here, there):
    """Each result and figure with "same", "rounded" or "DIFFERENT"."""
    told = {}
    for name in sorted(here.keys() | there.keys()):
        one, other = here.get(name), there.get(name)
        if one == other:
            told[name] = "same"
        elif one and other and not any(apart(parsed(name, one), parsed(name, other), 1e-2)):
            told[name] = "rounded"
        else:
            told[name] = "DIFFERENT"
    return told


def main(only=""):
    """Run all notebooks, or those whose names start with `only`, in a copy; return whether anything differs."""
    with tempfile.TemporaryDirectory(prefix="pa-lab-again-") as place:
        copy = Path(place) / "project"
        leave = shutil.ignore_patterns(".venv", ".git", "build", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=leave)
        for name in made(copy, only):
            (copy / name).unlink()
        folders = {"PA_LAB_CACHE": str(Path(place) / "cache"), "PYTHONPATH": str(copy)}
        folders["PA_LAB_DATA"] = str(Path(os.environ.get("PA_LAB_DATA") or cache_folder()).resolve())
        command = [sys.executable, copy / "report" / "build.py", *(["--only", only] if only else [])]
        subprocess.run(command, env=os.environ | OTHER | folders, check=True)
        here, there = made(ROOT, only), made(copy, only)
    told = compared(here, there)
    for outcome in ("same", "rounded", "DIFFERENT"):
        names = [name for name, what in told.items() if what == outcome]
        print(f"{outcome:<10}{len(names):>4}  {'' if outcome == 'same' else ', '.join(names)}")
    for name, what in told.items():
        if what != "same" and name in here and name in there:
            for difference in sorted(apart(parsed(name, here[name]), parsed(name, there[name])), key=nearness)[:10]:
                print(name, *difference)
    return "DIFFERENT" in told.values()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
