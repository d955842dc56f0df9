"""The published protocol gives the printed digits; its claims are tested by expressions that can come out otherwise."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import SVC

from pa_lab import PAClassifier, datasets
from pa_lab.study import experiments, published

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = published.load_table("claims").set_index("claim")
real_data = pytest.mark.skipif(datasets.available("ijcnn1") is None, reason="needs the real ijcnn1")


@pytest.fixture(scope="module")
def ijcnn1():
    return datasets.load("ijcnn1")


@pytest.fixture(scope="module")
def checked(ijcnn1):
    return published.compare(pd.DataFrame(published.run_protocol(None, ijcnn1)))


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    return rng.standard_normal((300, 4)), rng.choice([-1, 1], 300)


def plain_loop(X, y, variant, C, road, draws=None):
    """The rule at each place of the road, spelled out."""
    w, updates = np.zeros(X.shape[1]), 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        p = w @ x
        ask = 1 / (1 + (abs(p) if road >= published.INVERSE else abs(np.sign(p))))
        if draws is not None and draws[t] >= ask:
            continue
        loss = max(0, 1 - label * p)
        if loss == 0 or (road < published.INSIDE and np.sign(p) == label):
            continue
        top = loss if road >= published.LOSS else 1
        bottom = np.linalg.norm(x) ** (2 if road >= published.SQUARED else 1)
        slack = 1 / (2 * C) if road >= published.INVERSE else 2 * C
        tau = {"PA": top / bottom, "PA-I": min(C, top / bottom), "PA-II": top / (bottom + slack)}[variant]
        w += tau * label * x
        updates += 1
    return w, updates


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("road", range(published.ONCE))
@pytest.mark.parametrize("variant", published.RULES)
def test_the_compiled_rule_is_the_plain_one(rows, variant, road, active):
    X, y = rows
    draws = np.random.default_rng(0).random(len(y)) if active else None
    w, counts = published.learn(X, y, variant, 0.3, road, **({"draws": draws} if active else {}))
    expected, updates = plain_loop(X, y, variant, 0.3, road, draws)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    assert counts["updates"] == updates


@pytest.mark.parametrize("variant", published.RULES)
def test_the_road_ends_at_pa(rows, variant):
    X, y = rows
    model = PAClassifier(variant, C=0.3, fit_intercept=False).fit(X, y)
    w, counts = published.learn(X, y, variant, 0.3, published.INVERSE)
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-9)
    assert (counts["updates"], counts["mistakes"]) == (model.n_updates_, model.n_mistakes_)
    halves = published.learn(X[:100], y[:100], variant, 0.3, published.INVERSE)[0]
    goes_on = published.learn(X[100:], y[100:], variant, 0.3, published.INVERSE, w=halves)[0]
    np.testing.assert_array_equal(goes_on, w)


def test_the_active_rule_asks_at_zero_and_for_every_second_label(rows):
    X, y = rows
    never = published.learn(X, y, "PA", draws=np.full(len(y), 0.5))[1]
    assert (never["queries"], never["updates"]) == (1, 1)  # the first row only, where p = 0
    always, passive = published.learn(X, y, "PA", draws=np.full(len(y), 0.49)), published.learn(X, y, "PA")
    assert always[1] == passive[1]


def test_hard_scores_are_those_of_scikit_learn(rows):
    X, y = rows
    hard = np.where(X[:, 0] > 0, 1, -1)
    assert published.hard_scores(y, X[:, 0]) == pytest.approx(
        {"auc": 100 * roc_auc_score(y, hard), "f1": 100 * f1_score(y, hard)}
    )
    np.testing.assert_allclose(published.decide(X, np.arange(4.0)), X @ np.arange(4.0))
    for other in (np.asfortranarray(X), X[::2], X[:, :3]):
        np.testing.assert_allclose(
            published.decide(other, np.arange(float(other.shape[1]))), other @ np.arange(other.shape[1])
        )


def test_the_svm_scores_are_those_of_libsvm(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path))
    X, y = rows
    decision, seconds = published.svm_decisions(X, y, 0.1, X)
    np.testing.assert_allclose(
        decision, SVC(kernel="linear", C=0.1).fit(experiments.dyadic(X), y).decision_function(X), atol=1e-9
    )
    assert seconds > 0


@real_data
def test_the_streams_are_as_long_as_the_paper_says(ijcnn1):
    y, noisy = published.stream(ijcnn1)[1], published.stream(ijcnn1, "table5")[1]
    assert (np.sum(y == -1), np.sum(y == 1)) == (58_689, 6_291)
    changed = np.flatnonzero(y != noisy)
    assert len(changed) == published.FLIPPED and changed.max() < published.NOISY_ROWS and (y[changed] == 1).all()
    assert published.stream(ijcnn1, "table3")[0].shape == (58_482, 12)
    assert published.stream(ijcnn1, road=published.WIDE)[0].shape == (49_990, 22)


@real_data
@pytest.mark.parametrize("table", ["table1", "table5"])
def test_every_pa_cell_is_within_two_hundredths_of_the_printed(checked, table):
    cells = checked[checked["table"] == table]
    assert len(cells) == 14
    assert cells["difference"].abs().max() <= 0.02
    assert set(cells["mark"]) == {"reproduced"}


@real_data
def test_the_last_fold_gives_the_first_blocks_of_table_3(checked):
    table = checked[(checked["table"] == "table3") & checked["printed"].notna()]
    close = table["difference"].abs() <= 0.02
    assert close[table["variant"] != "PA-II"].all() and not close[table["variant"] == "PA-II"].any()


def test_the_second_block_of_table_3_repeats_table_1():
    printed = published.load_table("ezukwoke_zareian_2019")
    blocks = [
        printed.loc[(printed["table"] == table) & (printed["variant"] == "PA-II"), "value"].tolist()
        for table in ("table1", "table3")
    ]
    assert len(blocks[0]) == 18 and blocks[0] == blocks[1]


@real_data
def test_the_update_counts_are_equal(checked):
    counts = checked[checked["table"] == "update_counts"]
    assert counts["recomputed"].tolist() == counts["printed"].tolist() == [3190, 3065, 3162]


def test_a_cell_that_differs_is_marked():
    printed = published.load_table("ezukwoke_zareian_2019")
    runs = printed.assign(value=printed["value"].fillna(0) + 0.03)
    marks = published.compare(runs).set_index("model")["mark"]
    assert set(marks["PA"]) == {"not reproduced", "digits lost"}
    around = pd.concat([runs.assign(value=runs["value"] + shift) for shift in (-1, 0, 1)])
    assert set(published.compare(around).set_index("model")["mark"]["APA"]) == {"inside 95 % range"}


def made_up(expression, true):
    """Figures under which a claim is plainly true or false."""
    pairs = re.findall(r"above\((\w+), (\w+)", expression)
    height = {name: 0 for pair in pairs for name in pair} | {high: 10 for high, _ in pairs}
    noise = 0.1 * np.random.default_rng(0).standard_normal((4, 6))
    return {name: 1 + (value if true else -value) + noise for name, value in height.items()}


@pytest.mark.parametrize("claim", CLAIMS.index)
def test_a_verdict_turns_when_its_figures_are_swapped(claim):
    def verdict(true, swap=False):
        figures = made_up(CLAIMS.loc[claim, "recomputed"], true)
        return published.judge(figures, figures, {}, swap=swap).set_index("claim").loc[claim, "verdict"]

    assert verdict(True) == "holds"
    assert verdict(True, swap=True) == verdict(False) == "does not hold"


@pytest.mark.parametrize(
    "protocol, sound, verdict",
    [
        (True, True, "holds"),
        (False, True, "holds"),
        (True, False, "holds only under the published protocol"),
        (False, False, "does not hold"),
        (None, False, "does not hold"),
        (True, None, "cannot be decided"),
    ],
)
def test_verdicts(protocol, sound, verdict):
    assert published.verdict(protocol, sound) == verdict


def test_without_sound_figures_the_protocol_run_again_decides():
    slow, fast = np.full((2, 3), 2.0), np.ones((2, 3))
    times = {"pa_seconds": slow, "apa_seconds": fast, "svm_seconds": slow + 1}
    claim = published.judge(times, None, {}).set_index("claim")
    assert claim["verdict"].to_dict() == {
        "PA is faster than SVM": "holds when run again",
        "Active PA is fastest": "holds when run again",
    }
    assert claim["sound_figures"].isna().all() and claim["printed_figures"].isna().all()
    turned = published.judge(times | {"apa_seconds": slow + 2}, None, times).set_index("claim")
    assert turned.loc["Active PA is fastest", "verdict"] == "does not hold when run again"
    assert turned.loc["Active PA is fastest", "printed"]
    assert published.judge(times, {}, times).empty  # sound figures are asked for, and missing


def test_mistakes_are_printed_as_updates():
    counts = CLAIMS.loc["Active PA makes fewer mistakes"]
    assert "updates" in counts["printed"] and "mistakes" in counts["recomputed"]
    others = CLAIMS.drop("Active PA makes fewer mistakes")
    assert (others["printed"] == others["recomputed"]).all()


def test_a_difference_within_chance_is_left_open():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3, 8))
    assert published.above(a, b) is None and published.above(a + 9, b) is True and published.above(a - 9, b) is False
    assert published.above([2.0], [1.0], by=1.5) is False


def test_the_tables_are_packaged_and_cited():
    package_data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert package_data["pa_lab.study"] == ["datasets.csv", "published_tables/*"]
    folder = ROOT / "pa_lab" / "study" / "published_tables"
    readme = (folder / "README.md").read_text()
    assert all(f"`{path.name}`" in readme for path in folder.glob("*.csv"))
