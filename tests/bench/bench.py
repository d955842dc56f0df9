"""Speed, measured side by side: `make bench` runs the `main` of every `bench_*.py` in this folder.

Machines are noisy, so what is compared alternates in one process after a warm-up, and medians and ratios are told.
"""

import importlib
import statistics
import time
from pathlib import Path


def medians(functions, runs=9, clock=time.perf_counter):
    """Median seconds of each named function over alternating runs, after a warm-up of each."""
    for function in functions.values():
        function()
    seconds = {name: [] for name in functions}
    for _ in range(runs):
        for name, function in functions.items():
            start = clock()
            function()
            seconds[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def row(what, value, unit="", wanted=""):
    """Print one line of a bench."""
    print(f"  {what:<72}{value:>10.3g} {unit:<6}{wanted}")


def main():
    """Run all benches."""
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n{path.stem}")
        importlib.import_module(path.stem).main()


if __name__ == "__main__":
    main()
