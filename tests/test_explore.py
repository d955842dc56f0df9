"""The page to play with: its learners against pa_lab, what it is built from, and the page itself in a browser."""

import copy
import importlib.util
import json
import re
import shutil
import sys

import numpy as np
import pytest
import quickjs

from pa_lab import KernelPAClassifier, PAClassifier
from pa_lab.budget import POLICIES
from pa_lab.queries import QUERIES
from pa_lab.rules import VARIANTS
from pa_lab.study import store

spec = importlib.util.spec_from_file_location("explore", store.ROOT / "report" / "explore.py")
explore = sys.modules["explore"] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
spec.loader.exec_module(explore)

# ---------------------------------------------------------------- the learners, in an engine without a browser

RUN = """
function run(text) {
  const { kind, settings, X, y, draws, grid } = JSON.parse(text);
  const model = kind === "linear" ? new LinearPA(settings) : new KernelPA(settings);
  X.forEach((x, i) => model.learn(x, y[i], draws[i]));
  return JSON.stringify({
    counts: [model.seen, model.updates, model.mistakes, model.queries],
    scores: grid.map((x) => model.score(x)),
    weights: kind === "linear" ? [...model.w] : [],
    averaged: kind === "linear" ? [...model.averaged()] : [],
    numbers: model.numbers ?? [],
  });
}
"""


@pytest.fixture(scope="module")
def javascript():
    """Call a function of the page's learners with JSON and get JSON back."""
    context = quickjs.Context()
    context.eval(explore.script(explore.LEARNERS) + RUN)

    def call(name, *arguments):
        return json.loads(context.eval(f"{name}({', '.join(json.dumps(json.dumps(a)) for a in arguments)})"))

    return call


def random_stream(rng, n_features):
    """A stream that no learner gets right throughout, with a row of zeros, and new points to score."""
    n, d = int(rng.integers(20, 80)), n_features
    X = rng.normal(size=(n, d))
    X[n // 2] = 0.0
    y = np.where(X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=n) > 0.0, 1, -1)
    y[:2] = 1, -1
    return X, y, rng.normal(size=(20, d))


def random_asking(rng):
    return {
        "query": str(rng.choice(QUERIES)),
        "delta": float(10 ** rng.uniform(-1.0, 0.5)),
        "query_rate": float(rng.uniform(0.2, 0.8)),
        "label_budget": int(rng.integers(5, 60)) if rng.random() < 0.3 else None,
    }


def draws_of(seed, n):
    """The uniform numbers that a learner with this seed asks by."""
    return np.random.default_rng(seed).spawn(2)[1].random(n)


def settings_of(parameters):
    """The parameters under the names that the page's learners give them."""
    names = {
        "query_rate": "rate",
        "label_budget": "labelBudget",
        "fit_intercept": "intercept",
        "budget_policy": "policy",
    }
    return {names.get(key, key): value for key, value in parameters.items() if value is not None}


def compare(javascript, kind, model, parameters, X, y, grid, seed):
    request = {
        "kind": kind, "settings": settings_of(parameters) | {"features": X.shape[1]}, "X": X.tolist(), "y": y.tolist(),
        "draws": draws_of(seed, len(y)).tolist(), "grid": grid.tolist(),
    }  # fmt: skip
    found = javascript("run", request)
    model.fit(X, y)
    assert found["counts"] == [model.n_seen_, model.n_updates_, model.n_mistakes_, model.n_queries_], parameters
    return found


def close(found, expected):
    expected = np.ravel(expected)
    return np.allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0.0)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_linear_learners_equal_pa_lab_on_25_random_streams_each(javascript, variant):
    rng = np.random.default_rng(VARIANTS.index(variant))
    for seed in range(25):
        X, y, grid = random_stream(rng, int(rng.integers(1, 6)))
        parameters = {
            "variant": variant, "C": float(10 ** rng.uniform(-3.0, 2.0)), "fit_intercept": bool(rng.random() < 0.5),
            **random_asking(rng),
        }  # fmt: skip
        last, mean = (PAClassifier(**parameters, average=average, random_state=seed) for average in (False, True))
        found = compare(javascript, "linear", last, parameters, X, y, grid, seed)
        mean.fit(X, y)
        assert close(found["weights"], np.append(last.coef_, last.intercept_)), parameters
        assert close(found["averaged"], np.append(mean.coef_, mean.intercept_)), parameters
        assert close(found["scores"], last.decision_function(grid)), parameters


