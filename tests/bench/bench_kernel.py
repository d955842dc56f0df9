"""Kernel PA on ijcnn1 against LIBSVM's RBF machine: one pass over all training rows, all test rows predicted.

Beside each time stands what the processor's rate of plain multiplications and additions would allow: kernel values
times the arithmetic behind each, over the rate measured in the same run.
"""

import tracemalloc

import numpy as np
from numba import njit
from sklearn.svm import SVC

from bench import medians, row
from pa_lab import KernelPAClassifier, datasets
from pa_lab.kernels import BLOCK, TILE, fma, pad

DISTANCE, EXP, SUM = 3, 31, 2  # multiplications and additions per feature, in exp, and in the weighted sum
REPEATS, CHAIN = 20_000, 8


@njit(error_model="numpy")
def multiply_add(x, repeats):
    """Keep the arithmetic units busy with values that stay in the first cache."""
    half, one = x.dtype.type(0.5), x.dtype.type(1.0)
    for _ in range(repeats):
        for j in range(x.shape[0]):
            a = fma(x[j], half, one)
            a = fma(fma(fma(a, half, one), half, one), half, one)
            x[j] = fma(fma(fma(fma(a, half, one), half, one), half, one), half, one)


def values_of_a_fit(support, n_rows):
    """How many kernel values one pass computes: each block with the vectors before it, and with itself."""
    starts = np.arange(0, n_rows, BLOCK)
    held = np.searchsorted(support, starts)
    sizes = np.minimum(BLOCK, n_rows - starts)
    return int((sizes * (TILE * -(-held // TILE) + TILE)).sum())


def work_with_landmarks(model, X):
    """Multiplications and additions: the kernel values, two triangular products an update, the factor's inverse."""
    m, per_value = len(model.support_), DISTANCE * pad(X.shape[1]) + EXP + SUM
    return len(X) * m * per_value + 2 * model.n_updates_ * m**2 + m**3 / 3


def peak_memory(model, X, y):
    """Most memory in use during a fit, over that of data, vectors and coefficients."""
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    data = X.nbytes + y.nbytes
    return (data + peak) / (data + model.support_vectors_.nbytes + model.dual_coef_.nbytes)


def main():
    """Print the ratios."""
    data = datasets.load("ijcnn1")
    order = np.random.default_rng(0).permutation(len(data.X_train))
    X, y, Z = data.X_train[order], data.y_train[order], data.X_test
    single = X.astype(np.float32)
    exact, two, svm = KernelPAClassifier(gamma=8.0), KernelPAClassifier(gamma=8.0, n_jobs=2), SVC(C=32, gamma=2)
    landmarks = KernelPAClassifier(gamma=2.0, landmarks=1000)
    busy = np.zeros(512), np.zeros(1024, np.float32)
    t = medians(
        {
            "double": lambda: exact.fit(X, y),
            "double, 2 threads": lambda: two.fit(X, y),
            "single": lambda: exact.fit(single, y),
            "landmarks": lambda: landmarks.fit(X, y),
            "svm": lambda: svm.fit(X, y),
            "busy double": lambda: multiply_add(busy[0], REPEATS),
            "busy single": lambda: multiply_add(busy[1], REPEATS),
        },
        runs=5,
    )
    exact.fit(X, y)
    p = medians(
        {
            "exact": lambda: exact.decision_function(Z),
            "svm": lambda: svm.decision_function(Z),
        },
        runs=3,
    )
    n, m = len(exact.support_), len(svm.support_)
    per_value = DISTANCE * pad(X.shape[1]) + EXP + SUM
    fit = values_of_a_fit(exact.support_, len(X)) * per_value
    rate = {kind: 2 * CHAIN * REPEATS * len(x) / t[f"busy {kind}"]
            for kind, x in zip(("double", "single"), busy, strict=True)}  # fmt: skip
    row("SVC.fit, RBF, gamma 2, C 32, 49,990 rows", t["svm"], "s", f"{m:,} vectors")
    row("KernelPAClassifier.fit, RBF, gamma 8, C 1", t["double"], "s", f"{n:,} vectors")
    row("   what multiplying and adding alone would take", fit / rate["double"], "s")
    row("   times as fast as SVC", t["svm"] / t["double"], "times", "wanted: over 10")
    row("   with two threads", t["svm"] / t["double, 2 threads"], "times", "wanted: over 15")
    row("   in single precision", t["svm"] / t["single"], "times", "wanted: over 20")
    row("   in single precision, what multiplying and adding alone would take", fit / rate["single"], "s")
    row("91,701 rows predicted, per vector: times as fast as SVC", p["svm"] / m / (p["exact"] / n), "times",
        "wanted: over 10")  # fmt: skip
    row("   per kernel value", p["exact"] / n / len(Z) * 1e9, "ns")
    row("   what multiplying and adding alone would take", per_value / rate["double"] * 1e9, "ns")
    row("1,000 landmarks over the exact model, to fit", t["landmarks"] / t["double"], "times", "wanted: below 1")
    row("   what multiplying and adding alone would take", work_with_landmarks(landmarks, X) / rate["double"], "s")
    row("peak memory of the fit over data, vectors and coefficients", peak_memory(exact, X, y), "times",
        "wanted: below 1.3")  # fmt: skip


if __name__ == "__main__":
    main()
