"""The learners give the same bits as ever: digests of what they learnt, kept in golden.json.

A change that alters digests on purpose rewrites them and names them in its commit:

    python tests/test_golden.py 'kernel/*/float32/*' ...    (names or patterns; '*' stands for all)
"""

import fnmatch
import hashlib
import itertools
import json
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from pa_lab import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from pa_lab.rules import VARIANTS

GOLDEN = Path(__file__).with_name("golden.json")
TASKS = "two", "many", "ovr", "real"
FORMS = "dense", "csr", "float32"
OPTIONS = {  # what is set beside the variant, and how the rows are handed over
    "plain": {},
    "average": {"average": True},
    "small C": {"C": 0.05},
    "no intercept": {"fit_intercept": False},
    "scaled intercept": {"intercept_scaling": 0.3},
    "epochs": {"max_iter": 4, "shuffle": True, "average": True},
    "stopping": {"max_iter": 9, "tol": 0.01, "n_iter_no_change": 1, "early_stopping": True, "shuffle": True},
    "weights": {"class_weight": "balanced", "sample_weight": True, "average": True},
    "batch": {"batch_size": 7},
    "batch average": {"batch_size": 7, "average": True, "C": 0.2},
    "margin": {"query": "margin", "delta": 0.4, "average": True},
    "random": {"query": "random", "query_rate": 0.3},
    "threshold": {"query": "threshold", "delta": 0.7},
    "label budget": {"query": "margin", "label_budget": 23, "average": True},
    "batch margin": {"query": "margin", "batch_size": 5, "average": True},
    "calls": {"by": "calls", "average": True},
    "asked": {"by": "asked", "query": "margin", "average": True},
}
QUERIES = {"random", "threshold", "margin", "label budget", "batch margin", "asked"}
CLASSES_ONLY = QUERIES | {"weights"}
LINEAR_ONLY = {"no intercept", "scaled intercept"}
HOLDS = {
    "growing": {},
    "landmarks": {"landmarks": 12},
    "euclidean": {"landmarks": 12, "landmark_norm": "euclidean"},
    **{policy: {"budget": 9, "budget_policy": policy}
       for policy in ("removal", "nearest", "projection", "oldest", "smallest")},
}  # fmt: skip
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2},
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "laplacian": {"kernel": "laplacian", "gamma": 0.4},
    "scale": {"gamma": "scale"},
    "precomputed": {"kernel": "precomputed"},
    "callable": {"kernel": lambda A, B: np.maximum(0.0, 1.0 - abs(A[:, None, :] - B[None])).sum(axis=2)},
}


def make_names():
    """Return the names of all cases: kind/task/variant/form[/hold/kernel]/option."""
    names = [f"linear/{'/'.join(case)}" for case in itertools.product(TASKS, VARIANTS, FORMS, OPTIONS)]
    for case in itertools.product(TASKS, VARIANTS, FORMS, HOLDS):
        names.append(f"kernel/{'/'.join(case)}/rbf/plain")
    for task, hold, option in itertools.product(("two", "many"), HOLDS, OPTIONS):
        names.append(f"kernel/{task}/PA-I/dense/{hold}/rbf/{option}")
    for hold, kernel in itertools.product(("growing", "landmarks", "projection", "nearest"), KERNELS):
        names.append(f"kernel/two/PA-II/dense/{hold}/{kernel}/plain")
    return sorted(set(filter(exists, names)))


def exists(name):
    """Say whether the learners have such a case."""
    kind, task, variant, form, *hold, option = name.split("/")
    settings, budget = OPTIONS[option], "budget" in HOLDS.get(hold[0], {}) if hold else False
    joint = settings.get("batch_size", 1) > 1
    return not (
        (variant == "PA" and (joint or option in ("weights", "small C")))
        or (task == "ovr" and joint)
        or (task == "real" and option in CLASSES_ONLY)
        or (kind == "kernel" and option in LINEAR_ONLY)
        or (budget and (joint or settings.get("average")))
        or (budget and form == "float32" and (hold[0] != "projection" or task != "two"))  # sooner compiled
    )


