"""Does the study come out the same? `make again` runs it (with ONLY=05, a part) once more and compares.

The second run has two threads in BLAS and, where OpenBLAS can choose, code for another processor; LIBSVM is fitted
anew. Results and figures must be the same to the bit. Kernel values and their products go through BLAS, so where
other code rounds them differently a result may move in its last digits: it is then told, and passes if it moves by
less than 1e-4.
Wall-clock times are kept apart (`report/results/times/`, `figures/times/`) and not compared.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pa_lab.study.datasets import cache_folder

ROOT = Path(__file__).resolve().parents[2]
MADE = ("report/results/*.json", "figures/*.svg")
OTHER = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}


def made(folder, only=""):
    """What a run made that holds no times, by name."""
    found = (path for pattern in MADE for path in folder.glob(pattern) if path.name.startswith(only))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def close(a, b):
    """Whether two results hold the same, but for the last digits of numbers."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
    return a == b


def compared(here, there):
    """Each result and figure with "same", "rounded" or "DIFFERENT"; a figure follows its notebook's results."""
    told, rounded = {}, set()
    for name in sorted(here.keys() | there.keys(), reverse=True):  # results come before figures
        one, other = here.get(name), there.get(name)
        notebook = Path(name).name[:2]
        if one == other:
            told[name] = "same"
        elif one and other and name.endswith(".json") and close(json.loads(one), json.loads(other)):
            told[name] = "rounded"
            rounded.add(notebook)
        else:
            told[name] = "rounded" if one and other and name.endswith(".svg") and notebook in rounded else "DIFFERENT"
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
        told = compared(made(ROOT, only), made(copy, only))
    for outcome in ("same", "rounded", "DIFFERENT"):
        names = [name for name, what in told.items() if what == outcome]
        print(f"{outcome:<10}{len(names):>4}  {'' if outcome == 'same' else ', '.join(names)}")
    return "DIFFERENT" in told.values()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
