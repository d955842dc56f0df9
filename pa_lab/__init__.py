"""The passive-aggressive family of online learners: exact, fast, and studied on real data."""

import importlib

from pa_lab.compiled import PACKAGE, drop_outdated

__version__ = "0.2.0"
__all__ = ["KernelPAClassifier", "KernelPARegressor", "PAClassifier", "PARegressor"]

_HOMES = {
    "KernelPAClassifier": "pa_lab.kernel",
    "KernelPARegressor": "pa_lab.kernel",
    "PAClassifier": "pa_lab.linear",
    "PARegressor": "pa_lab.linear",
}

drop_outdated(PACKAGE)


def __getattr__(name):
    """Import a learner, and scikit-learn with it, when it is first asked for."""
    if name == "datasets":
        return importlib.import_module("pa_lab.study.datasets")
    if name in ("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; for the class with scikit-learn's "
                             f"parameters and results: from pa_lab.compat import {name}")  # fmt: skip
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    """List the learners too, for tab completion."""
    return [*globals(), *__all__]
