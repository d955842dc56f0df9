"""What a kill or a second run at the same time may leave behind: `make faults`.

Each task (a download, a run of the notebooks, the compilation of the report) is disturbed, then run again as if nothing
had been; what it made must be, byte for byte, what an undisturbed run makes, with nothing left over. Prints what
was tried, and ends with an error on any difference.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from toy_project import BUILD, contents, make  # noqa: E402 (found only now)

ROWS = 30_000
TEXT = b"".join(b"%d 1:%d 3:0.5\n" % (i % 2, i) for i in range(1, ROWS + 1))

# A data set that only this test knows, fetched from a site on this machine.
DOWNLOAD = f"""
import sys
import numpy as np
from pa_lab import datasets
i = np.arange(1, {ROWS} + 1)
X = np.column_stack([i, 0 * i, np.full(len(i), 0.5)]).astype(float)
file = datasets.File("libsvm/toy", sys.argv[1], len(i), int((i % 2).sum()), datasets.content_digest(X, i % 2))
datasets.REGISTRY["toy"] = datasets.Dataset("toy", "a toy", 3, (file,))
print("at work", flush=True)
sys.exit(datasets.main(["fetch", "toy"]))
"""


class Slow(BaseHTTPRequestHandler):
    """Sends a file in pieces, so that a kill can hit between them."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(TEXT)))
        self.end_headers()
        with contextlib.suppress(OSError):  # the reader was killed
            for start in range(0, len(TEXT), 20_000):
                self.wfile.write(TEXT[start : start + 20_000])
                time.sleep(0.01)

    def log_message(self, *_):
        pass


class Task:
    """Something to disturb: ``command`` in a folder that ``prepare`` made, leaving what ``made`` describes."""

    def __init__(self, name, prepare, command, settings=lambda folder: {}):
        self.name, self.prepare, self.command, self.settings = name, prepare, command, settings

    def start(self, folder):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PA_LAB")}
        setting = {"PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", "TMPDIR": str(folder.parent)}
        return subprocess.Popen(
            self.command(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=clean | setting | self.settings(folder), start_new_session=True,
        )  # fmt: skip

    def run(self, folder):
        with self.start(folder) as process:
            said = process.communicate(timeout=300)[0]
        return process.returncode, said

    def made(self, folder):
        return {name: digest for name, digest in contents(folder).items() if not name.endswith(".tmp")}


def tasks(site, published):
    """The three of them; `published` is a toy project that was built."""
    python = [sys.executable, "-c"]
    copy = lambda folder: shutil.copytree(published, folder, dirs_exist_ok=True)  # noqa: E731
    return [
        Task("download", lambda folder: folder.mkdir(exist_ok=True), lambda folder: [*python, DOWNLOAD, site],
             lambda folder: {"PA_LAB_CACHE": str(folder), "PA_LAB_DATA": str(folder / "none")}),
        Task("notebooks", copy, lambda folder: [sys.executable, str(BUILD), "--root", str(folder)]),
        Task("compile", copy, lambda folder: [sys.executable, str(BUILD), "--root", str(folder), "--compile"]),
    ]  # fmt: skip


def kill_at_random(task, folder, expected, took, rng):
    """SIGKILL at a random moment of an undisturbed run's time, to the whole family; then a plain rerun."""
    with task.start(folder) as process:
        time.sleep(rng.uniform(0.05, 1.0) * took)
        hit = process.poll() is None
        with contextlib.suppress(ProcessLookupError):
            if rng.random() < 0.5:
                process.send_signal(signal.SIGKILL)  # the parent alone; a kernel it leaves behind ends by itself
                process.wait()
                time.sleep(0.3)
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return ("hit" if hit else "too late"), rerun(task, folder, expected)


def rerun(task, folder, expected):
    code, said = task.run(folder)
    if code:
        return f"the rerun failed: {said}"
    made = task.made(folder)
    return "" if made == expected else f"the rerun made something else: {difference(made, expected)}"


def difference(made, expected):
    return sorted(name for name in made.keys() | expected.keys() if made.get(name) != expected.get(name))


def two_at_once(task, folder, expected):
    """Both end; one waits or is refused with a sentence; the result is whole."""
    with task.start(folder) as first, task.start(folder) as second:
        ends = [(process.communicate(timeout=300)[0], process.returncode) for process in (first, second)]
    failed = [said for said, code in ends if code]
    if len(failed) == 2 or any("another run is at work" not in said for said in failed):
        return "failed", f"without a reason: {failed}"
    if task.made(folder) != expected:
        return "both", f"two runs made something else: {difference(task.made(folder), expected)}"
    return ("one refused" if failed else "both ended"), rerun(task, folder, expected)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="in all, shared among the tasks")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    rng, tried, wrong = random.Random(options.seed), Counter(), []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pa-lab-faults-") as place:
        place = Path(place)
        (place / "published").mkdir()
        published = make(place / "published")
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PA_LAB")}
        subprocess.run([sys.executable, BUILD, "--root", published], check=True, capture_output=True, env=clean)
        for at, task in enumerate(tasks(f"http://127.0.0.1:{server.server_port}/toy", published)):
            plain = place / f"{task.name}-plain"
            task.prepare(plain)
            began = time.perf_counter()
            code, said = task.run(plain)
            took = time.perf_counter() - began
            if code:
                sys.exit(f"{task.name} does not work even undisturbed: {said}")
            expected = task.made(plain)

            def note(fault, outcome, task=task):
                what, error = outcome
                tried[task.name, fault, what] += 1
                if error:
                    wrong.append(f"{task.name}, {fault}: {error}")

            for number in range(options.kills // 3 + (at < options.kills % 3)):
                folder = place / f"{task.name}-{number}"
                task.prepare(folder)
                note("SIGKILL", kill_at_random(task, folder, expected, took, rng))
                shutil.rmtree(folder)
            folder = place / f"{task.name}-twice"
            task.prepare(folder)
            note("two at once", two_at_once(task, folder, expected))
    server.shutdown()
    for (name, fault, what), count in tried.items():
        print(f"{name:<10} {fault:<24} {what:<50} {count:>3}")
    seconds = time.perf_counter() - start
    print(f"{sum(tried.values())} faults in {seconds:.0f} s, {len(wrong)} of them with a difference")
    for error in wrong:
        print(f"\nWRONG {error}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
