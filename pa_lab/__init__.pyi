"""Types of the public names, for type checkers and editors; tests/test_types.py compares them with the code."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Literal, Protocol, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pa_lab.queries import PaidLabels

datasets: ModuleType  # pa_lab.study.datasets
__version__: str

class _Sparse(Protocol):
    def tocsr(self) -> Any: ...

_Rows: TypeAlias = ArrayLike | _Sparse
_Variant: TypeAlias = Literal["PA", "PA-I", "PA-II", "PALS"]
_Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
_Numbers: TypeAlias = NDArray[np.float64]
_Kernel: TypeAlias = Literal["linear", "poly", "rbf", "laplacian", "precomputed"] | Callable[..., ArrayLike]
_Policy: TypeAlias = Literal["removal", "nearest", "projection", "oldest", "smallest"]
_ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
_Cost: TypeAlias = Mapping[Any, float] | ArrayLike | None

class _Learner:
    variant: _Variant
    C: float
    average: bool
    half_life: float | None
    max_iter: int
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    shuffle: bool
    batch_size: int
    warm_start: bool
    random_state: _Seed
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    @property
    def n_seen_(self) -> int: ...
    @property
    def n_updates_(self) -> int: ...
    @property
    def n_capped_(self) -> int: ...
    @property
    def n_mistakes_(self) -> int: ...
    @property
    def n_queries_(self) -> int: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...

class _Classifier(_Learner):
    class_weight: _ClassWeight
    cost: _Cost
    multi_class: Literal["direct", "ovr"]
    query: Literal["all", "margin", "random", "threshold"]
    delta: float | Literal["auto"]
    query_rate: float | None
    label_budget: int | None
    n_rows: int | None
    classes_: NDArray[Any]
    def fit(self, X: _Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def partial_fit(
        self,
        X: _Rows,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        asked: bool | Literal["free"] | ArrayLike = False,
    ) -> Self: ...
    @overload
    def should_query(self, X: _Rows, return_ids: Literal[False] = False) -> NDArray[np.bool_]: ...
    @overload
    def should_query(self, X: _Rows, return_ids: Literal[True]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]: ...
    def cancel_queries(self, ids: ArrayLike | None = None) -> Self: ...
    @property
    def open_queries_(self) -> NDArray[np.int64]: ...
    @property
    def paid_labels_(self) -> PaidLabels: ...
    def decision_function(self, X: _Rows) -> _Numbers: ...
    def predict(self, X: _Rows) -> NDArray[Any]: ...
    def score(self, X: _Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Regressor(_Learner):
    epsilon: float
    def fit(self, X: _Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def partial_fit(self, X: _Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict(self, X: _Rows) -> _Numbers: ...
    def score(self, X: _Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

class _Linear:
    fit_intercept: bool
    intercept_scaling: float
    coef_: _Numbers
    intercept_: _Numbers

class _Expansion:
    kernel: _Kernel
    gamma: float | Literal["scale", "auto"]
    degree: int
    coef0: float
    landmarks: int | ArrayLike | None
    landmark_choice: Literal["start", "kmeans"]
    landmark_norm: Literal["kernel", "euclidean"]
    budget: int | None
    budget_policy: _Policy
    n_jobs: int | None
    @property
    def support_(self) -> NDArray[np.int64]: ...
    @property
    def support_vectors_(self) -> Any: ...
    @property
    def dual_coef_(self) -> _Numbers: ...

class PAClassifier(_Linear, _Classifier):
    def __init__(
        self,
        variant: _Variant = "PA-I",
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        average: bool = False,
        half_life: float | None = None,
        max_iter: int = 1,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = False,
        class_weight: _ClassWeight = None,
        cost: _Cost = None,
        multi_class: Literal["direct", "ovr"] = "direct",
        batch_size: int = 1,
        query: Literal["all", "margin", "random", "threshold"] = "all",
        delta: float | Literal["auto"] = 1.0,
        query_rate: float | None = None,
        label_budget: int | None = None,
        n_rows: int | None = None,
        warm_start: bool = False,
        random_state: _Seed = None,
    ) -> None: ...

class PARegressor(_Linear, _Regressor):
    def __init__(
        self,
        variant: _Variant = "PA-I",
        C: float = 1.0,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        average: bool = False,
        half_life: float | None = None,
        max_iter: int = 1,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = False,
        batch_size: int = 1,
        warm_start: bool = False,
        random_state: _Seed = None,
    ) -> None: ...

class KernelPAClassifier(_Expansion, _Classifier):
    def __init__(
        self,
        variant: _Variant = "PA-I",
        C: float = 1.0,
        kernel: _Kernel = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        landmarks: int | ArrayLike | None = None,
        landmark_choice: Literal["start", "kmeans"] = "start",
        landmark_norm: Literal["kernel", "euclidean"] = "kernel",
        budget: int | None = None,
        budget_policy: _Policy = "projection",
        average: bool = False,
        half_life: float | None = None,
        max_iter: int = 1,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = False,
        class_weight: _ClassWeight = None,
        cost: _Cost = None,
        multi_class: Literal["direct", "ovr"] = "direct",
        batch_size: int = 1,
        query: Literal["all", "margin", "random", "threshold"] = "all",
        delta: float | Literal["auto"] = 1.0,
        query_rate: float | None = None,
        label_budget: int | None = None,
        n_rows: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: _Seed = None,
    ) -> None: ...

class KernelPARegressor(_Expansion, _Regressor):
    def __init__(
        self,
        variant: _Variant = "PA-I",
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: _Kernel = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        landmarks: int | ArrayLike | None = None,
        landmark_choice: Literal["start", "kmeans"] = "start",
        landmark_norm: Literal["kernel", "euclidean"] = "kernel",
        budget: int | None = None,
        budget_policy: _Policy = "projection",
        average: bool = False,
        half_life: float | None = None,
        max_iter: int = 1,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        shuffle: bool = False,
        batch_size: int = 1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: _Seed = None,
    ) -> None: ...
