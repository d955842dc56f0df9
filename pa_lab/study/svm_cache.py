"""Slow fits of LIBSVM, kept between runs as plain arrays in the cache folder.

A fit is found again by the content of the model's parameters, the rows and the labels. What is kept are arrays. Nothing
in the folder is executed when it is read: who can write there can change numbers, and cannot run code.
"""

import json
import time
from typing import Self

import joblib
import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from pa_lab.study import store
from pa_lab.study.datasets import cache_folder, warn_unwritable

KERNEL_MEMORY = 500  # MB that LIBSVM may fill with kernel values: it changes the time of a fit, and nothing else
BLOCK = 500  # rows whose kernel values are computed at a time
KEPT = ["classes_", "intercept_", "n_iter_", "C", "support_", "n_support_", "dual_coef_"]
KEPT_BY_KERNEL = {"linear": [*KEPT, "coef_"], "rbf": [*KEPT, "support_vectors_", "gamma"]}


class StoredSVM(ClassifierMixin, BaseEstimator):
    """A support vector machine for two classes that LIBSVM fitted, with the attributes that scikit-learn gives it.

    They are ``KEPT`` and, with a linear kernel, ``coef_``, or ``support_vectors_`` and ``gamma``.

    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    >>> machine = StoredSVM(arrays_of(SVC(kernel="linear").fit(X, y)))
    >>> machine.decision_function(X).round(3).tolist(), machine.predict(X).tolist()
    ([-1.0, 1.0], [-1, 1])
    """

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        vars(self).update({name: array if array.ndim else array.item() for name, array in arrays.items()})

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Return the machine as it is."""
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the decision values of rows, as an array of shape (n,).

        They come from the weights or, with the RBF kernel, from products of blocks of kernel values. LIBSVM's own
        ``decision_function`` goes pair by pair, which takes much longer: to measure its time, fit an `SVC`.
        """
        if hasattr(self, "coef_"):
            return X @ self.coef_.ravel() + self.intercept_
        blocks = np.array_split(X, len(X) // BLOCK + 1)
        products = [rbf_kernel(block, self.support_vectors_, self.gamma) @ self.dual_coef_[0] for block in blocks]
        return np.concatenate(products) + self.intercept_

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes of rows, as an array of shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def cached_fit(model: SVC, X: np.ndarray, y: np.ndarray) -> tuple[StoredSVM, float]:
    """Return a fit of a model and the seconds it took; one that the cache folder holds is not repeated.

    LIBSVM gets rows as `dyadic` rounds them, so that it fits the same model on every processor. Otherwise BLAS, which
    rounds inner products differently from processor to processor, would change the third digit of a score.

    Parameters
    ----------
    model : SVC
        With a linear kernel, or with the RBF kernel and a number for gamma. It is not changed.
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels of two classes, numbers or text.

    Raises
    ------
    ValueError
        For a model or rows of which the arrays above do not tell everything.

    Warns
    -----
    UserWarning
        Once per process, when the cache folder cannot be written. The fit is then repeated in every run.

    Examples
    --------
    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    >>> cached_fit(SVC(kernel="linear"), X, y)[0].coef_.round(3).tolist()  # doctest: +SKIP
    [[1.0]]
    """
    X, y = np.asarray(X), np.asarray(y)
    two_classes = X.ndim == 2 and y.dtype.kind != "O" and len(np.unique(y)) == 2
    known = isinstance(model, SVC) and model.kernel in KEPT_BY_KERNEL and model.probability is not True
    if not (two_classes and known) or (model.kernel == "rbf" and isinstance(model.gamma, str)):
        raise ValueError("cached_fit needs an SVC without probabilities, linear or RBF with a number for gamma, dense "
                         f"rows and two classes of numbers or text; got {model!r}, X of shape {X.shape} and the "
                         f"labels {y!r:.60}.")  # fmt: skip
    model, X = clone(model).set_params(cache_size=KERNEL_MEMORY), dyadic(X)
    settings = {"model": "SVC", "scikit-learn": sklearn.__version__} | model.get_params()
    text = json.dumps(settings, sort_keys=True, default=str)
    key = joblib.hash((text, np.ascontiguousarray(X), np.ascontiguousarray(y)), coerce_mmap=True)
    path = cache_folder() / "fits" / f"{key}.npz"
    arrays = _read(path, [*KEPT_BY_KERNEL[model.kernel], "seconds"])
    if arrays is None:
        start = time.perf_counter()
        machine = model.fit(X, y)
        arrays = arrays_of(machine) | {"seconds": np.array(time.perf_counter() - start)}
        try:
            with store.replacing(path) as out:
                np.savez(out, **arrays)
        except OSError as error:
            warn_unwritable("fits", str(path.parent), error.strerror)
    seconds = arrays.pop("seconds").item()
    return StoredSVM(arrays), seconds


def arrays_of(machine: SVC) -> dict[str, np.ndarray]:
    """Return what a `StoredSVM` needs of a fitted machine."""
    return {name: np.array(getattr(machine, name)) for name in KEPT_BY_KERNEL[machine.kernel]}


def _read(path, names):
    """Return the arrays of a kept fit by their names, or None if there is none or if it is damaged."""
    try:
        with open(path, "rb") as stored, np.load(stored, allow_pickle=False) as saved:
            return {name: saved[name] for name in names}
    except Exception:  # there is none, or whatever is wrong with it, it can be made again
        return None


def dyadic(X: np.ndarray) -> np.ndarray:
    """Round rows to multiples of a power of two for which every inner product of two rows is exact.

    The product then does not depend on the order of its sum. With ``|x|^2 <= R^2`` the multiples are those of
    ``2^-k``, ``k = floor(26 - log2 R)``: products are whole multiples of ``4^-k``, of sum at most ``R^2 <= 2^52 4^-k``.

    Parameters
    ----------
    X : array of shape (n, d)
        Finite, not all 0.

    Examples
    --------
    >>> dyadic(np.array([[3.0, 4.0 + 1e-9]])).tolist()
    [[3.0, 4.0]]
    """
    unit = 2.0 ** -np.floor(26 - np.log2((X**2).sum(axis=1).max()) / 2)
    return np.round(X / unit) * unit