@pytest.mark.parametrize("policy", [None, *POLICIES])
def test_kernel_learners_equal_pa_lab_on_20_random_streams_each(javascript, policy):
    """With more features than vectors for the linear kernel: where vectors span each other, rounding decides."""
    rng = np.random.default_rng(len(policy or ""))
    for seed in range(20):
        kernel = str(rng.choice(["rbf", "rbf", "linear", "poly"]))
        X, y, grid = random_stream(rng, 2 if kernel == "rbf" else 12)
        parameters = {
            "variant": str(rng.choice(VARIANTS)), "C": float(10 ** rng.uniform(-2.0, 1.0)), "kernel": kernel,
            "gamma": float(10 ** rng.uniform(-0.7, 0.3)), "degree": 2, "coef0": 1.0, **random_asking(rng),
        }  # fmt: skip
        if policy:
            parameters |= {"budget": int(rng.integers(1, 12)), "budget_policy": policy}
        model = KernelPAClassifier(**parameters, random_state=seed)
        found = compare(javascript, "kernel", model, parameters, X, y, grid, seed)
        assert close(found["scores"], model.decision_function(grid)), parameters
        assert sorted(found["numbers"]) == sorted(model.support_.tolist()), parameters


# ---------------------------------------------------------------- the stream it opens with

# ---------------------------------------------------------------- what the page is built from

MODULES = {name: (explore.SOURCES / f"{name}.js").read_text() for name in (*explore.LEARNERS, *explore.VIEWS)}


@pytest.fixture(scope="module")
def page():
    return explore.page(explore.curves(store.ROOT))


def test_the_page_is_one_small_file_that_asks_for_nothing(page):
    assert len(page.encode()) < 1_000_000
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|sendBeacon|WebSocket|<(link|iframe|img)\b| src=", page)
    assert "{{" not in page.split("<script>")[0]


def test_the_page_on_disk_is_what_its_sources_give(page):
    assert (store.ROOT / explore.PAGE).read_text() == page, "run `python report/explore.py`"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_makes_no_markup_from_text(name):
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", MODULES[name])


def test_a_missing_result_stops_the_build_with_its_name_and_leaves_the_page(tmp_path):
    results = tmp_path / "report" / "results"
    results.mkdir(parents=True)
    for path in (store.ROOT / "report" / "results").glob("*.json"):
        shutil.copy(path, results)
    assert explore.write(tmp_path) is None, "a project without the page"
    shutil.copytree(explore.SOURCES, tmp_path / "report" / "explore")
    assert explore.write(tmp_path) == tmp_path / explore.PAGE
    before = (tmp_path / explore.PAGE).read_bytes()
    topic = explore.TOPICS[0]
    path = results / f"{topic.results}.json"
    whole = json.loads(path.read_text())

    def rebuild(change):
        broken = copy.deepcopy(whole)
        change(broken["values"])
        path.write_text(json.dumps(broken))
        with pytest.raises(explore.MissingResultError) as error:
            explore.write(tmp_path)
        assert f"report/results/{topic.results}.json" in str(error.value)
        assert (tmp_path / explore.PAGE).read_bytes() == before
        return str(error.value)

    assert f"values.{topic.rows}" in rebuild(lambda values: values.pop(topic.rows))
    assert topic.scores[0].key in rebuild(lambda values: [row.pop(topic.scores[0].key) for row in values[topic.rows]])
    assert "method" in rebuild(lambda values: [row.update(method="other") for row in values[topic.rows]])
    path.unlink()
    with pytest.raises(explore.MissingResultError, match=topic.results):
        explore.write(tmp_path)


def test_curves_hold_the_numbers_of_the_results():
    for topic, chart in zip(explore.TOPICS, explore.curves(store.ROOT), strict=True):
        rows = json.loads((store.ROOT / "report" / "results" / f"{topic.results}.json").read_text())["values"][
            topic.rows
        ]
        for score in topic.scores:
            stored = {float(f"{row[score.key]:.4g}") for row in rows if row.get(score.key) is not None}
            for line in chart["lines"]:
                assert line["values"][score.id], line["name"]
                assert {point[1] for point in line["values"][score.id]} <= stored
                assert all(low <= value <= high for _, value, low, high, _ in line["values"][score.id])


def test_text_in_the_results_cannot_end_the_data(monkeypatch):
    topics = explore.curves(store.ROOT)
    topics[0]["name"] = "</script><script>alert(1)</script>"
    built = explore.page(topics)
    assert built.count("<script") == 2
    data = re.search(r'id="data">(.*?)</script>', built, re.S)[1]
    assert json.loads(data)["topics"][0]["name"] == topics[0]["name"]
