import matplotlib
import pandas as pd
import pytest

matplotlib.use("agg")
from matplotlib import pyplot as plt

from pa_lab import KernelPAClassifier
from pa_lab.budget import POLICIES
from pa_lab.queries import QUERIES
from pa_lab.rules import VARIANTS
from pa_lab.study import plotting, toy


@pytest.fixture
def ax():
    with matplotlib.rc_context():
        plotting.use_style()
        fig, ax = plt.subplots(figsize=(plotting.HALF, 2.4))
        yield ax
        plt.close(fig)


def labels(ax):
    return [line.get_label() for line in ax.lines]


def test_methods_differ_in_colour_and_without_it():
    names = ["PA", "PA-I", "PA-II", "PALS", "LIBLINEAR", "LIBSVM", "perceptron", "random"]
    assert len({(plotting.COLORS[name], plotting.LINESTYLES[name]) for name in names}) == len(names)
    assert len({plotting.MARKERS[name] for name in names}) == len(names)
    assert {*VARIANTS, *QUERIES, *POLICIES} <= plotting.COLORS.keys()


def test_panels_draw_a_line_for_each_group_and_a_band_where_there_is_one():
    rows = [(name, rule, C) for name in ("a9a", "w8a") for rule in ("PA", "PA-I") for C in (0.1, 1.0)]
    frame = pd.DataFrame(rows, columns=["set", "rule", "C"]).assign(auc=range(8), f1=0.5)
    frame = frame.assign(auc_low=frame.auc - 1, auc_high=frame.auc + 1)
    fig, axes = plotting.panels(frame, x="C", y="auc", by="rule", panel="set", xscale="log")
    assert [ax.get_title() for ax in axes] == ["a9a", "w8a"]
    assert [labels(ax) for ax in axes] == [["PA", "PA-I"]] * 2
    assert axes[1].lines[1].get_ydata().tolist() == [6, 7] and len(axes[1].collections) == 2
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["PA", "PA-I"]
    assert axes[0].get_xscale() == "log"
    plt.close(fig)
    fig, axes = plotting.panels(frame, x="C", y={"auc": "AUC", "f1": "F1"}, by="rule")
    assert [ax.get_ylabel() for ax in axes] == ["AUC", "F1"]
    assert [len(ax.collections) for ax in axes] == [2, 0]
    plt.close(fig)


def test_intervals_keep_the_order_of_the_names_from_the_top():
    frame = pd.DataFrame({"rule": ["PA", "PA", "SVM", "SVM"], "weights": ["last", "averaged"] * 2, "gain": range(4)})
    frame = frame.assign(gain_low=frame.gain - 1, gain_high=frame.gain + 2)
    fig, (ax,) = plotting.intervals(frame, value="gain", name="rule", by="weights", xlabel="gain in AUC")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["PA", "SVM"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "gain in AUC"
    points = ax.containers[1][0]
    assert points.get_xdata().tolist() == [1, 3]
    ends = ax.containers[1][2][0].get_segments()
    assert [(end[0][0], end[1][0]) for end in ends] == [(0, 3), (2, 5)]
    plt.close(fig)


def test_surfaces_show_the_learner_after_so_many_points():
    X, y = toy.stream(60)
    fig, axes = plt.subplots(1, 2)
    plotting.surfaces(axes, KernelPAClassifier(gamma=0.5), X, y, [10, 60])
    for ax, n in zip(axes, (10, 60), strict=True):
        model = KernelPAClassifier(gamma=0.5).fit(X[:n], y[:n])
        assert ax.get_title() == f"{n} seen, {len(model.support_)} kept"
        image = ax.images[0].get_array()
        _, right, low, high = ax.images[0].get_extent()
        middle = image[len(image) // 2, -1]  # half a step above the middle of the right edge
        x2 = (low + high) / 2 + (high - low) / (len(image) - 1) / 2
        assert float(middle) == pytest.approx(model.decision_function([[right, x2]])[0])
        assert len(ax.collections[-1].get_offsets()) == n
    plt.close(fig)
