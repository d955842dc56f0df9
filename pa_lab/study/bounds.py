"""The loss and mistake bounds of the passive-aggressive family, after each example of a stream.

A bound compares a run that started from zero weights with one fixed vector ``u``. It holds for every ``u`` and after
every example. The constant feature behind an intercept is part of ``x`` and of ``R``.

The function of a theorem takes ``u``, a `Comparison` from `compare`, and what the theorem needs of the run: ``C``, a
float > 0, and ``rho``, which the learner calls ``delta``, a float >= 1. It returns an array of shape (n,). `along`
chooses the theorem of a run, and raises a ValueError with the reason where there is none.

Glossary: ``u`` comparison vector, ``losses`` its hinge losses on the stream (loss* in the papers), ``R`` the largest
norm seen so far, ``C`` aggressiveness, ``rho`` the papers' name for ``delta`` in active learning.

Sources: Crammer et al. (2006), Theorems 2 to 5; Lu, Zhao and Hoi (2014), Theorems 1 to 3.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_X_y
from sklearn.utils.extmath import row_norms

from pa_lab.linear import PAClassifier
from pa_lab.study.experiments import Matrix, trace

SLACK = 1e-9  # rounding allowed in "loss 0" and "norm 1"


class Comparison(NamedTuple):
    """A comparison vector on a stream: ``||u||^2``, its losses of shape (n,), and the squared norms of the examples."""

    sqnorm_u: float
    losses: np.ndarray
    sqnorms: np.ndarray

    @property
    def R2(self):
        """The largest squared norm seen so far, after each example."""
        return np.maximum.accumulate(self.sqnorms)


def compare(u: np.ndarray, X: Matrix, y: np.ndarray, fit_intercept: bool = True) -> Comparison:
    """Return the losses of a comparison vector on a stream, with the norms of the examples.

    Parameters
    ----------
    u : array of shape (n_features,) or, with an intercept, (n_features + 1,)
        Comparison vector. Its last entry is then the intercept.
    X : array or sparse matrix of shape (n, n_features)
        The stream, in order.
    y : array of shape (n,)
        Labels in {-1, +1}.
    fit_intercept : bool, default=True
        Whether the run had an intercept.

    Raises
    ------
    ValueError
        If ``y`` is not -1 and +1, ``u`` does not fit or is not finite, or squares of ``X`` overflow.

    Examples
    --------
    >>> compare([1.0], np.array([[2.0], [-0.5]]), [1, -1], fit_intercept=False).losses.tolist()
    [0.0, 0.5]
    """
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    u = np.asarray(u, dtype=float).ravel()
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("y must hold -1 and +1 only: the bounds are for two classes.")
    if len(u) != X.shape[1] + fit_intercept or not np.isfinite(u).all():
        raise ValueError(f"u must hold {X.shape[1] + fit_intercept} finite numbers (fit_intercept={fit_intercept}); "
                         f"got {u!r}.")  # fmt: skip
    p = X @ u[: X.shape[1]] + (u[-1] if fit_intercept else 0.0)
    squares = row_norms(X, squared=True)
    if not np.isfinite(squares).all():
        raise ValueError("X holds values so large that their squares overflow: scale the features.")
    return Comparison(float(u @ u), np.maximum(0.0, 1.0 - y * p), squares + float(fit_intercept))


def theorem_2(u: Comparison) -> np.ndarray:
    """Bound PA where ``u`` has no loss: ``sum loss^2 <= ||u||^2 R^2`` (Crammer et al., Theorem 2).

    >>> theorem_2(Comparison(4.0, np.zeros(2), np.array([1.0, 2.0]))).tolist()
    [4.0, 8.0]
    """
    _refuse_unless_separable(u, "Theorem 2 of Crammer et al.")
    return u.sqnorm_u * u.R2


def theorem_3(u: Comparison) -> np.ndarray:
    """Bound PA where ``||x|| = 1``: ``sum loss^2 <= (||u|| + 2 sqrt(sum loss*^2))^2`` (Crammer et al., Theorem 3).

    >>> theorem_3(Comparison(4.0, np.array([0.0, 1.5]), np.ones(2))).tolist()
    [4.0, 25.0]
    """
    return (np.sqrt(u.sqnorm_u) + 2.0 * np.sqrt(np.cumsum(u.losses**2))) ** 2


def theorem_4(u: Comparison, C: float) -> np.ndarray:
    """Bound PA-I: mistakes ``<= max(R^2, 1/C) (||u||^2 + 2 C sum loss*)`` (Crammer et al., Theorem 4).

    >>> theorem_4(Comparison(4.0, np.array([0.0, 1.0]), np.ones(2)), C=0.5).tolist()
    [8.0, 10.0]
    """
    return np.maximum(u.R2, 1.0 / C) * (u.sqnorm_u + 2.0 * C * np.cumsum(u.losses))


def theorem_5(u: Comparison, C: float) -> np.ndarray:
    """Bound PA-II: ``sum loss^2 <= (R^2 + 1/(2C)) (||u||^2 + 2 C sum loss*^2)`` (Crammer et al., Theorem 5).

    >>> theorem_5(Comparison(4.0, np.array([0.0, 2.0]), np.ones(2)), C=0.5).tolist()
    [8.0, 16.0]
    """
    return (u.R2 + 0.5 / C) * (u.sqnorm_u + 2.0 * C * np.cumsum(u.losses**2))


def active_theorem_1(u: Comparison, rho: float) -> np.ndarray:
    """Bound active PA where ``u`` has no loss: expected mistakes ``<= R^2/4 (rho + 1/rho + 2) ||u||^2``.

    Lu et al., Theorem 1. Mistakes count whether the label was asked for or not.

    >>> active_theorem_1(Comparison(4.0, np.zeros(1), np.ones(1)), rho=1.0).tolist()
    [4.0]
    """
    _refuse_unless_separable(u, "Theorem 1 of Lu, Zhao and Hoi")
    return u.R2 / 4.0 * (rho + 1.0 / rho + 2.0) * u.sqnorm_u


def active_theorem_2(u: Comparison, C: float, rho: float) -> np.ndarray:
    """Bound active PA-I: expected mistakes ``<= max(1/C, R^2)/rho [((rho+1)/2)^2 ||u||^2 + (rho+1) C sum loss*]``.

    Lu et al., Theorem 2.

    >>> active_theorem_2(Comparison(4.0, np.array([1.0]), np.ones(1)), C=0.5, rho=1.0).tolist()
    [10.0]
    """
    inside = ((rho + 1.0) / 2.0) ** 2 * u.sqnorm_u + (rho + 1.0) * C * np.cumsum(u.losses)
    return np.maximum(1.0 / C, u.R2) / rho * inside


def active_theorem_3(u: Comparison, C: float, rho: float) -> np.ndarray:
    """Bound active PA-II: expected mistakes ``<= (R^2 + 1/(2C))/rho ((rho+1)/2)^2 [||u||^2 + 2 C sum loss*^2]``.

    Lu et al., Theorem 3.

    >>> active_theorem_3(Comparison(4.0, np.array([2.0]), np.ones(1)), C=0.5, rho=1.0).tolist()
    [16.0]
    """
    return ((rho + 1.0) / 2.0) ** 2 / rho * theorem_5(u, C)


def tightest(
    variant: str, X: Matrix, y: np.ndarray, C: float = 1.0, fit_intercept: bool = True, rho: float | None = None
) -> np.ndarray:
    """Return a comparison vector that makes the bound of a whole stream about as small as it can be, by LIBLINEAR.

    The brackets of Theorems 4 and 5 are twice the objectives of the hinge and the squared-hinge SVM without a free
    bias, at the same ``C`` (for active Theorem 2 at ``2 C / (rho + 1)``). Any ``u`` gives a valid bound, so stopping
    the optimization early only makes the bound wider. For PA it is the widest margin, scaled to loss 0 if there is one.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}
        The rule of the run.
    X, y, C, fit_intercept
        As for the run; ``y`` in {-1, +1}.
    rho : float or None, default=None
        The ``delta`` of an active run.

    Returns
    -------
    ndarray of shape (n_features,) or (n_features + 1,)

    Examples
    --------
    >>> tightest("PA", np.array([[2.0], [-4.0]]), [1, -1], fit_intercept=False).round(6).tolist()
    [0.5]
    """
    if variant not in ("PA", "PA-I", "PA-II"):
        raise ValueError(f"variant must be 'PA', 'PA-I' or 'PA-II'; got {variant!r}.")
    X, y = check_X_y(X, y, accept_sparse="csr")
    if fit_intercept:
        one = np.ones((X.shape[0], 1))
        X = sparse.hstack([X, one]).tocsr() if sparse.issparse(X) else np.hstack([X, one])
    options = {"fit_intercept": False, "tol": 1e-4, "random_state": 0}
    if variant == "PA":
        svm = LinearSVC(loss="hinge", C=1e4, max_iter=100_000, **options)
    elif variant == "PA-I":
        svm = LinearSVC(loss="hinge", C=2.0 * C / (rho + 1.0) if rho else C, max_iter=200, **options)
    else:
        svm = LinearSVC(loss="squared_hinge", C=C, dual=False, max_iter=200, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        u = svm.fit(X, y).coef_[0]
    margin = (y * (X @ u)).min()
    return u / margin if variant == "PA" and margin > 0.0 else u


def along(model: PAClassifier, X: Matrix, y: np.ndarray, u: np.ndarray) -> pd.DataFrame:
    """Run a model over a stream from zero weights, and return what its theorem bounds beside the bound.

    Parameters
    ----------
    model : PAClassifier
        Its parameters choose the theorem. It is fitted in one pass over the rows as they stand, as by
        `experiments.trace`.
    X : array or sparse matrix of shape (n, n_features)
        The stream, in order.
    y : array of shape (n,)
        Labels in {-1, +1}.
    u : array
        Comparison vector, as for `compare`.

    Returns
    -------
    DataFrame
        Columns ``seen``, ``observed`` (mistakes for PA-I and for every active run, else the sum of squared losses) and
        ``bound``. PA is compared with Theorem 3 if all norms are 1, else with Theorem 2.

    Raises
    ------
    ValueError
        With the reason, where no theorem covers the run.

    Examples
    --------
    >>> from pa_lab import PAClassifier
    >>> X, y = np.array([[2.0], [-4.0]]), np.array([1, -1])
    >>> along(PAClassifier(variant="PA", fit_intercept=False), X, y, [0.5]).values.tolist()
    [[1.0, 1.0, 1.0], [2.0, 1.0, 4.0]]
    """
    if not isinstance(model, PAClassifier):
        raise TypeError(f"model must be a PAClassifier: the bounds are for two classes; got {model!r}.")
    run = model.get_params()
    for fails, reason in (
        (run["variant"] not in ("PA", "PA-I", "PA-II"), f"variant={run['variant']!r} has none"),
        (run["class_weight"] is not None, "class_weight makes C differ between examples"),
        (run["query"] not in ("all", "margin"), f"query={run['query']!r} has none; only query='margin' is covered"),
        (run["batch_size"] > 1, "batch_size lets examples share an update"),
        (run["label_budget"] is not None, "label_budget stops the asking, and with it the learning"),
    ):
        if fails:
            raise ValueError(f"No bound here: {reason}.")
    bound = _bound(run, compare(u, X, y, run["fit_intercept"]))
    steps = trace(model, X, y)
    if run["query"] == "margin" or run["variant"] == "PA-I":
        observed = (steps["score"] > 0.0) != (np.asarray(y) > 0)  # mistakes
    else:
        observed = steps["loss"] ** 2
    return pd.DataFrame({"seen": np.arange(1, len(bound) + 1), "observed": observed.cumsum(), "bound": bound})


def at_end(
    variant: str, X: Matrix, y: np.ndarray, C: float = 1.0, fit_intercept: bool = True, vector_of: str | None = None
) -> dict[str, float]:
    """Return what a run has reached at the end of a stream, and the smallest bound: `along` with `tightest`.

    Parameters
    ----------
    variant, X, y, C, fit_intercept
        As for `tightest`.
    vector_of : str, optional
        The rule whose `tightest` vector to compare with, if not ``variant``.

    Returns
    -------
    dict
        With ``observed``, ``bound`` and ``times``, how many times as large the bound is.

    Raises
    ------
    ValueError
        If the bound does not hold after every single example, which would refute the theorem or the code.

    Examples
    --------
    >>> at_end("PA", np.array([[2.0], [-4.0]]), np.array([1, -1]), fit_intercept=False)["observed"]
    1.0
    """
    u = tightest(vector_of or variant, X, y, C, fit_intercept)
    run = along(PAClassifier(variant, C, fit_intercept=fit_intercept), X, y, u)
    broken = np.flatnonzero(run["observed"] > run["bound"])
    if len(broken):
        raise ValueError(f"the bound of {variant} does not hold after {broken[0] + 1} examples.")
    end = run.iloc[-1]
    return {"observed": float(end.observed), "bound": float(end.bound), "times": float(end.bound / end.observed)}


def _bound(run, u):
    """Return the bound that covers a run with these parameters."""
    if run["query"] == "margin":
        theorems = {"PA": active_theorem_1, "PA-I": active_theorem_2, "PA-II": active_theorem_3}
        if run["delta"] == "auto" or run["delta"] < 1.0:
            raise ValueError(f"The bounds of Lu, Zhao and Hoi need rho (delta) of at least 1; got {run['delta']!r}.")
        C = () if run["variant"] == "PA" else (run["C"],)
        return theorems[run["variant"]](u, *C, run["delta"])
    if run["variant"] == "PA":
        unit = np.abs(u.sqnorms - 1.0).max(initial=0.0) <= SLACK
        return theorem_3(u) if unit else theorem_2(u)
    return {"PA-I": theorem_4, "PA-II": theorem_5}[run["variant"]](u, run["C"])


def _refuse_unless_separable(u, theorem):
    if (worst := u.losses.max(initial=0.0)) > SLACK:
        raise ValueError(f"{theorem} needs a u without loss on any example; this one suffers up to {worst:.4g} (on "
                         f"{np.count_nonzero(u.losses > SLACK)} of {len(u.losses)} examples).")  # fmt: skip
