"""Slow fits of support vector machines, kept between runs as plain arrays in the cache folder.

A fit is found again by the content of the model's parameters, the rows and the labels. What is kept are arrays. Nothing
in the folder is executed when it is read: who can write there can change numbers, and cannot run code.
"""

import functools
import json
import time
import warnings
from typing import Self

import joblib
import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from pa_lab.study import store
from pa_lab.study.datasets import cache_folder

Matrix = np.ndarray | sp.spmatrix | sp.sparray
KERNEL_MEMORY = 500  # MB that LIBSVM may fill with kernel values: it changes the time of a fit, and nothing else
BLOCK = 500  # rows whose kernel values are computed at a time
LARGEST = 2**30  # bytes that a kept fit may unpack to


class StoredSVM(ClassifierMixin, BaseEstimator):
    """A fitted support vector machine for two classes, as arrays under the names that scikit-learn gives them.

    It is a classifier of scikit-learn that is fitted for good: `fit` and `clone` return it as it is. Every machine
    has `classes_`, `intercept_`, `n_iter_` and `C`. A linear one has `coef_`. One that LIBSVM fitted has `support_`,
    `n_support_` and `dual_coef_`, and with the RBF kernel also `support_vectors_` and `gamma`. All arrays are dense
    and read-only.

    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    >>> machine = StoredSVM(arrays_of(SVC(kernel="linear").fit(X, y)))
    >>> machine.decision_function(X).round(3).tolist(), machine.predict(X).tolist()
    ([-1.0, 1.0], [-1, 1])
    """

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        for name, array in arrays.items():
            array.setflags(write=False)
            setattr(self, name, array if array.ndim else array.item())

    def __sklearn_clone__(self):
        return self

    def fit(self, X: Matrix, y: np.ndarray) -> Self:
        """Return the machine as it is."""
        return self

    def decision_function(self, X: Matrix) -> np.ndarray:
        """Return the decision values of rows, as an array of shape (n,).

        They come from the weights or, with the RBF kernel, from products of blocks of kernel values. LIBSVM's own
        ``decision_function`` goes pair by pair, which takes much longer: to measure its time, fit an `SVC`.
        """
        if hasattr(self, "coef_"):
            return X @ self.coef_.ravel() + self.intercept_
        blocks = np.array_split(X, len(X) // BLOCK + 1)
        products = [rbf_kernel(block, self.support_vectors_, self.gamma) @ self.dual_coef_[0] for block in blocks]
        return np.concatenate(products) + self.intercept_

    def predict(self, X: Matrix) -> np.ndarray:
        """Return the classes of rows, as an array of shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def cached_fit(model: SVC | LinearSVC, X: Matrix, y: np.ndarray) -> tuple[StoredSVM, float]:
    """Return a fit of a model and the seconds it took; one that the cache folder holds is not repeated.

    LIBSVM gets dense rows as `dyadic` rounds them, so that it fits the same model on every processor. Otherwise BLAS,
    which rounds inner products differently from processor to processor, would change the third digit of a score.

    Parameters
    ----------
    model : SVC or LinearSVC
        With a linear kernel, or with the RBF kernel and dense rows. It is not changed.
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels of two classes.

    Raises
    ------
    TypeError, ValueError
        For a model or rows of which the arrays above do not tell everything.

    Warns
    -----
    UserWarning
        Once per process, when the cache folder cannot be read or written. The fit is then repeated in every run.

    Examples
    --------
    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    >>> cached_fit(SVC(kernel="linear"), X, y)[0].coef_.round(3).tolist()  # doctest: +SKIP
    [[1.0]]
    """
    X, y = (a if sp.issparse(a) else np.asarray(a) for a in (X, y))  # the same for an array and a memory map of it
    model, X = _prepared(model, X, y)
    path = _file(model, X, y)
    arrays = _read(path, _names(model) | {"seconds"})
    if arrays is None:
        start = time.perf_counter()
        machine = model.fit(X, y)
        arrays = arrays_of(machine) | {"seconds": np.array(time.perf_counter() - start)}
        try:
            with store.replacing(path) as out:
                np.savez(out, **arrays)
        except OSError as error:
            _warn_once(str(path.parent), error.strerror)
    seconds = arrays.pop("seconds").item()
    return StoredSVM(arrays), seconds


def _prepared(model, X, y):
    """Return a copy of the model and the rows as they are fitted, or raise where a `StoredSVM` would not do."""
    if not isinstance(model, SVC | LinearSVC):
        raise TypeError(f"model must be an SVC or a LinearSVC, whose arrays are known; got {model!r}.")
    if y.dtype.kind == "O":
        raise TypeError(f"y must hold numbers or text, in an array of their type; got {y!r}.")
    if len(np.unique(y)) != 2:
        raise ValueError(f"y must hold two classes; got {np.unique(y)}.")
    if isinstance(model, LinearSVC):
        return clone(model), X
    if model.kernel not in ("linear", "rbf") or model.probability is True:
        raise ValueError(f"model must have the kernel 'linear' or 'rbf' and no probabilities; got {model!r}.")
    if model.kernel == "rbf" and sp.issparse(X):
        raise ValueError("X must be dense for the RBF kernel: use X.toarray().")
    X = X if sp.issparse(X) else dyadic(X)
    model = clone(model).set_params(cache_size=KERNEL_MEMORY)
    if model.kernel == "rbf" and isinstance(model.gamma, str):  # as scikit-learn works it out
        model.set_params(gamma=1.0 / (X.shape[1] * ((X.var() or 1.0) if model.gamma == "scale" else 1.0)))
    return model, X


def _names(model):
    """Return the names of the attributes that are kept of a machine."""
    names = {"classes_", "intercept_", "n_iter_", "C"}
    if isinstance(model, LinearSVC):
        return names | {"coef_"}
    of_kernel = {"coef_"} if model.kernel == "linear" else {"support_vectors_", "gamma"}
    return names | {"support_", "n_support_", "dual_coef_"} | of_kernel


def arrays_of(machine: SVC | LinearSVC) -> dict[str, np.ndarray]:
    """Return what a `StoredSVM` needs of a fitted machine."""
    values = {name: getattr(machine, name) for name in _names(machine)}
    return {name: np.array(value.toarray() if sp.issparse(value) else value) for name, value in values.items()}


def _file(model, X, y):
    """Return the path of a fit. Its name is a checksum of parameters, rows, labels and the version of scikit-learn."""
    settings = {"model": type(model).__name__, "scikit-learn": sklearn.__version__} | model.get_params()
    rows = X if sp.issparse(X) else np.ascontiguousarray(X)
    text = json.dumps(settings, sort_keys=True, default=str)
    return cache_folder() / "fits" / f"{joblib.hash((text, rows, np.ascontiguousarray(y)), coerce_mmap=True)}.npz"


def _read(path, names):
    """Return the arrays of a kept fit by their names, or None if there is none or if it is damaged."""
    try:
        with open(path, "rb") as stored, np.load(stored, allow_pickle=False) as saved:
            if sum(part.file_size for part in saved.zip.infolist()) > LARGEST:
                return None
            return {name: saved[name] for name in names}
    except PermissionError as error:
        _warn_once(str(path.parent), error.strerror)
    except Exception:  # there is none, or whatever is wrong with it, it can be made again
        return None
    return None


@functools.cache
def _warn_once(folder, reason):
    message = f"cannot keep fits in {folder} ({reason}), so they are repeated in every run: set PA_LAB_CACHE to a "
    warnings.warn(message + "folder you can write in", stacklevel=4)


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
