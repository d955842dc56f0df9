from itertools import pairwise

import matplotlib
import pandas as pd
import pytest

matplotlib.use("agg")
from matplotlib import pyplot as plt

from pa_lab.study import plotting


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


def test_lines_with_band_draws_the_frame_as_it_is(ax):
    frame = pd.DataFrame({"C": [1, 10, 1, 10], "auc": [0.8, 0.9, 0.6, 0.7], "by": ["PA-I", "PA-I", "other", "other"]})
    frame = frame.assign(low=frame.auc - 0.1, high=frame.auc + 0.1)
    plotting.lines_with_band(ax, frame, x="C", y="auc", low="low", high="high", by="by", marker=True)
    assert labels(ax) == ["PA-I", "other"]
    assert ax.lines[0].get_color() == plotting.COLORS["PA-I"]
    assert ax.lines[1].get_ydata().tolist() == [0.6, 0.7]
    assert len(ax.collections) == 2


def test_direct_labels_do_not_overlap_and_keep_the_order_of_the_ends(ax):
    for i, height in enumerate([0.5, 0.9, 0.501, 0.502, 0.0]):
        ax.plot([0, 1], [0, height], label=f"line {i}")
    ax.plot([0, 1], [0, 0.2], label="_hidden")
    texts = plotting.direct_labels(ax)
    assert [text.get_text() for text in texts] == [f"line {i}" for i in (4, 0, 2, 3, 1)]
    boxes = [text.get_window_extent() for text in texts]
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_spread_moves_no_more_than_needed():
    assert plotting._spread([0.0, 1.0], 0.5).tolist() == [0.0, 1.0]
    assert plotting._spread([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])
    assert plotting._spread([0.5, 0.5, 0.65], 0.2) == pytest.approx([0.35, 0.55, 0.75])
