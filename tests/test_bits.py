"""The same bits of kernel models on every processor, with any number of threads."""

import os
import platform
import subprocess
import sys

import pytest

from pa_lab.kernels import KINDS

KERNELS = """
import hashlib
import sys
import numpy as np
from pa_lab import KernelPAClassifier, KernelPARegressor
from pa_lab.kernels import KINDS

n_jobs = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 9))
y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=700) > 0).astype(int)
shared = {"gamma": 0.1, "coef0": 0.5, "max_iter": 2, "n_jobs": n_jobs}
models = {kernel: KernelPAClassifier(kernel=kernel, **shared)
          for kernel in KINDS}
models["averaged"] = KernelPAClassifier(average=True, shuffle=True, random_state=0, **shared)
models["regression"] = KernelPARegressor(variant="PA-II", **shared)
for policy in ("removal", "nearest", "projection"):
    models[policy] = KernelPAClassifier(budget=60, budget_policy=policy, **shared)
for norm in ("kernel", "euclidean"):
    models["landmarks " + norm] = KernelPAClassifier(landmarks=150, landmark_norm=norm, **shared)
for name, model in models.items():
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        model.fit(rows, y)
        scores = model.predict(rows) if name == "regression" else model.decision_function(rows)
        digest = hashlib.sha256(model.dual_coef_.tobytes() + scores.tobytes()).hexdigest()
        print(name, dtype.__name__, len(model.support_), digest)
"""


def digests(n_jobs, blas, cpu=None, folder=None):
    """What the models come to, compiled for this processor or, in a folder apart, for another one."""
    setting = {"OPENBLAS_CORETYPE": blas, "OPENBLAS_NUM_THREADS": str(n_jobs)}
    if cpu:
        setting |= {"NUMBA_CACHE_DIR": str(folder), "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    run = subprocess.run([sys.executable, "-W", "error", "-c", KERNELS, str(n_jobs)], capture_output=True, text=True,
                         env=os.environ | setting, timeout=600, check=False)  # fmt: skip
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="these are names of x86 processors")
def test_kernel_models_are_the_same_bits_on_every_processor(tmp_path):
    """Compiled for the oldest 64-bit processors and for this one, with one thread and with two."""
    expected = digests(1, "Haswell")
    assert expected.count("\n") == 2 * (len(KINDS) + 7)
    assert digests(2, "SkylakeX") == expected
    assert digests(2, "Prescott", "x86-64", tmp_path) == expected
