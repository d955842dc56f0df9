"""`pa_lab.compiled`: compiled code follows the sources, and read-only places are no obstacle."""

import os
import shutil
import subprocess
import sys
from textwrap import dedent

import pytest

from pa_lab import compiled

FIT = """
import sys
import numpy as np
import pa_lab
model = pa_lab.PAClassifier("PA", fit_intercept=False).fit(np.array([[2.0], [4.0]]), np.array([1, -1]))
assert pa_lab.__file__.startswith(sys.argv[1]), pa_lab.__file__
print(model.coef_[0, 0])
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that was never run, in a folder to import it from."""
    copy = tmp_path / "copy"
    shutil.copytree(compiled.PACKAGE, copy / "pa_lab", ignore=shutil.ignore_patterns("__pycache__"))
    return copy / "pa_lab"


def fit(package, code=FIT, **environment):
    """The weight that a fit of the copy gives, in a process of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA")}
    clean |= {"PYTHONPATH": str(package.parent)} | environment
    run = subprocess.run(
        [sys.executable, "-c", code, str(package.parent)], env=clean,
        capture_output=True, text=True, check=False, cwd=package.parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return float(run.stdout)


def kept(folder):
    return {path.name for path in folder.rglob("*.nb[ci]")}


def test_the_search_for_garbage_waits_while_this_package_is_compiled(package):
    """It goes on afterwards, and while others compile."""
    code = dedent("""
        import gc, numba
        from numba.core import event
        class Look(event.Listener):
            seen = []
            def on_start(self, event): self.seen.append(gc.isenabled())
            def on_end(self, event): pass
        event.register("numba:compile", Look())
        pa_lab.PAClassifier(average=True, batch_size=2).fit(np.array([[2.0], [4.0]]), np.array([1, -1]))
        assert Look.seen and not any(Look.seen) and gc.isenabled()
        numba.njit(lambda: 1)()
        assert Look.seen[-1] and gc.isenabled()
    """)
    fit(package, code=FIT + code)


def test_a_change_of_one_file_reaches_what_was_compiled_from_others(package):
    assert fit(package) == -0.25
    before = kept(package)
    assert before
    rules = package / "rules.py"
    text = rules.read_text()
    assert text.count("return loss / sqnorm\n") == 1
    rules.write_text(text.replace("return loss / sqnorm\n", "return loss / sqnorm * 0.5\n"))
    assert fit(package) == 0.0


def test_compiled_code_is_kept_as_long_as_no_source_changes(package):
    (package / "__pycache__").mkdir()
    for name in ("passes.f.nbi", "passes.f.nbc", "rules.cpython-311.pyc"):
        (package / "__pycache__" / name).write_text("")
    compiled.drop_outdated(package)
    assert kept(package) == set()
    (package / "__pycache__" / "passes.f.nbi").write_text("")
    compiled.drop_outdated(package)
    assert kept(package) == {"passes.f.nbi"}
    with open(package / "study" / "store.py", "a") as out:
        out.write("# changed\n")
    compiled.drop_outdated(package)
    assert kept(package) == set()
    assert (package / "__pycache__" / "rules.cpython-311.pyc").exists()


def without_a_place(package):
    """Make the package folder and the home such that not even root can write in them."""
    for folder in (package, package / "study"):
        (folder / "__pycache__").write_text("a file, where a folder would have to be made")
    return {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "IPYTHONDIR": "/dev/null"}


def test_learners_fit_where_neither_package_nor_home_can_be_written(package):
    assert fit(package, **without_a_place(package)) == -0.25
    assert not kept(package)


def test_learners_fit_in_a_package_folder_that_is_mounted_read_only(package, tmp_path):
    commands = [["mount", "--bind", package, package], ["mount", "-o", "remount,bind,ro", package]]
    if not shutil.which("mount") or any(subprocess.run(c, capture_output=True).returncode for c in commands):
        pytest.skip("this user may not mount a folder read-only")
    try:
        home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
        assert fit(package, **home) == -0.25
        assert kept(tmp_path / "home"), "the user's cache is used where there is one"
    finally:
        subprocess.run(["umount", "-l", package], check=True)
