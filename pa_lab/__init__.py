"""The passive-aggressive family of online learners: exact, fast, and studied on real data."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors, which do not run `__getattr__`
    from pa_lab.kernel import KernelPAClassifier, KernelPARegressor
    from pa_lab.linear import PAClassifier, PARegressor

__version__ = "0.1.0"
__all__ = ["KernelPAClassifier", "KernelPARegressor", "PAClassifier", "PARegressor"]


def __getattr__(name):
    """Import a learner when it is asked for, and scikit-learn with it: what needs neither starts sooner."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{'kernel' if name.startswith('Kernel') else 'linear'}")
    return getattr(module, name)


def __dir__():
    """Name the learners too, for those who complete names."""
    return [*globals(), *__all__]
