"""Does the study come out the same, to the bit? `make again` runs it (with ONLY=05, a part) once more and compares.

The second run has one thread and, where OpenBLAS can choose, code for another processor; LIBSVM is fitted anew. What
may differ are wall-clock times, which are kept apart: `report/results/times/`, `figures/times/`, and what the report
and the notebooks show of them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pa_lab.datasets import cache_folder

ROOT = Path(__file__).resolve().parents[1]
MADE = ("report/results/*.json", "figures/*.svg")
OTHER = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def made(folder):
    """What a run made that holds no times, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for pattern in MADE for path in folder.glob(pattern)}


def main(only=""):
    """Run all notebooks, or those whose names start with `only`, in a copy; return whether anything differs."""
    with tempfile.TemporaryDirectory(prefix="pa-lab-again-") as place:
        copy = Path(place) / "project"
        leave = shutil.ignore_patterns(".venv", ".git", "build", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=leave)
        for name in made(copy):
            if Path(name).name.startswith(only):
                (copy / name).unlink()
        folders = {"PA_LAB_CACHE": str(Path(place) / "cache"), "PYTHONPATH": str(copy)}
        folders["PA_LAB_DATA"] = os.environ.get("PA_LAB_DATA") or str(cache_folder())
        command = [sys.executable, copy / "report" / "build.py", *(["--only", only] if only else [])]
        subprocess.run(command, env=os.environ | OTHER | folders, check=True)
        here, there = made(ROOT), made(copy)
    different = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    ran = sum(Path(name).name.startswith(only) for name in here)
    print(f"{ran - len(different)} of {ran} results and figures are the same to the bit")
    for name in different:
        print(f"DIFFERENT {name}", file=sys.stderr)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
