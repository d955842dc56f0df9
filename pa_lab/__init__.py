"""The passive-aggressive family of online learners: exact, fast, and studied on real data."""

from pa_lab.kernel import KernelPAClassifier, KernelPARegressor
from pa_lab.linear import PAClassifier, PARegressor

__all__ = ["KernelPAClassifier", "KernelPARegressor", "PAClassifier", "PARegressor"]
__version__ = "0.1.0"
