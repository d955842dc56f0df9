"""Where there is no numba the package imports and learns as plain Python: one warning, and the same results."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
LEARN = """
import sys, warnings
import numpy as np, scipy.sparse
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
said = [str(warning.message) for warning in said]
X = np.random.default_rng(0).standard_normal((60, 5))
y, t = np.digitize(X[:, 0] * X[:, 1], [-0.4, 0.4]), X[:, 0] + X[:, 1] ** 2
C = {"C": 0.1}
models = [*(PAClassifier(variant, **C) for variant in ("PA", "PA-II", "PALS")), PAClassifier(average=True, max_iter=3),
          PAClassifier(multi_class="ovr", **C), PAClassifier(batch_size=7), PAClassifier("PALS", batch_size=7),
          PAClassifier(query="margin", random_state=0, average=True), PAClassifier(cost={2: 9.0})]
models += [KernelPAClassifier(gamma=0.5, **options) for options in (
    {}, {"landmarks": 9}, {"kernel": "laplacian"}, *({"budget": 9, "budget_policy": policy} for policy in (
        "removal", "nearest", "projection", "oldest", "smallest")))]
results = {}
for rows in (X, scipy.sparse.csr_array(X * (abs(X) > 0.5)), X.astype(np.float32)):
    for model in models:
        results[f"{model} {type(rows)} {rows.dtype}"] = model.fit(rows, y).decision_function(X)
for model in (PARegressor(**C), PARegressor(batch_size=4), KernelPARegressor(gamma=0.5, budget=20)):
    results[f"{model}"] = model.fit(X, t).predict(X)
np.savez(sys.argv[1], said=said, **results)
"""


@pytest.fixture
def blocked(tmp_path):
    """An environment in which numba cannot be imported."""
    (tmp_path / "numba.py").write_text("raise ImportError('there is none')")
    return os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}{os.pathsep}{ROOT / 'tests'}"}


def test_without_numba_the_results_are_the_same(tmp_path, blocked):
    subprocess.run([sys.executable, "-W", "ignore", "-c", LEARN, tmp_path / "plain.npz"], env=blocked, check=True)
    subprocess.run([sys.executable, "-W", "ignore", "-c", LEARN, tmp_path / "compiled.npz"], cwd=ROOT, check=True)
    plain, compiled = (np.load(tmp_path / name) for name in ("plain.npz", "compiled.npz"))
    (said,) = plain["said"]
    assert "numba cannot be imported (there is none)" in said and "times slower" in said and not len(compiled["said"])
    for name in compiled.files[1:]:
        single = 1e-5 if "float32" in name and "Kernel" in name else 1e-12  # which rounds to seven digits anyhow
        np.testing.assert_allclose(plain[name], compiled[name], rtol=single, atol=single, err_msg=name)


def test_the_warning_points_at_the_import(tmp_path, blocked):
    (tmp_path / "mine.py").write_text("import numpy\n\nfrom pa_lab import PAClassifier\n")
    run = subprocess.run(
        [sys.executable, tmp_path / "mine.py"], env=blocked, capture_output=True, text=True, check=True
    )
    assert f"{tmp_path / 'mine.py'}:3: RuntimeWarning: numba cannot" in run.stderr


def test_a_sample_of_the_tests_passes_without_numba(blocked):
    sample = ["test_growing_classes.py", "test_losses.py", "unasked.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default"]
    command += [*(str(ROOT / "tests" / name) for name in sample), str(ROOT / "pa_lab" / "rules.py")]
    run = subprocess.run([*command, "-k", "not kernel"], env=blocked, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert " passed" in run.stdout or "[100%]" in run.stdout
