"""Do the tests notice a small fault in an algorithm? `make mutants N=60 SEED=1` puts in as many, one after the other.

cosmic-ray finds the places and makes the faults: another operator, comparison or number, a condition turned round, a
loop left out. `mutants.toml` names the kinds left out, and the tests of each file. All happens in a copy of the
project. What became of each fault is kept in build/mutants/: a run cut short goes on where it stopped, and one that
has ended tries again what no test noticed. Those faults are printed for a person to read, as some change nothing that
matters.

Every fault is tried in a fork of this process, which has the libraries loaded. Its code runs as it stands, for the
compiler would take longer than the tests; only the sums of kernel functions are compiled, which are too slow without.
"""

import ast
import difflib
import functools
import itertools
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import clarabel  # noqa: F401  loaded once for all that follows, as are the next three
import numba
import numpy as np
import pandas  # noqa: F401
import pytest
import river.linear_model  # noqa: F401
import sklearn.utils.estimator_checks  # noqa: F401
from cosmic_ray.commands import init
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_suffix(".toml")
SETTINGS = tomllib.loads(CONFIG.read_text())
TESTS = SETTINGS["tests"]
LOG, TIMES, ENDLESS = Path("tests.log"), Path("times.json"), -1


# ---------------------------------------------------------------- which faults


def spared(name, operator):
    """Return where an operator changes nothing computed: messages, annotations, decorators, speed, order of texts."""
    found = []
    for node in ast.walk(ast.parse(Path(name).read_text())):
        found += [node] if isinstance(node, ast.Raise | ast.JoinedStr) else []
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in SETTINGS["speed"]:
            found.append(node)
        if isinstance(node, ast.Compare) and operator.endswith(("_Lt", "_LtE", "_Gt", "_GtE")):
            found += [node for side in node.comparators if isinstance(getattr(side, "value", None), str)]
        found += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        found += getattr(node, "decorator_list", [])
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in found if node]


def draw(session, db, n, seed):
    """Put ``n`` faults that may matter into an empty session."""
    init([Path(name) for name in TESTS], db, {})
    subprocess.run([sys.executable, "-m", "cosmic_ray.tools.filters.operators_filter", session, CONFIG], check=True)
    left_out, every = functools.cache(spared), []
    for item in db.pending_work_items:
        fault = item.mutations[0]
        places = left_out(str(fault.module_path), fault.operator_name)
        if not any(start <= fault.start_pos < stop for start, stop in places):
            every.append((fault.module_path, fault.operator_name, fault.occurrence, item))
    every.sort(key=lambda entry: entry[:3])
    db.clear()
    db.add_work_items(entry[3] for entry in random.Random(seed).sample(every, min(n, len(every))))
    print(f"{n} of {len(every)} faults drawn", flush=True)


# ---------------------------------------------------------------- what becomes of them


class QuickestFirst:
    """A plugin of pytest that sorts the tests by their times in the first run, and notes those if it is the first."""

    def __init__(self):
        self.known = json.loads(TIMES.read_text()) if TIMES.exists() else {}
        self.times = {}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.known.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report):
        self.times[report.nodeid] = max(report.duration, self.times.get(report.nodeid, 0.0))

    def pytest_sessionfinish(self):
        if not self.known:
            TIMES.write_text(json.dumps(self.times))


def run_pytest(tests):
    """Run pytest on code that is not compiled, and stop at the first example that fails; for a process of its own."""
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1), os.dup2(log, 2)
    sys.path.insert(0, os.getcwd())
    import pa_lab.jit
    import pa_lab.kernels  # compiled

    def njit(function=None, **options):
        if function is None:
            return njit
        function.py_func = function
        return function

    pa_lab.jit.njit = njit
    np.seterr(all="ignore")  # compiled code does not warn,
    np.set_printoptions(legacy="1.25")  # and returns plain numbers
    settings.register_profile("quick", phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False,
                              derandomize=True, database=None)  # fmt: skip
    settings.load_profile("quick")
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-k", f"not ({SETTINGS['slow']})"]
    os._exit(pytest.main([*options, *tests], [QuickestFirst()]))


def outcome(tests, limit):
    """Return what pytest says within so many seconds: 0 if all passed, ENDLESS if it is still at work."""
    child = multiprocessing.get_context("fork").Process(target=run_pytest, args=(tests,))
    child.start()
    child.join(limit)
    if child.exitcode is None:
        child.kill()
        child.join()
        return ENDLESS
    return child.exitcode


def difference(name, before, after):
    """Return the lines that a fault changes, as they were and as they are."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join([name, *itertools.islice(lines, 2, None)])


def try_out(db):
    """Try all faults that were not noticed so far, file by file; prints those that are not now."""
    noticed = {item.job_id for item, result in db.completed_work_items if result.is_killed}
    left = [(str(item.mutations[0].module_path), item) for item in db.work_items if item.job_id not in noticed]
    for name, items in itertools.groupby(sorted(left, key=lambda entry: entry[0]), lambda entry: entry[0]):
        tests, start = [name, *(f"tests/{test}.py" for test in TESTS[name])], time.monotonic()
        TIMES.unlink(missing_ok=True)
        if outcome(tests, 1200) != 0:
            raise SystemExit(f"The tests of {name} fail without a fault:\n{LOG.read_text()}")
        limit = 20 + 3 * (time.monotonic() - start)  # a loop without end is noticed too
        for _, item in items:
            fault = item.mutations[0]
            with use_mutation(fault.module_path, get_operator(fault.operator_name)(), fault.occurrence) as texts:
                code = outcome(tests, limit)
            change = difference(name, *texts)
            found = TestOutcome.KILLED if code else TestOutcome.SURVIVED
            db.set_result(item.job_id, WorkResult(WorkerOutcome.NORMAL, str(code), found, change))
            if code == 0:
                print(change, flush=True)


def main(n, seed):
    """Try ``n`` faults drawn with a seed; return whether fewer than nine in ten were noticed."""
    session = ROOT / "build" / "mutants" / f"{n}-{seed}.sqlite"
    session.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pa-lab-mutants-") as place, use_db(session) as db:
        folder = Path(shutil.copytree(ROOT, Path(place) / "p", ignore=shutil.ignore_patterns(".*", "build", "*.nb?")))
        os.chdir(folder)
        os.environ |= {
            "PYTHONPATH": str(folder),
            "NUMBA_CACHE_DIR": f"{place}/compiled",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        numba.config.CACHE_DIR, sys.dont_write_bytecode = f"{place}/compiled", True
        if not db.num_work_items:
            draw(session, db, n, seed)
        try_out(db)
        results = [result for _, result in db.results]
    noticed, endless = sum(r.is_killed for r in results), sum(r.output == str(ENDLESS) for r in results)
    print(f"{len(results)} faults tried, {noticed} noticed ({endless} as endless loops), {len(results) - noticed} not")
    return noticed < 0.9 * len(results)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
