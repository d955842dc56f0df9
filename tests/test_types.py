"""The types of the public names: they agree with the code, and a type checker finds a user's slips through them."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from mypy import api

import pa_lab
from pa_lab.budget import POLICIES
from pa_lab.kernels import KINDS
from pa_lab.queries import QUERIES
from pa_lab.rules import VARIANTS

STUB = Path(pa_lab.__file__).with_name("__init__.pyi")
RIGHT = """
import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from pa_lab import KernelPAClassifier, PAClassifier, PARegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 3))
y = np.where(X[:, 0] > 0, "up", "down")
rows = sparse.csr_matrix(X)

model = PAClassifier("PA-II", C=0.5, average=True, class_weight={"up": 2.0}).fit(X, y)
print(model.predict(X)[:3], model.coef_.shape, model.n_updates_)
stream = PAClassifier(query="margin", label_budget=10, random_state=np.random.default_rng(1))
for i in range(len(y)):
    if stream.should_query(X[i : i + 1])[0]:
        stream.partial_fit(X[i : i + 1], [y[i]], classes=["down", "up"], asked=True)
print(stream.n_queries_, PARegressor(epsilon=0.2).fit(rows, X[:, 0]).predict(rows).mean())
print(KernelPAClassifier(gamma="scale", budget=20).fit(X.tolist(), y.tolist()).score(X, y))
"""
WRONG = """
from pa_lab import PAClassifier

model = PAClassifier(C="x")
model.predit([[1.0]])
PAClassifier("PA-3")
"""


def stub_signatures():
    """The methods of each class of the stub, with those of the classes it builds on, as {name: arguments}."""
    tree = ast.parse(STUB.read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def methods(node):
        own = {part.name: part.args for part in node.body if isinstance(part, ast.FunctionDef)}
        return {name: args for base in node.bases for name, args in methods(classes[base.id]).items()} | own

    return {name: methods(node) for name, node in classes.items() if name in pa_lab.__all__}


@pytest.mark.parametrize("name", pa_lab.__all__)
def test_the_stub_has_the_parameters_of_the_code(name):
    learner, methods = getattr(pa_lab, name), stub_signatures()[name]
    for method, args in methods.items():
        code = getattr(learner, method)
        if isinstance(code, property):
            continue
        given = [a.arg for a in args.args + args.kwonlyargs + ([args.kwarg] if args.kwarg else [])]
        assert given == list(inspect.signature(code).parameters), method
    defaults = [ast.literal_eval(value) for value in methods["__init__"].defaults]
    assert defaults == [p.default for p in inspect.signature(learner).parameters.values()]
    public = {method for method, code in inspect.getmembers(learner, inspect.isfunction) if method[0] != "_"}
    from_scikit_learn = {"get_metadata_routing", *(each for each in public if each.endswith("_request"))}
    assert public - from_scikit_learn <= methods.keys()


@pytest.mark.parametrize("words", [VARIANTS, QUERIES, [*KINDS, "precomputed"], list(POLICIES)], ids=str)
def test_words_are_the_same_in_code_stub_and_documentation(words):
    literals = [re.findall(r'"([^"]+)"', found) for found in re.findall(r"Literal\[([^]]+)\]", STUB.read_text())]
    assert set(words) in map(set, literals)
    told = re.findall(r"^ *\w+ : \{(.*?)\}", pa_lab.KernelPAClassifier.__doc__, re.M)
    assert set(words) in [set(re.findall(r'"([^"]+)"', found)) for found in told]


def test_a_type_checker_passes_a_right_script_and_finds_three_slips_in_a_wrong_one(tmp_path, monkeypatch):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPYPATH", str(STUB.parents[1]))
    said = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"])[0].splitlines()
    assert [line.split(": ")[0] for line in said[:-1]] == ["wrong.py:4", "wrong.py:5", "wrong.py:6"], said
    exec(compile(RIGHT, "right.py", "exec"), {})
