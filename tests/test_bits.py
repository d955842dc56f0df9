"""The same bytes of results whatever the number of processes and threads."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = """
import sys
import numpy as np
from pa_lab import KernelPAClassifier, PAClassifier, PARegressor
from pa_lab.study import experiments, metrics, store
from pa_lab.study.standin import misfire_stream

X, y = misfire_stream(1500, seed=0)

def run(rule, seed, X, y):
    order = np.random.default_rng(seed).permutation(len(y))
    model = PAClassifier(rule, C=0.1, average=True, query="margin", random_state=seed).fit(X[order], y[order])
    line = PARegressor(rule, C=0.1).fit(X[order], X[order, -1] - y[order])
    record = metrics.measures(y, model.decision_function(X)) | {"queries": model.n_queries_, "w": line.coef_}
    for name, options in (("landmarks", {"landmarks": 30}), ("budget", {"budget": 30}), ("growing", {})):
        kernel = KernelPAClassifier(rule, C=0.1, gamma=0.1, **options).fit(X[order][:400], y[order][:400])
        record[name] = kernel.dual_coef_[0]
    return {key: value.astype(float).view(np.int64).tolist() if isinstance(value, np.ndarray) else
            np.float64(value).view(np.int64).item() for key, value in record.items()}

settings = experiments.grid(rule=["PA", "PA-I", "PA-II", "PALS"], seed=range(2))
frame = experiments.sweep(run, settings, n_jobs=int(sys.argv[1]), X=X, y=y)
store.save_results("bits", {"runs": frame}, seeds=[0, 1])
print(store.output_dir() / "report/results/bits.json")
"""  # every float as its 64 bits, since saving rounds


def saved(folder, processes, threads):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    setting = dict.fromkeys(names, str(threads)) | {"PA_LAB_OUTPUT": str(folder), "PA_LAB_PROGRESS": "0"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", STUDY, str(processes)],
        capture_output=True, text=True, env=os.environ | setting, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0 and not run.stderr, run.stderr
    return Path(run.stdout.strip()).read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("one"), processes=1, threads=1)


@pytest.mark.parametrize(("processes", "threads"), [(1, 2), (2, 1)])
def test_results_are_the_same_bytes(expected, tmp_path, processes, threads):
    assert saved(tmp_path, processes, threads) == expected
    assert expected.count(b'"auc"') == 8


# ---------------------------------------------------------------- other processors

KERNELS = """
import hashlib
import sys
import numpy as np
from pa_lab import KernelPAClassifier, KernelPARegressor

n_jobs = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 9))
y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=700) > 0).astype(int)
shared = {"gamma": 0.1, "coef0": 0.5, "max_iter": 2, "n_jobs": n_jobs}
models = {kernel: KernelPAClassifier(kernel=kernel, **shared)
          for kernel in ("linear", "poly", "sigmoid", "rbf", "laplacian")}
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
    """Compiled for the oldest 64-bit processors, for AVX2 and for this one, with one thread and with two."""
    expected = digests(1, "Haswell")
    assert expected.count("\n") == 24
    assert digests(2, "SkylakeX") == expected
    assert digests(1, "Zen", "haswell", tmp_path / "haswell") == expected
    assert digests(2, "Prescott", "x86-64", tmp_path / "old") == expected
