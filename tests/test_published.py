"""The compiled loop of notebook 08 is the plain one at each place of its road; printed tables are compared rightly."""

from pathlib import Path

import nbformat
import numba
import numpy as np
import pytest

from pa_lab import PAClassifier

ROOT = Path(__file__).resolve().parents[1]
RULES = ("PA", "PA-I", "PA-II")
PARTS = (*(f"@numba.njit\ndef {name}(" for name in ("moves_weights", "how_far", "walk")), "def fast(")
SQUARED, LOSS, INSIDE, ORIGINAL = range(1, 5)  # changes on the road from the published rule to PA


@pytest.fixture(scope="module")
def fast():
    """The loop of notebook 08: ``fast(X, y, rule, C, changes, draws, w)``."""
    cells = nbformat.read(ROOT / "notebooks/08_published_tables.ipynb", 4).cells
    sources = [cell.source for cell in cells if cell.source.startswith(PARTS)]
    names = {"np": np, "numba": numba}
    exec("\n\n".join(source.partition("\n\n\n")[0] for source in sources), names)
    return names["fast"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return rng.standard_normal((300, 4)), rng.choice([-1, 1], 300)


def plain_loop(X, y, variant, C, changes, draws=None):
    """The rule at each place of the road, spelled out."""
    w, updates = np.zeros(X.shape[1]), 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        p = w @ x
        ask = 1 / (1 + (abs(p) if changes >= ORIGINAL else abs(np.sign(p))))
        if draws is not None and draws[t] >= ask:
            continue
        loss = max(0, 1 - label * p)
        if loss == 0 or (changes < INSIDE and np.sign(p) == label):
            continue
        top = loss if changes >= LOSS else 1
        bottom = np.linalg.norm(x) ** (2 if changes >= SQUARED else 1)
        slack = 1 / (2 * C) if changes >= ORIGINAL else 2 * C
        tau = {"PA": top / bottom, "PA-I": min(C, top / bottom), "PA-II": top / (bottom + slack)}[variant]
        w += tau * label * x
        updates += 1
    return w, updates


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("changes", range(ORIGINAL + 1))
@pytest.mark.parametrize("variant", RULES)
def test_the_compiled_rule_is_the_plain_one(fast, rows, variant, changes, active):
    X, y = rows
    draws = np.random.default_rng(0).random(len(y)) if active else None
    w, updates, _ = fast(X, y, variant, 0.3, changes, draws)
    expected, expected_updates = plain_loop(X, y, variant, 0.3, changes, draws)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    assert updates == expected_updates


@pytest.mark.parametrize("variant", RULES)
def test_the_road_ends_at_pa(fast, rows, variant):
    X, y = rows
    model = PAClassifier(variant, C=0.3, fit_intercept=False).fit(X, y)
    w, updates, mistakes = fast(X, y, variant, 0.3, ORIGINAL)
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-9)
    assert (updates, mistakes) == (model.n_updates_, model.n_mistakes_)
    halves = fast(X[:100], y[:100], variant, 0.3, ORIGINAL)[0]
    np.testing.assert_array_equal(fast(X[100:], y[100:], variant, 0.3, ORIGINAL, None, halves)[0], w)