@cache
def make_data(task, form):
    """Return rows, labels and new rows; made of whole numbers and sums in one order, so the same everywhere."""
    rng = np.random.default_rng(31)
    X = rng.integers(-64, 65, (120, 6)) / 64.0
    X[rng.random(X.shape) < 0.3] = 0.0
    X[17] = 0.0
    p = 2 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3] + (rng.random(len(X)) - 0.5)
    y = p if task == "real" else np.where(p > 0.1, "b", "a") if task == "two" else np.digitize(p, [-1.0, 0.1, 0.9])
    new = rng.integers(-64, 65, (40, 6)) / 64.0
    if form == "csr":
        return scipy.sparse.csr_matrix(X), y, scipy.sparse.csr_matrix(new)
    dtype = np.float32 if form == "float32" else np.float64
    return X.astype(dtype), y, new.astype(dtype)


def learn(name):
    """Run a case; return the learner and new rows."""
    kind, task, variant, form, *hold, option = name.split("/")
    settings = {"variant": variant, "C": 0.5, "random_state": 7} | OPTIONS[option]
    X, y, new = make_data(task, form)
    by, weigh = settings.pop("by", "fit"), settings.pop("sample_weight", False)
    if hold:
        settings |= HOLDS[hold[0]] | KERNELS[hold[1]]
    if hold and hold[1] == "precomputed":
        X, new = X @ X.T + 1.0, new @ X.T + 1.0  # exact: sums of whole 4096ths
    if task == "ovr":
        settings["multi_class"] = "ovr"
    learners = {"linear": (PAClassifier, PARegressor), "kernel": (KernelPAClassifier, KernelPARegressor)}
    model = learners[kind][task == "real"](**settings)
    classes = {} if task == "real" else {"classes": np.unique(y)}
    if by == "calls":
        for part in (slice(0, 50), slice(50, 57), slice(57, 120)):
            model.partial_fit(X[part], y[part], **classes)
    elif by == "asked":
        step = 40 if "landmarks" in settings else 4
        for at in range(0, 120, step):
            rows = at + np.flatnonzero(model.should_query(X[at : at + step]))
            if len(rows):
                model.partial_fit(X[rows], y[rows], asked=True, **classes)
    else:
        weights = {"sample_weight": np.arange(120) % 5 / 4.0} if weigh else {}
        model.fit(X, y, **weights)
    return model, new


def digest(name):
    """Return digests of the weights and of the scores of new rows, and the counters of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, new = learn(name)
        scores = model.decision_function(new) if hasattr(model, "decision_function") else model.predict(new)
    kernel = name.startswith("kernel")
    state = [model.dual_coef_, model.support_vectors_] if kernel else [model.coef_, model.intercept_]
    codes = [hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in part)).hexdigest()[:8]
             for part in (state, [scores])]  # fmt: skip
    counts = model.n_seen_, model.n_updates_, model.n_mistakes_, model.n_queries_, model.n_iter_
    return " ".join([*codes, *map(str, counts)])


@pytest.mark.parametrize("group", sorted({"/".join(name.split("/")[:2]) for name in make_names()}))
def test_what_was_learnt_is_what_was_always_learnt(group):
    golden = {name: code for name, code in json.loads(GOLDEN.read_text()).items() if name.startswith(group + "/")}
    found = {name: digest(name) for name in make_names() if name.startswith(group + "/")}
    assert found.keys() == golden.keys(), "a new case: run `python tests/test_golden.py PATTERN` for its digests"
    other = [f"{name}: {golden[name]} became {code}" for name, code in found.items() if code != golden[name]]
    assert not other, f"{len(other)} of {len(found)} differ:\n" + "\n".join(other)


if __name__ == "__main__":
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    wanted = {name for name in make_names() for pattern in sys.argv[1:] if fnmatch.fnmatchcase(name, pattern)}
    new = {name: digest(name) for name in sorted(wanted)}
    changed = [name for name in new if new[name] != golden.get(name)]
    kept = {name: golden[name] for name in make_names() if name in golden}
    GOLDEN.write_text(json.dumps(dict(sorted((kept | new).items())), indent=0) + "\n")
    print(f"{len(wanted)} cases run, {len(changed)} digests changed:", *changed[:50])
