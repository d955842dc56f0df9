"""How long the first fit of a new installation takes, compiling included, over the import of scikit-learn."""

import os
import subprocess
import sys
import tempfile

from bench import row

MODELS = (
    "PAClassifier()",
    "PAClassifier(batch_size=8)",
    "PAClassifier('PALS', batch_size=8)",
    "PARegressor(batch_size=8)",
    "KernelPAClassifier()",
    "KernelPAClassifier(budget=50)",
    "KernelPAClassifier(landmarks=50)",
    "KernelPAClassifier(batch_size=8)",
)
ROWS = "X = np.random.default_rng(0).normal(size=(300, 5)); y = np.where(X[:, 0] > 0, 1, -1)"
BEFORE = f"import numpy as np, pa_lab; {ROWS}"
TIMED = "{before}\nimport time\nstart = time.process_time()\n{code}\nprint(time.process_time() - start)"


def seconds(code, before="", byte_code=None):
    """Processor seconds of some code in a new process without compiled functions; ``byte_code`` is a folder for it."""
    with tempfile.TemporaryDirectory() as empty:
        env = os.environ | {"NUMBA_CACHE_DIR": empty} | ({"PYTHONPYCACHEPREFIX": byte_code} if byte_code else {})
        command = [sys.executable, "-c", TIMED.format(before=before, code=code)]
        return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def main():
    """Print the ratios, with Python's byte code there and with it to be made anew."""
    for state in ("byte code there", "no byte code"):
        for what in ("import sklearn.linear_model, sklearn.svm", *MODELS):
            with tempfile.TemporaryDirectory() as empty:
                folder = empty if state == "no byte code" else None
                if what not in MODELS:
                    unit = min(seconds(what, byte_code=folder) for _ in range(1 if folder else 3))
                    row(f"{what}, {state}", unit, "s")
                else:
                    taken = seconds(f"pa_lab.{what}.fit(X, y)", BEFORE, folder) / unit
                    row(f"first fit of {what}, {state}", taken, "times", "wanted: below 3")


if __name__ == "__main__":
    main()
