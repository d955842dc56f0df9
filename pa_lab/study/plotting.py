"""One look for every figure. The functions draw what they are given; only `surfaces` computes what it draws.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish. Line styles and markers repeat the
distinction, so that a figure also reads in grey.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH, HALF = 6.3, 3.1  # inches: the report's column, and half of it

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"

# method: colour, line style, marker
_LOOK = {
    "PA": (VERMILION, "-", "o"),
    "PA-I": (BLUE, "-", "s"),
    "PA-II": (GREEN, "-", "^"),
    "PALS": (PURPLE, "-", "D"),
    "PA averaged": (ORANGE, "-.", "o"),
    "PA-I averaged": (SKY, "-.", "s"),
    "PA-II averaged": (PURPLE, "-.", "^"),
    "LIBLINEAR balanced": (GREY, ":", "v"),
    "BPAI": (BLUE, "-", "s"),
    "BPAII": (GREEN, "-", "^"),
    "BPALS": (PURPLE, "--", "D"),
    "LIBLINEAR": (BLACK, "--", "v"),
    "LIBSVM": (GREY, "--", "P"),
    "SGD": (ORANGE, "--", "X"),
    "pa1": (VERMILION, "--", "X"),
    "naive Bayes": (GREY, "-.", "v"),
    "perceptron": (ORANGE, ":", "<"),
    "random": (SKY, "-.", ">"),
    "margin": (BLUE, "-", "s"),
    "all": (BLACK, "-", "o"),
    "threshold": (GREEN, "--", "^"),
    "strip": (GREEN, "--", "^"),
    "first": (GREY, ":", "v"),
    "exact": (BLACK, "-", "o"),
    "removal": (VERMILION, "-.", "v"),
    "nearest": (ORANGE, "--", "^"),
    "projection": (GREEN, "-", "D"),
    "oldest": (GREY, ":", "<"),
    "smallest": (PURPLE, "--", ">"),
    "landmarks": (BLUE, "-", "s"),
    "landmarks, averaged": (BLUE, "--", "o"),
    "landmark features": (SKY, "--", "P"),
    "random Fourier": (BLACK, ":", "X"),
    "Nyström": (BLACK, "--", "o"),
    "AROW": (ORANGE, "-.", "D"),
    "logistic": (BLACK, "--", "v"),
    "hinge SVM": (PURPLE, "--", "P"),
    "squared hinge": (GREY, ":", "X"),
}
COLORS, LINESTYLES, MARKERS = ({name: look[i] for name, look in _LOOK.items()} for i in range(3))
CYCLE = [BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY]

STYLE = {
    "figure.figsize": (WIDTH, 3.2),
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,  # for what is rasterised inside an SVG
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": plt.cycler(color=CYCLE),
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
}


def use_style() -> None:
    """Give every later figure the look of the study."""
    plt.rcParams.update(STYLE)


def lines_with_band(
    ax: Axes,
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    low: str | None = None,
    high: str | None = None,
    by: str | None = None,
    marker: bool = False,
) -> Axes:
    """Draw one line per group from left to right, with a band from ``low`` to ``high`` if both are given.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    frame : DataFrame
        One row per point.
    x, y, low, high : str
        Columns.
    by : str, optional
        The column with the names of the lines. A name found in ``COLORS`` gets its own look.
    marker : bool, default=False
        Mark the points of lines with at most 25 of them.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"C": [0.1, 1.0], "auc": [0.8, 0.9], "method": "PA-I"})
    >>> fig, ax = plt.subplots()
    >>> lines_with_band(ax, frame, x="C", y="auc", by="method").get_ylabel()
    'auc'
    >>> plt.close(fig)
    """
    spare = cycle(zip(CYCLE, ("-", "--", "-.", ":") * 2, "os^DvP<>", strict=True))
    groups = [(None, frame)] if by is None else frame.groupby(by, sort=False)
    for name, part in groups:
        color, style, symbol = _LOOK.get(name) or next(spare)
        part = part.sort_values(x, kind="stable")
        symbol = symbol if marker and len(part) <= 25 else None
        ax.plot(part[x], part[y], color=color, ls=style, marker=symbol, label=name)
        if low and high:
            ax.fill_between(part[x], part[low], part[high], color=color, alpha=0.18, lw=0)
    ax.set(xlabel=x, ylabel=y)
    return ax


def panels(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str | dict[str, str],
    by: str | None = None,
    panel: str | None = None,
    per_row: int | None = None,
    height: float = 2.8,
    width: float = WIDTH,
    **axis,
) -> tuple[Figure, np.ndarray]:
    """Draw panels side by side, each with a marked line per group, and return the figure and its axes.

    Where the frame has columns ``Y_low`` and ``Y_high`` for a column ``Y``, as from
    `pa_lab.study.statistics.summarize`, a band runs from one to the other.

    Parameters
    ----------
    frame : DataFrame
        One row per point.
    x : str
        Column.
    y : str or dict
        A column; or several, each with its label, for a panel each.
    by : str, optional
        The column with the names of the lines; the legend stands below the panels.
    panel : str, optional
        The column with the titles of the panels, which then share the y axis.
    per_row : int, optional
        Panels in a row; all of them by default.
    height, width : float, default=2.8 and 6.3
        Of the figure, in inches.
    **axis
        Settings of all axes, such as ``xscale="log"``.

    Examples
    --------
    >>> frame = pd.DataFrame({"C": [0.1, 1.0], "auc": [0.8, 0.9], "rule": "PA-I"})
    >>> fig, axes = panels(frame, x="C", y="auc", by="rule", xscale="log")
    >>> len(axes), axes[0].get_ylabel()
    (1, 'auc')
    >>> plt.close(fig)
    """
    columns = y if isinstance(y, dict) else {y: y}
    parts = [("", frame)] if panel is None else list(frame.groupby(panel, sort=False))
    cells = [(str(title), part, column) for title, part in parts for column in columns]
    fig, axes = _side_by_side(len(cells), per_row, (width, height), sharex="col", sharey=panel is not None)
    for ax, (title, part, column) in zip(axes, cells, strict=True):
        band = {"low": f"{column}_low", "high": f"{column}_high"} if f"{column}_low" in part else {}
        lines_with_band(ax, part, x=x, y=column, by=by, marker=True, **band)
        ax.set(title=title, ylabel=columns[column])
    for ax in axes:  # once all is drawn: limits of a shared axis would cut what comes later
        ax.set(**axis)
    _label_outer(axes, per_row, every_y=panel is None)
    if by is not None:
        legend_below(fig)
    return fig, axes


def intervals(
    frame: pd.DataFrame,
    *,
    value: str,
    name: str,
    by: str | None = None,
    panel: str | None = None,
    per_row: int | None = None,
    height: float = 2.8,
    width: float = WIDTH,
    **axis,
) -> tuple[Figure, np.ndarray]:
    """Draw a point with its interval for each name, the first name at the top, and return the figure and its axes.

    Parameters
    ----------
    frame : DataFrame
        With columns ``V``, ``V_low`` and ``V_high`` for a ``value`` V, and a column ``name``.
    by : str, optional
        The column that tells several points of one name apart; the legend stands below the panels. A value found in
        ``COLORS`` gets its own look.
    panel : str, optional
        The column with the titles of the panels, which share both axes.
    per_row : int, optional
        Panels in a row; all of them by default.
    height, width : float, default=2.8 and 6.3
        Of the figure, in inches.
    **axis
        Settings of all axes, such as ``xlabel="gain in AUC"``.

    Examples
    --------
    >>> frame = pd.DataFrame({"rule": ["PA", "PA-I"], "gain": [0.1, 0.2], "gain_low": 0.0, "gain_high": 0.3})
    >>> fig, axes = intervals(frame, value="gain", name="rule")
    >>> [label.get_text() for label in axes[0].get_yticklabels()]
    ['PA', 'PA-I']
    >>> plt.close(fig)
    """
    parts = [("", frame)] if panel is None else list(frame.groupby(panel, sort=False))
    names = list(frame[name].unique())
    marks = [None] if by is None else list(frame[by].unique())
    looks = [_LOOK.get(mark, (CYCLE[i], "", "os^DvP<>"[i])) for i, mark in enumerate(marks)]
    fig, axes = _side_by_side(len(parts), per_row, (width, height), sharex=True, sharey=True)
    for ax, (title, part) in zip(axes, parts, strict=True):
        for i, mark in enumerate(marks):
            shown = part if mark is None else part[part[by] == mark]
            place = shown[name].map(names.index) + 0.6 * ((i + 0.5) / len(marks) - 0.5)
            ends = [shown[value] - shown[f"{value}_low"], shown[f"{value}_high"] - shown[value]]
            ax.errorbar(shown[value], place, xerr=ends, fmt=looks[i][2], color=looks[i][0], label=mark)
        ax.axvline(0, color=BLACK, lw=0.8)
        ax.set(title=str(title), xlabel=value)
    for ax in axes:
        ax.set(**axis)
    axes[0].set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    _label_outer(axes, per_row)
    if by is not None:
        legend_below(fig)
    return fig, axes


def _side_by_side(n, per_row, size, **share):
    """Return a figure of a size in inches and its n axes, in rows of ``per_row``."""
    columns = per_row or n
    fig, axes = plt.subplots(-(-n // columns), columns, figsize=size, squeeze=False, **share)
    for ax in axes.flat[n:]:
        ax.remove()
    return fig, axes.ravel()[:n]


def _label_outer(axes, per_row, every_y=False):
    """Leave the labels of the x axis in the lowest panels, and those of the y axis in the first panel of a row."""
    columns = per_row or len(axes)
    for i, ax in enumerate(axes):
        if i + columns < len(axes):
            ax.set_xlabel("")
        else:
            ax.tick_params(labelbottom=True)
        if i % columns and not every_y:
            ax.set_ylabel("")


def legend_below(fig: Figure, ncols: int = 5) -> None:
    """Put one legend for all panels below them, with each name once, in rows of at most ``ncols``, evenly filled."""
    found = {}
    for ax in fig.axes:
        found |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    rows = -(-len(found) // ncols)
    fig.legend(found.values(), found, loc="outside lower center", ncols=-(-len(found) // rows))


def label_lines(ax: Axes, gap: float = 0.09, at: float = 1.02) -> None:
    """Write the name of each line of a panel beside its right end, in its colour, in place of the figure's legends.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With its limits set.
    gap : float, default=0.09
        The least distance between two names, as a share of the panel's height.
    at : float, default=1.02
        Where the names begin, as a share of its width.

    Examples
    --------
    >>> fig, ax = plt.subplots()
    >>> lines = ax.plot([0, 1], [0.0, 1.0], label="PA") + ax.plot([0, 1], [0.0, 1.0], label="PA-I")
    >>> label_lines(ax)
    >>> [text.get_text() for text in ax.texts]
    ['PA', 'PA-I']
    >>> plt.close(fig)
    """
    for legend in ax.figure.legends:
        legend.remove()
    place = (ax.transData + ax.transAxes.inverted()).transform
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    ends = [place(np.asarray(line.get_xydata())[-1])[1] for line in lines]
    order = np.argsort(ends, kind="stable")
    lowest = np.arange(len(lines)) * gap
    heights = lowest + np.maximum.accumulate(np.clip(np.sort(ends), 0.03, None) - lowest)
    heights = np.minimum(heights, 0.99 - lowest[::-1])  # none above the panel
    for i, height in zip(order, heights, strict=True):
        name, colour = lines[i].get_label(), lines[i].get_color()
        ax.text(at, height, name, color=colour, transform=ax.transAxes, va="center", fontsize=8)


def surfaces(
    axes: Iterable[Axes], model, X: np.ndarray, y: np.ndarray, seen: Sequence[int] = (10, 50, 150, 500)
) -> None:
    """Let a kernel learner learn points of a plane one by one, and draw its score after so many of them.

    The colour is the score, the black line its zero; circles are the support vectors.

    Parameters
    ----------
    axes : iterable of matplotlib.axes.Axes
        One for each entry of ``seen``.
    model : KernelPAClassifier
    X, y : arrays of shape (n, 2) and (n,)
        Their largest value sets the limits of the plane.
    seen : sequence of int, default=(10, 50, 150, 500)
        Rising numbers of points.

    Examples
    --------
    >>> from pa_lab import KernelPAClassifier
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), np.array([1, -1, 1])
    >>> fig, ax = plt.subplots()
    >>> surfaces([ax], KernelPAClassifier(), X, y, [2])
    >>> ax.get_title()
    '2 seen, 2 kept'
    >>> plt.close(fig)
    """
    ends = 1.1 * np.abs(X).max() * np.linspace(-1, 1, 64)
    plane = np.stack(np.meshgrid(ends, ends), axis=-1).reshape(-1, 2)
    place = {"origin": "lower", "extent": [ends[0], ends[-1]] * 2}
    for ax, start, n in zip(axes, [0, *seen], seen, strict=False):
        model.partial_fit(X[start:n], y[start:n], classes=np.unique(y))
        p = model.decision_function(plane).reshape(64, 64)
        ax.imshow(p, aspect="auto", cmap="PuOr", vmin=-2, vmax=2, interpolation="none", **place)
        ax.contour(p, [0], colors="black", linewidths=1.2, **place)
        ax.scatter(*X[:n].T, s=2, c=np.where(y[:n] > 0, "C0", "C3"), rasterized=True)
        ax.plot(*model.support_vectors_.T, "ko", ms=3, mfc="none", mew=0.3, rasterized=True)
        ax.set(title=f"{n} seen, {len(model.support_)} kept", xticks=[], yticks=[])
        ax.grid(False)
