"""`pa_lab.study.svm_cache`: fits kept as arrays give what the machines give, and nothing in their files is run."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.svm import SVC, LinearSVC

from pa_lab.study import datasets, svm_cache
from pa_lab.study.svm_cache import cached_fit, dyadic

X, y = make_classification(300, 6, random_state=0)
y = 2 * y - 1
MODELS = [SVC(kernel="linear", C=0.5), SVC(C=2.0, gamma=0.25)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path))
    datasets.warn_unwritable.cache_clear()
    return tmp_path


def kept(cache):
    return sorted((cache / "fits").iterdir())


@pytest.mark.parametrize("model", MODELS, ids=["linear", "RBF"])
def test_a_kept_fit_has_the_bits_of_the_machine(cache, model):
    plain = clone(model).fit(dyadic(X), y)
    first, seconds = cached_fit(model, X, y)
    (path,) = kept(cache)
    written = path.stat().st_mtime_ns
    second, again = cached_fit(model, X, y)
    assert path.stat().st_mtime_ns == written and again == seconds > 0
    for machine in (first, second, pickle.loads(pickle.dumps(second)), second.fit(X, y)):
        for name in svm_cache.KEPT_BY_KERNEL[model.kernel]:
            np.testing.assert_array_equal(getattr(machine, name), getattr(plain, name))
        np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-6)
        np.testing.assert_array_equal(machine.predict(X), plain.predict(X))


def test_what_tells_fits_apart_and_what_does_not(cache):
    model = SVC(C=0.5, gamma=0.25)
    alike = [(model, X, y), (clone(model).set_params(C=np.float64(0.5), cache_size=50), X.copy(), y)]
    for arguments in alike:
        cached_fit(*arguments)
    assert len(kept(cache)) == 1
    other = X.copy()
    other[0, 0] += 1e-3
    for arguments in [
        (clone(model).set_params(C=0.25), X, y), (clone(model).set_params(kernel="linear"), X, y),
        (clone(model).set_params(class_weight={1: 2.0}), X, y), (model, other, y), (model, X, -y),
        (model, X[::-1], y[::-1]),
    ]:  # fmt: skip
        before = len(kept(cache))
        cached_fit(*arguments)
        assert len(kept(cache)) == before + 1


class Trap:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return (open, ("/dev/null/trap",))


def with_a_pickle_inside(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    np.save(out, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, out.getvalue() if name == "intercept_.npy" else content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("damage", [with_a_pickle_inside, cut, lambda path: path.write_bytes(pickle.dumps(Trap()))])
def test_a_damaged_fit_is_repeated_and_nothing_in_it_is_run(cache, damage):
    first, seconds = cached_fit(MODELS[0], X, y)
    (path,) = kept(cache)
    damage(path)
    again, others = cached_fit(MODELS[0], X, y)
    np.testing.assert_array_equal(again.coef_, first.coef_)
    assert others != seconds and cached_fit(MODELS[0], X, y)[1] == others, "it was not mended"


def test_a_cache_that_cannot_be_written_costs_a_warning_and_no_more(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot keep fits in .*set PA_LAB_CACHE") as told:
        machines = [cached_fit(MODELS[0], X, y)[0] for _ in range(2)]
    assert len(told) == 1
    np.testing.assert_array_equal(machines[0].coef_, machines[1].coef_)


@pytest.mark.parametrize(
    ("model", "rows", "labels"),
    [
        (LinearSVC(), X, y),
        (SVC(kernel="poly"), X, y),
        (SVC(), X, y),
        (MODELS[0], sparse.csr_array(X), y),
        (MODELS[0], X, np.arange(len(y)) % 3),
        (MODELS[0], X, np.array(["a", "b"], dtype=object)[(y > 0).astype(int)]),
    ],
)
def test_what_arrays_cannot_tell_is_refused(model, rows, labels):
    with pytest.raises(ValueError, match=r"cached_fit needs an SVC .* dense rows and two classes .* got \w*SVC\("):
        cached_fit(model, rows, labels)
