"""The checker of the exercises: `check("2.1", answer)` in a notebook.

The solutions stand beside this file, one file for each notebook. Look there last.
"""

import copy
import importlib
from typing import NamedTuple

import numpy as np

EXERCISES = {}


class Exercise(NamedTuple):
    """What `exercise` keeps of an exercise."""

    answers: object
    within: float
    inputs: object


def exercise(name, within=1e-6, inputs=None):
    """Register a function that yields the solution, then plausible wrong answers.

    Each comes with what to say of it: ``yield 0.25, "The cap binds."`` An answer is a
    word, a number, an array or a function. The function that yields the answers runs
    whenever one is checked, and takes at most five seconds.

    Parameters
    ----------
    name : str
        The number of the notebook and of the exercise, as in "2.1".
    within : float
        How far numbers may be from the solution, relative to its largest one.
    inputs : callable, optional
        Where the answer is a function: takes a random generator, and returns the
        arguments of one call.
    """

    def register(answers):
        EXERCISES[name] = Exercise(answers, within, inputs)
        return answers

    return register


def check(name, answer):
    """Print whether an answer is right, and why. The solution is not shown."""
    if answer is ...:
        print(f"{name}: no answer yet. Put yours in the place of the three dots.")
        return
    right, why = judge(name, answer)
    print(f"{name}: {'right' if right else 'not yet'}. {why}")


def judge(name, answer):
    """Return whether an answer is right, and what to say of it."""
    one = find(name)
    (solution, lesson), *slips = one.answers()
    if not isinstance(answer, str) and isinstance(solution, str):
        return (
            False,
            f"Answer with one of {options([solution, *(slip for slip, _ in slips)])}.",
        )
    if callable(answer) != callable(solution):
        return False, "Give a function." if callable(
            solution
        ) else "Give the value, not a function."
    wrong = difference(answer, solution, one)
    if not wrong:
        return True, lesson
    for slip, why in slips:
        if not difference(answer, slip, one):
            return False, why
    if isinstance(solution, str):
        wrong = (
            f"Answer with one of {options([solution, *(slip for slip, _ in slips)])}."
        )
    return False, wrong


def find(name):
    """Return an exercise; its file is read when one of it is asked for first."""
    number = str(name).partition(".")[0]
    try:
        importlib.import_module(f"solutions.{int(number):02d}")
        return EXERCISES[name]
    except (ValueError, ModuleNotFoundError, KeyError):
        hint = 'a name looks like "2.1", the first of notebook 02'
        raise ValueError(f"There is no exercise {name!r}; {hint}.") from None


def options(words):
    """Return the words that may be answered, in the order of the alphabet."""
    return ", ".join(repr(word) for word in sorted(words))


def difference(answer, expected, one):
    """Say how an answer differs from what is expected; "" if it does not."""
    if isinstance(expected, str):
        return "" if str(answer).strip().lower() == expected else "It is another word."
    if callable(expected):
        return of_functions(answer, expected, one)
    try:
        answer, expected = np.asarray(answer, float), np.asarray(expected, float)
    except (TypeError, ValueError):
        return (
            "Give a number." if np.ndim(expected) == 0 else "Give an array of numbers."
        )
    if answer.shape != expected.shape:
        return f"The shape should be {expected.shape}, and yours is {answer.shape}."
    off = np.abs(answer - expected) - one.within * np.abs(expected).max(initial=0.0)
    if np.all(off <= 1e-12):
        return ""
    at = np.unravel_index(np.argmax(np.where(np.isnan(off), np.inf, off)), off.shape)
    how = (
        "not a number"
        if np.isnan(answer[at])
        else "too large"
        if answer[at] > expected[at]
        else "too small"
    )
    return f"{'Number ' + str(list(map(int, at))) if at else 'Your number'} is {how}."


def of_functions(answer, expected, one):
    """Say for which arguments a function returns something wrong."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        given = one.inputs(rng)
        try:
            found = answer(*copy.deepcopy(given))  # it may change them
        except Exception as error:
            return (
                f"For the arguments {given} it fails: {type(error).__name__}: {error}"
            )
        if difference(found, expected(*given), one):
            return f"For the arguments {given} it returns {found}, which is not right."
    return ""
