"""Classes that appear in mid-stream: the weights, columns and averages are as if they had always been there."""

import numpy as np
import pytest

from pa_lab import KernelPAClassifier, PAClassifier

RNG = np.random.default_rng(3)
CENTRES = 3.0 * RNG.standard_normal((5, 6))
CODES = np.r_[RNG.choice([1, 3], 60), RNG.choice([1, 2, 3], 60), RNG.choice(5, 80)]  # 2 comes late, 0 and 4 last
X = CENTRES[CODES] + RNG.standard_normal((200, 6))
NAMES = np.array(["ant", "bee", "cat", "dog", "emu and more"])
Y = NAMES[CODES]
STEPS = [(0, 60, ["bee", "dog"]), (60, 120, ["cat"]), (120, 200, NAMES)]


def grown(model, steps=STEPS):
    for start, stop, classes in steps:
        model.partial_fit(X[start:stop], Y[start:stop], classes=classes)
    return model


def by_hand(C, one_vs_rest):
    """Give every class a column and let only the known ones compete; two known classes share one vector."""
    W, path = np.zeros((5, 7)), []
    for start, stop, new in STEPS:
        known = sorted({*np.flatnonzero(np.isin(NAMES, new)), *(CODES[:start] if start else [])})
        for x, code in zip(np.column_stack([X, np.ones(200)])[start:stop], CODES[start:stop], strict=True):
            p, step = W @ x, lambda loss, norm: min(C, max(0.0, loss) / norm)
            if one_vs_rest:
                for k in known:
                    y = 1 if k == code else -1
                    W[k] += step(1 - y * p[k], x @ x) * y * x
            else:
                wrong = max((k for k in known if k != code), key=lambda k: p[k])
                half = 0.5 if len(known) == 2 else 1.0  # with two the vector moves by tau, each column by half of it
                tau = half * step(1 - p[code] + p[wrong], x @ x if len(known) == 2 else 2 * x @ x)
                W[code] += tau * x
                W[wrong] -= tau * x
            path.append(W.copy())
    return W, np.mean(path, axis=0)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("multi_class", ["direct", "ovr"])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_classes_added_in_mid_stream_learn_as_if_their_columns_had_been_there(multi_class, C, average):
    model = grown(PAClassifier(C=C, multi_class=multi_class, average=average))
    expected = by_hand(C, multi_class == "ovr")[average]
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), expected, rtol=1e-9, atol=1e-12)
    assert model.n_seen_ == 200


@pytest.mark.parametrize("options", [
    {}, {"average": True}, {"average": True, "half_life": 40.0}, {"landmarks": 60}, {"budget": 300}, {"budget": 20},
    {"multi_class": "ovr"},
], ids=str)  # fmt: skip
def test_a_kernel_model_takes_new_classes_too(options):
    model = grown(KernelPAClassifier(kernel="linear", C=0.01, **options))
    assert model.classes_.tolist() == NAMES.tolist() and model.dual_coef_.shape[0] == 5
    if "budget" not in options or options["budget"] > 200:
        linear = {name: value for name, value in options.items() if name in ("average", "half_life", "multi_class")}
        same = grown(PAClassifier(C=0.01, fit_intercept=False, **linear))
        np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), rtol=1e-6, atol=1e-8)
    assert np.mean(model.predict(X[120:]) == Y[120:]) > 0.6


def test_known_classes_named_again_change_nothing_and_a_refused_call_adds_none():
    model = grown(PAClassifier(), STEPS[:2])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"label 'fox' in row 2 \(from 0\), which is not among the classes .*classes="):
        model.partial_fit(X[:4], ["bee", "cat", "fox", "dog"], classes=["emu"])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.partial_fit(X[:1], Y[:1], classes=["dog"]).classes_.tolist() == ["bee", "cat", "dog"]


@pytest.mark.parametrize("classes", [[0, 1], [None], [1.5]], ids=str)
def test_classes_of_another_kind_are_refused(classes):
    with pytest.raises(ValueError, match="classes must be labels of one kind, text or numbers"):
        grown(PAClassifier(), STEPS[:1]).partial_fit(X[:1], Y[:1], classes=classes)


@pytest.mark.parametrize("model", [PAClassifier(), KernelPAClassifier(gamma=1.0)], ids=repr)
def test_no_rows_change_nothing(model):
    model.partial_fit(X[:0], [], classes=NAMES)
    assert not hasattr(model, "classes_")
    before = grown(model).decision_function(X), model.n_seen_
    model.partial_fit(X[:0], Y[:0])
    np.testing.assert_array_equal(model.decision_function(X), before[0])
    assert model.n_seen_ == before[1]


def test_questions_and_paid_labels_keep_their_classes():
    model = PAClassifier(query="margin", label_budget=100, random_state=0)
    asked = model.should_query(X[:30])
    model.partial_fit(X[:30][asked], Y[:30][asked], classes=["bee", "dog"], asked=True)
    again = model.should_query(X[30:60])
    model.partial_fit(X[60:61], Y[60:61], classes=NAMES, asked="free")
    model.partial_fit(X[30:60][again], Y[30:60][again], asked=True)
    np.testing.assert_array_equal(model.paid_labels_.label, Y[:60][np.r_[asked, again]])
    predicted = model.paid_labels_.mistake.mean()
    assert 0 < predicted < 0.5


def test_weights_that_name_a_class_to_come_must_name_the_known_ones_too():
    with pytest.raises(ValueError, match=r"'bee', 'dog'.*not in class_weight"):
        grown(PAClassifier(class_weight={"cat": 5.0}), STEPS[:2])
    assert len(grown(PAClassifier(class_weight={"bee": 1.0, "dog": 1.0, "cat": 5.0}), STEPS[:2]).classes_) == 3


def test_a_matrix_of_costs_grows_with_the_classes():
    model = grown(PAClassifier(cost=np.ones((2, 2))), STEPS[:1])
    with pytest.raises(ValueError, match=r"shape \(3, 3\).*'cat'.*Where a class is added, call set_params\(cost=...\)"):
        grown(model, STEPS[1:2])
    assert grown(model.set_params(cost=np.ones((3, 3))), STEPS[1:2]).coef_.shape[0] == 3
