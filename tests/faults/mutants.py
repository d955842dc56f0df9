"""Do the tests notice a small fault in an algorithm? `make mutants N=60` puts in one after the other.

A fault is another comparison, operator or constant, or a statement left out, in a copy of the project. The tests run
without compiler where they can, as compiling takes longer than they do. Prints each fault that no test noticed, for a
person to read: some change nothing that matters.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEARNT = ("test_oracles", "test_contract")
TESTS = {"rules": LEARNT, "rows": LEARNT, "queries": LEARNT, "passes": LEARNT, "batch": ("test_oracles",),
         "base": LEARNT, "linear": LEARNT, "expansion": ("test_kernel",), "budget": ("test_kernel",),
         "study/bounds": ("test_bounds",)}  # fmt: skip
COMPILED = ("expansion", "budget")  # nobody compiles the code of these files into that of another
SWAPS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
         ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
         ast.And: ast.Or, ast.Or: ast.And}  # fmt: skip


def mutants(source):
    """Return every fault of the functions as (line, old text, new text, mutated source); messages stay as they are."""
    lines, found = source.splitlines(keepends=True), []
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    bodies = [statement for function in functions for statement in function.body]
    said = {id(node) for body in bodies for top in ast.walk(body) if isinstance(top, ast.Raise | ast.JoinedStr)
            for node in ast.walk(top)}  # fmt: skip
    for node in {id(node): node for body in bodies for node in ast.walk(body)}.values():
        new = changed(node) if id(node) not in said else None
        if new is not None:
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
            found.append((node.lineno, source[start:end], new, source[:start] + new + source[end:]))
    return found


def changed(node):
    """Return what may stand in the place of a piece of code, or None."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        return ast.unparse(ast.Compare(node.left, [SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators))
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        return f"({ast.unparse(ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))})"
    if isinstance(node, ast.BoolOp):
        return f"({ast.unparse(ast.BoolOp(SWAPS[type(node.op)](), node.values))})"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return repr(node.value + 1)
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return "pass"
    return None


def passes(folder, name):
    """Say whether all tests of a file pass; a loop without end does not."""
    tests = [f"pa_lab/{name}.py", *(f"tests/{test}.py" for test in TESTS[name])]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    env = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder.parent / "compiled")}
    env["NUMBA_DISABLE_JIT"] = str(int(name not in COMPILED))
    try:
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=900).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main(n=60, seed=0, only=""):
    """Put in ``n`` faults, drawn with a seed, in files that begin with ``only``; return whether any went unnoticed."""
    every = [(name, *mutant) for name in TESTS if name.startswith(only)
             for mutant in mutants((ROOT / "pa_lab" / f"{name}.py").read_text())]  # fmt: skip
    drawn, survived = random.Random(int(seed)).sample(every, min(int(n), len(every))), 0
    with tempfile.TemporaryDirectory(prefix="pa-lab-mutants-") as place:
        folder = Path(shutil.copytree(ROOT, Path(place) / "p", ignore=shutil.ignore_patterns(".*", "build", "*.nb?")))
        for name, line, old, new, text in drawn:
            path = folder / "pa_lab" / f"{name}.py"
            whole = path.read_text()
            path.write_text(text)
            if passes(folder, name):
                survived += 1
                print(f"survived: {name}.py:{line}: {old!r} -> {new!r}", flush=True)
            path.write_text(whole)
    print(f"{len(drawn)} of {len(every)} faults tried, {len(drawn) - survived} noticed, {survived} not")
    return survived > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
