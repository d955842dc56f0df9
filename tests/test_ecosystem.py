"""What other projects do with the learners: Dask, ONNX, active learning, several labels."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import SGDClassifier

from pa_lab import PAClassifier, PARegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 4))
SCORE = X @ [1.0, -2.0, 0.5, 0.0]
Y = np.where(SCORE > 0, "yes", "no")
MANY = np.digitize(SCORE, [-1.0, 1.0])


# ---------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with LocalCluster(**options) as here, Client(here) as client:
        yield client


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("call", ["fit", "partial_fit", "predict", "decision_function", "should_query", "score"])
def test_a_dask_array_on_its_own_is_refused_in_a_sentence(call):
    array = pytest.importorskip("dask.array")
    rest = {"fit": [Y], "partial_fit": [Y], "score": [Y]}.get(call, [])
    with pytest.raises(TypeError, match=r"^X is a Dask collection.*dask_ml\.wrappers\.Incremental.*\.$"):
        getattr(PAClassifier().fit(X, Y), call)(array.from_array(X), *rest)


@pytest.mark.filterwarnings("default")
def test_the_wrappers_of_dask_ml_train_and_predict_block_by_block(cluster):
    pytest.importorskip("dask_ml", reason="dask-ml is not installed")
    from dask.array import from_array
    from dask_ml.wrappers import Incremental, ParallelPostFit

    rows, labels = from_array(X, chunks=(100, 4)), from_array(MANY, chunks=100)
    model = PAClassifier(C=0.1).fit(X, MANY)
    far = Incremental(PAClassifier(C=0.1), shuffle_blocks=False).fit(rows, labels, classes=[0, 1, 2])
    np.testing.assert_array_equal(far.estimator_.coef_, model.coef_)
    np.testing.assert_array_equal(far.predict(rows).compute(), model.predict(X))
    assert far.score(rows, labels) == model.score(X, MANY)
    post = ParallelPostFit(PAClassifier(C=0.1)).fit(X, MANY)
    np.testing.assert_array_equal(post.predict(rows).compute(), model.predict(X))
    targets = from_array(SCORE, chunks=100)
    far = Incremental(PARegressor(C=0.1), shuffle_blocks=False).fit(rows, targets)
    np.testing.assert_array_equal(far.predict(rows).compute(), PARegressor(C=0.1).fit(X, SCORE).predict(X))


# ---------------------------------------------------------------- ONNX


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("y", [Y, MANY], ids=["two", "several"])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_model_is_exported_to_onnx_through_a_twin(y, precision):
    pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    from onnxruntime import InferenceSession
    from skl2onnx import to_onnx

    model = PAClassifier(C=0.1, average=True).fit(X, y)
    twin = SGDClassifier()
    vars(twin).update(coef_=model.coef_, intercept_=model.intercept_, classes_=model.classes_)
    rows = X.astype(precision)
    graph = to_onnx(twin, rows[:1], options={"zipmap": False, "raw_scores": True})
    session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, scores = session.run(None, {session.get_inputs()[0].name: rows})
    assert np.array_equal(labels, model.predict(rows))
    score = model.decision_function(rows)
    score = score if score.ndim == 2 else np.column_stack([-score, score])
    np.testing.assert_allclose(scores, score, rtol=1e-4 if precision == np.float32 else 1e-9, atol=1e-5)


# ---------------------------------------------------------------- probabilities, several labels a row


def test_scikit_activeml_asks_where_the_calibrated_model_is_unsure():
    pytest.importorskip("skactiveml", reason="scikit-activeml is not installed")
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    calibrated = CalibratedClassifierCV(PAClassifier(C=0.1, average=True), cv=3)
    model = SklearnClassifier(calibrated, classes=[0, 1], missing_label=-1, random_state=0)
    ask = UncertaintySampling(method="least_confident", missing_label=-1, random_state=0)
    truth, known = (SCORE > 0).astype(int), np.full(len(X), -1)
    known[:20] = truth[:20]
    for _ in range(20):
        (chosen,) = ask.query(X=X, y=known, clf=model)
        assert known[chosen] == -1
        known[chosen] = truth[chosen]
    asked = np.flatnonzero(known[20:] >= 0) + 20
    assert np.abs(SCORE[asked]).mean() < np.abs(SCORE).mean() / 2
    assert model.fit(X, known).score(X, truth) > 0.9
