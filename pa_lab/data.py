"""The front desk: rows, labels, classes and weights as the learners want them, or a sentence on what is wrong."""

import numbers
import re
from difflib import get_close_matches

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from pa_lab.rules import allows_slack

PLAIN = {bool, int, float, str, np.bool_, np.int64, np.float64, np.str_}  # a list with one of these is a label

# ---------------------------------------------------------------- rows


def read_rows(learner, X, reset, finite=True):
    """Return rows, C-contiguous or CSR with sorted indices and no duplicates.

    With ``reset`` they are the first that the learner sees. Without ``finite`` a pass looks for NaN and infinity.
    """
    if type(X) is list and len(X) == 1 and type(X[0]) is list and {float, int}.issuperset(map(type, X[0])):
        X = np.array(X, dtype=np.float64)  # a row of numbers, which is checked faster
    if not reset and needs_no_check(learner, X, finite):
        return X
    refuse_unreadable(X)
    try:
        X = validate_data(learner, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
                          ensure_all_finite=finite)  # fmt: skip
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(f"X holds text ({error}): turn it into numbers, for example with TfidfVectorizer. For a "
                         "kernel of texts pass their numbers, np.arange(len(texts))[:, None], and let the kernel look "
                         "them up.") from error  # fmt: skip
    if hasattr(X, "indptr") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


@np.errstate(over="ignore", invalid="ignore")
def needs_no_check(learner, X, finite):
    """Say whether X is a plain array of the form already seen, for which scikit-learn's checks would cost the most.

    Its sum is finite only if all its numbers are.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == learner.n_features_in_
        and X.flags.c_contiguous
        and not hasattr(learner, "feature_names_in_")
        and not (finite and not np.isfinite(X.sum()))
    )


def refuse_unreadable(X):
    """Raise if X is what scikit-learn would take for rows of numbers: dates, Dask's arrays, damaged sparse matrices."""
    dtypes = str(np.asarray(getattr(X, "dtypes", getattr(X, "dtype", None)), dtype=object).tolist())
    if re.search("[mM]8|[dD]ate|[dD]uration|timedelta", dtypes):
        raise ValueError(f"X holds dates or durations ({dtypes}): turn them into numbers, such as days since the first "
                         "one.")  # fmt: skip
    if hasattr(X, "__dask_graph__"):
        raise TypeError("X is a Dask collection, which would be loaded whole: wrap the model in "
                        "dask_ml.wrappers.Incremental or ParallelPostFit, or hand over the blocks one by one "
                        "(X.compute() loads it all).")  # fmt: skip
    if getattr(X, "format", "") in ("csr", "csc") and not is_whole(X):
        raise ValueError("X is a damaged sparse matrix: compiled code would read beside its rows, columns or entries.")


def is_whole(X):
    """Say whether a CSR or CSC matrix points at columns or rows that it has; SciPy's own check takes far longer."""
    starts, used = X.indptr, X.indices[: X.indptr[-1]]
    n, width = X.shape if X.format == "csr" else X.shape[::-1]
    rises = len(starts) == n + 1 and starts[0] == 0 and (starts[1:] >= starts[:-1]).all()
    exist = len(used) == 0 or 0 <= used.min() <= used.max() < width
    return rises and starts[-1] <= min(len(X.indices), len(X.data)) and exist


# ---------------------------------------------------------------- labels and targets


def read_targets(X, y):
    """Return labels or targets as an array, one for each row of X."""
    if type(y) is list and len(y) == 1 and type(y[0]) in PLAIN:
        y = np.array(y)
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iufbcU"):
        y = column_or_1d(y, warn=True)
        if y.dtype == object and {int, float, bool}.issuperset(map(type, y.tolist())):
            y = np.array(y.tolist())
    if X.shape[0] != len(y):
        check_consistent_length(X, y)
    return y


def are_empty(X, y):
    """Say whether there are neither rows nor labels."""
    return y is not None and len(y) == 0 == np.shape(X)[0]


def as_numbers(values, name):
    """Return values as an array of doubles, or raise if they are something else: text, dates, complex numbers."""
    values = np.asarray(values)
    if values.dtype.kind in "UScmM":
        raise ValueError(f"{name} must hold numbers; got {values.ravel()[:1].tolist()[0]!r}.")
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error


def finite_numbers(values, shape, name):
    """Return values as an array of doubles of a shape, all finite, or raise."""
    values = as_numbers(values, name)
    if values.shape != shape or not np.isfinite(values).all():
        raise ValueError(f"{name} must hold finite numbers and have the shape {shape}; got {values.shape}.")
    return values


def check_classes(*parts):
    """Return the ``classes`` of calls of `partial_fit`, sorted, with those of earlier calls first."""
    try:
        parts = [np.unique(part) for part in parts]
        if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
            raise TypeError("text and numbers cannot be sorted together")
        classes = np.unique(np.concatenate(parts))
    except TypeError as error:
        raise ValueError(f"classes must be labels of one kind, text or numbers; got {parts!r}: {error}.") from error
    assert_all_finite(classes, input_name="classes")
    return classes


