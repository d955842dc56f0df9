"""What `pip install pa-lab` alone must be enough for. Run by test_packaging.py and by `make dist`."""

from importlib.util import find_spec

import numpy as np

import pa_lab
from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from pa_lab.compat import PassiveAggressiveClassifier

for name in ("pandas", "matplotlib", "pooch", "tqdm"):
    assert find_spec(name) is None, f"{name} was not to be found here"

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, 1, -1)
for model in (PAClassifier(average=True), PAClassifier(batch_size=4), PARegressor(), KernelPARegressor()):
    assert model.fit(X, y).predict(X).shape == y.shape
assert PAClassifier(max_iter=5).fit(X, y).score(X, y) > 0.9
assert KernelPAClassifier(gamma=0.5, max_iter=5).fit(X, y).score(X, y) > 0.9
assert PassiveAggressiveClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
try:
    from pa_lab import datasets  # noqa: F401
except ImportError as error:
    print(error)
print(pa_lab.__file__)
