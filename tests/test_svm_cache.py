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

from pa_lab.study import svm_cache
from pa_lab.study.svm_cache import cached_fit, dyadic

X, y = make_classification(300, 6, random_state=0)
y = 2 * y - 1
MODELS = [SVC(kernel="linear", C=0.5), SVC(C=2.0, gamma=0.25), LinearSVC(tol=0.01, random_state=0)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path))
    svm_cache._warn_once.cache_clear()
    return tmp_path


def kept(cache):
    return sorted((cache / "fits").iterdir())


def test_a_kept_fit_that_unpacks_to_too_much_is_made_anew(cache, monkeypatch):
    cached_fit(MODELS[1], X, y)
    assert svm_cache._read(*kept(cache), ["dual_coef_"]) is not None
    monkeypatch.setattr(svm_cache, "LARGEST", 1000)
    assert svm_cache._read(*kept(cache), ["dual_coef_"]) is None


@pytest.mark.parametrize("model", MODELS, ids=["linear", "RBF", "LIBLINEAR"])
def test_a_kept_fit_has_the_bits_of_the_machine(cache, model):
    rows = X if isinstance(model, LinearSVC) else dyadic(X)
    plain = clone(model).fit(rows, y)
    first, seconds = cached_fit(model, X, y)
    (path,) = kept(cache)
    written = path.stat().st_mtime_ns
    second, again = cached_fit(model, X, y)
    assert path.stat().st_mtime_ns == written and again == seconds > 0
    for machine in (first, second, pickle.loads(pickle.dumps(second)), clone(second), second.fit(X, y)):
        assert machine.classes_.tolist() == [-1, 1] and machine.C == model.C
        for name in svm_cache._names(model):
            np.testing.assert_array_equal(getattr(machine, name), getattr(plain, name))
        np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-6)
        np.testing.assert_array_equal(machine.predict(X), plain.predict(X))
        assert machine.score(X, y) == plain.score(X, y)
    with pytest.raises(ValueError, match="read-only"):
        second.intercept_[0] = 7.0


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=["linear", "LIBLINEAR"])
def test_sparse_rows_give_dense_weights(model, form):
    for _ in range(2):
        machine = cached_fit(model, form(X), y)[0]
        plain = clone(model).fit(form(X), y)
        expected = plain.coef_.toarray() if sparse.issparse(plain.coef_) else plain.coef_
        np.testing.assert_array_equal(machine.coef_, expected)
        np.testing.assert_array_equal(machine.predict(form(X)), plain.predict(form(X)))


def test_what_tells_fits_apart_and_what_does_not(cache):
    alike = [(SVC(C=0.5), X, y), (SVC(C=np.float64(0.5), cache_size=50), X.copy(), y), (SVC(C=0.5), X[:, ::1], y)]
    for arguments in alike:
        cached_fit(*arguments)
    assert len(kept(cache)) == 1
    other = X.copy()
    other[0, 0] += 1e-3
    for arguments in [
        (SVC(C=0.25), X, y), (SVC(C=0.5, kernel="linear"), X, y), (SVC(C=0.5, class_weight={1: 2.0}), X, y),
        (SVC(C=0.5), other, y), (SVC(C=0.5), X, -y), (SVC(C=0.5), X[::-1], y[::-1]), (LinearSVC(C=0.5), X, y),
    ]:  # fmt: skip
        before = len(kept(cache))
        cached_fit(*arguments)
        assert len(kept(cache)) == before + 1


# ---------------------------------------------------------------- what lies in the folder is not trusted


class Trap:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return (open, ("/dev/null/trap",))


def as_pickled_member(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    np.save(out, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, out.getvalue() if name == "intercept_.npy" else content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    "damage",
    [
        as_pickled_member, cut,
        lambda path: path.write_bytes(pickle.dumps(Trap())), lambda path: path.write_bytes(b""),
    ],
    ids=["pickle inside", "cut", "pickle", "empty"],
)  # fmt: skip
def test_a_damaged_fit_is_repeated_and_nothing_in_it_is_run(cache, damage):
    first, _ = cached_fit(MODELS[0], X, y)
    (path,) = kept(cache)
    damage(path)
    again, _ = cached_fit(MODELS[0], X, y)
    np.testing.assert_array_equal(again.coef_, first.coef_)
    assert kept(cache) == [path]
    assert svm_cache._read(path, svm_cache._names(MODELS[0])) is not None, "it was not mended"


def test_a_cache_that_cannot_be_written_costs_a_warning_and_no_more(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot keep fits in .* so they are repeated in every run") as told:
        machines = [cached_fit(MODELS[0], X, y)[0] for _ in range(2)]
    assert len(told) == 1
    np.testing.assert_array_equal(machines[0].coef_, machines[1].coef_)


@pytest.mark.parametrize(
    ("model", "rows", "labels", "error", "words"),
    [
        (LinearSVC, X, y, TypeError, "model must be an SVC or a LinearSVC"),
        (SVC(kernel="poly"), X, y, ValueError, "the kernel 'linear' or 'rbf'"),
        (SVC(), sparse.csr_array(X), y, ValueError, r"X must be dense for the RBF kernel: use X\.toarray\(\)"),
        (SVC(), X, np.arange(len(y)) % 3, ValueError, r"y must hold two classes; got \[0 1 2\]"),
        (SVC(), X, np.array(["a", "b"], dtype=object)[(y > 0).astype(int)], TypeError, "numbers or text"),
    ],
)
def test_what_arrays_cannot_tell_is_refused(model, rows, labels, error, words):
    with pytest.raises(error, match=words):
        cached_fit(model, rows, labels)