def find_classes(y):
    """Return the labels, sorted. Two whole numbers, the usual case, are found without sorting."""
    if y.dtype.kind in "iubf":
        classes = np.array([y.min(), y.max()])
        whole = (np.isfinite(classes) & (classes == np.floor(classes))).all()
        if whole and ((y == classes[0]) | (y == classes[1])).all():
            return np.unique(classes)
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.unique(y)


def encode(y, classes):
    """Return labels as the passes want them: -1.0 and 1.0 for two classes, else class indices."""
    if len(classes) == 2:
        high = y == classes[1]
        known = high | (y == classes[0])
        codes = np.where(high, 1.0, -1.0)
    else:
        try:
            index = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        except TypeError as error:
            raise ValueError(
                f"y must hold labels of the same kind as the classes {classes.tolist()}: {error}."
            ) from error
        known = classes[index] == y
        codes = index.astype(np.float64)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(f"y holds the label {y[row : row + 1].tolist()[0]!r} in row {row} (from 0), which is not "
                         f"among the classes {classes.tolist()}: mend it, or add it with partial_fit(..., "
                         "classes=[...]).")  # fmt: skip
    return codes


# ---------------------------------------------------------------- weights


def check_weights(sample_weight, n, variant):
    """Return sample weights as an array of a factor for each of ``n`` rows, ones if None."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight)
    weights = finite_numbers(sample_weight, (n,), "sample_weight")
    if (weights < 0.0).any():
        raise ValueError(f"sample_weight must hold finite numbers >= 0; got {weights.min():g}.")
    if not allows_slack(variant) and (weights != 1.0).any():
        raise ValueError("sample_weight is a factor on C, which variant='PA' does not have: choose 'PA-I' or 'PA-II'.")
    return weights


def price_rows(learner, codes, sample_weight):
    """Return ``C`` times the class weight times the sample weight, for each row."""
    C = np.full(len(learner.classes_), float(learner.C))
    index = np.maximum(codes, 0.0).astype(np.intp)
    if learner.class_weight is not None:
        counts = np.bincount(index, minlength=len(C))  # so that the labels need not be sorted again
        found = counts > 0
        factors = compute_class_weight(learner.class_weight, classes=learner.classes_, y=learner.classes_[found],
                                       sample_weight=counts[found])  # fmt: skip
        if not (factors >= 0.0).all() or not 0.0 < factors.sum() < np.inf:
            raise ValueError("class_weight must hold finite numbers >= 0, one above 0 at least; got "
                             f"{learner.class_weight!r}.")  # fmt: skip
        C *= factors
    return C[index] * check_weights(sample_weight, len(index), learner.variant)


def read_goals(cost, classes):
    """Return the margin to ask of each class against each other: the root of the cost of taking it for the other."""
    names, size = classes.tolist(), len(classes)
    if isinstance(cost, dict):
        if unknown := cost.keys() - set(names):
            raise ValueError(f"cost names {sorted(map(repr, unknown))}, not among the classes {names}: name them in "
                             "classes too, or leave them out.")  # fmt: skip
        cost = np.repeat([[cost.get(name, 1.0)] for name in names], size, axis=1)
    cost = as_numbers(cost, "cost")
    if cost.shape != (size, size):
        raise ValueError(f"cost must be a dictionary with a number for a class, or a matrix of shape {(size, size)}, "
                         f"rows for the right class and columns for the predicted one, in the order {names}; got "
                         f"shape {cost.shape}. Where a class is added, call set_params(cost=...) before.")  # fmt: skip
    goals = np.where(np.eye(size), 1.0, cost)
    if not (np.isfinite(goals) & (goals > 0.0)).all():
        raise ValueError(f"cost must hold finite numbers above 0; got {goals.min():g} to {goals.max():g}.")
    return np.sqrt(goals)


# ---------------------------------------------------------------- parameters


def did_you_mean(learner):
    """Return a hint at the option that a mistyped one was meant to be, empty if none is like it.

    >>> from pa_lab import PAClassifier
    >>> did_you_mean(PAClassifier("pa1"))
    " Did you mean variant='PA-I'?"
    """
    for name, constraints in learner._parameter_constraints.items():
        options = [option for allowed in constraints for option in getattr(allowed, "options", ())]
        given, plain = getattr(learner, name), {_plain(option): option for option in options if isinstance(option, str)}
        if isinstance(given, str) and given not in options:
            for near in get_close_matches(_plain(given), plain, n=1):
                return f" Did you mean {name}={plain[near]!r}?"
    return ""


def _plain(option):
    return re.sub("[^a-z]", "", option.lower().replace("2", "ii").replace("1", "i"))
