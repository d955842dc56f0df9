"""The estimators inside scikit-learn's own tools, and with what its users hand over."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pa_lab
from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
SCORE = X @ [1.0, -2.0, 0.5, 0.0] + 0.2
WORDS = np.where(SCORE > 0, "yes", "no")
TARGETS = {"classifier": WORDS, "classes": np.digitize(SCORE, [-1.0, 1.0]), "regressor": SCORE}
MODELS = {
    "classifier": PAClassifier(C=0.1),
    "classes": PAClassifier(C=0.1, average=True, class_weight="balanced"),
    "regressor": PARegressor(C=0.1, epsilon=0.01),
    "kernel": KernelPAClassifier(C=0.1, gamma=0.1),
    "kernel, budget": KernelPAClassifier(C=0.1, gamma=0.1, budget=20),
    "kernel, landmarks": KernelPAClassifier(C=0.1, gamma=0.1, landmarks=20),
    "kernel regressor": KernelPARegressor(C=0.1, gamma=0.1, epsilon=0.01, max_iter=10),
}
TARGETS |= dict.fromkeys(("kernel", "kernel, budget", "kernel, landmarks"), WORDS) | {"kernel regressor": SCORE}

each = pytest.mark.parametrize("name", MODELS)


def task(name):
    """A fresh model and its targets."""
    return clone(MODELS[name]), TARGETS[name]


def same(a, b):
    """Equal predictions; numbers to rounding, since sums differ in order between memory layouts."""
    return np.allclose(a, b, rtol=1e-9) if a.dtype.kind == "f" else np.array_equal(a, b)


@each
def test_sample_weights_are_factors_on_C(name):
    model, y = task(name)
    weights = np.random.default_rng(0).choice([0.5, 2.0], len(y))
    for half in (np.full(len(y), 0.5), 0.5):
        lighter = clone(model).fit(X, y, sample_weight=half)
        same = clone(model).set_params(C=0.5 * model.C).fit(X, y)
        scores = "decision_function" if hasattr(model, "decision_function") else "predict"
        assert np.array_equal(getattr(lighter, scores)(X), getattr(same, scores)(X))
    other = make_pipeline(StandardScaler(), clone(model))
    other.fit(X, y, **{f"{type(model).__name__.lower()}__sample_weight": weights})
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        assert GridSearchCV(model, {"C": [0.1]}).fit(X, y, sample_weight=weights).best_score_ > 0.6


@each
def test_frames_bring_their_names(name):
    model, y = task(name)
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(120)[::-1])
    model.fit(frame, pd.Series(y, index=frame.index))
    assert model.feature_names_in_.tolist() == list("abcd") and model.n_features_in_ == 4
    assert same(model.predict(frame), clone(model).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("dcba")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


LABELS = [("no", "yes"), (False, True), (0, 1), (-1.0, 1.0), (7, 1000)]


@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("name", [name for name in MODELS if name in ("classifier", "kernel")])
def test_labels_come_back_as_they_went_in(name, labels):
    model = clone(MODELS[name])
    y = np.array(labels)[(SCORE > 0).astype(int)]
    predicted = model.fit(X, y).predict(X)
    assert predicted.dtype == y.dtype and set(predicted.tolist()) == set(labels)
    assert model.classes_.tolist() == list(labels)
    assert np.array_equal(predicted == labels[1], model.decision_function(X) > 0)
    objects = clone(model).fit(X, y.astype(object) if y.dtype.kind == "U" else y.tolist()).predict(X)
    assert objects.tolist() == predicted.tolist()


def test_learners_are_imported_when_asked_for():
    """What only saves or loads need not wait for scikit-learn."""
    assert [getattr(pa_lab, name).__name__.rpartition(".")[2] for name in pa_lab.__all__] == pa_lab.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pa_lab.nothing
    code = "import sys, pa_lab.study.store; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("first", ["import pa_lab.datasets", "from pa_lab import datasets"])
def test_datasets_is_one_module_whatever_its_name(first):
    code = f"{first}; import sys, pa_lab.datasets, pa_lab.study.datasets; from pa_lab import datasets; "
    code += "assert pa_lab.datasets is datasets is pa_lab.study.datasets is sys.modules['pa_lab.datasets']"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
