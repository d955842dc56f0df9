"""The checker of the exercises accepts every solution and refuses plausible wrong answers, and says why."""

import importlib
import re
import time
from pathlib import Path

import nbformat
import numpy as np
import pytest

import solutions
from pa_lab.study.datasets import StandInWarning

NOTEBOOKS = Path(solutions.__file__).parents[1]
FILES = sorted(path.stem for path in NOTEBOOKS.glob("solutions/[0-9]*.py"))
for stem in FILES:
    importlib.import_module(f"solutions.{stem}")


@pytest.mark.parametrize("name", solutions.EXERCISES)
def test_the_solution_is_right_and_each_slip_is_not(name):
    start = time.process_time()
    try:
        (solution, lesson), *slips = solutions.EXERCISES[name].answers()
    except StandInWarning:
        pytest.skip("the answer is about real rows, which are not here")
    assert time.process_time() - start < 5, "an exercise is checked in a small size"
    assert slips, "a plausible wrong answer is missing"
    assert solutions.judge(name, solution) == (True, lesson)
    for slip, why in slips:
        assert solutions.judge(name, slip) == (False, why)
    for nonsense in ("nonsense", np.nan, None, lambda: None):
        right, why = solutions.judge(name, nonsense)
        assert not right and why
        assert isinstance(solution, str) or callable(solution) or np.ndim(solution) or str(solution) not in why


@pytest.mark.parametrize("stem", FILES)
def test_a_notebook_has_the_exercises_that_have_solutions(stem):
    (path,) = NOTEBOOKS.glob(f"{stem}_*.ipynb")
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    named = re.findall(r'check\("([\d.]+)"', text)
    assert 3 <= len(named) <= 5 and named == [name for name in solutions.EXERCISES if int(name[:-2]) == int(stem)]


@pytest.fixture
def trial(monkeypatch):
    """Exercises of a notebook that does not exist: a number, an array, a word and a function."""
    monkeypatch.setattr(solutions, "EXERCISES", {})
    monkeypatch.setattr(solutions.importlib, "import_module", lambda name: None)

    def add(name, *answers, **how):
        solutions.exercise(name, **how)(lambda: iter([(answer, f"lesson {i}") for i, answer in enumerate(answers)]))

    add("99.1", 0.25, 0.5, within=0.01)
    add("99.2", np.array([1.0, -2.0]), np.array([1.0, 2.0]))
    add("99.3", "fewer", "more")
    add("99.4", lambda a, b: a * b, lambda a, b: a + b, inputs=lambda rng: tuple(rng.normal(size=2)))


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [("99.1", 0.2501, "right. lesson 0"), ("99.1", "0.25", "right"), ("99.1", 0.5, "not yet. lesson 1"),
     ("99.1", 0.26, "too large"), ("99.1", [0.25], "shape"), ("99.1", "a quarter", "Give a number"),
     ("99.1", ..., "no answer yet"), ("99.2", [1, -2], "right"), ("99.2", [1, -2.1], r"\[1\] is too small"),
     ("99.2", [1, 2], "lesson 1"), ("99.3", " Fewer ", "right"), ("99.3", "more", "lesson 1"),
     ("99.3", "less", "'fewer', 'more'"), ("99.3", 3, "'fewer', 'more'"), ("99.4", lambda a, b: b * a, "right"),
     ("99.4", lambda a, b: a + b, "lesson 1"), ("99.4", lambda a, b: a, "which is not right"),
     ("99.4", lambda a: a, "it fails: TypeError"), ("99.4", 7, "Give a function")])  # fmt: skip
def test_what_the_checker_says(trial, capsys, name, answer, says):
    solutions.check(name, answer)
    assert re.search(says, capsys.readouterr().out)


def test_an_unknown_exercise_gets_a_sentence(trial):
    for name in ("99.5", "one", 3):
        with pytest.raises(ValueError, match=r"There is no exercise .* a name looks like"):
            solutions.check(name, 1.0)
