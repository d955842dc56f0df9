"""`report/publish.py`: whatever happens while files are moved to their places, all of them are there or none."""

import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toy_project import BUILD, contents

KEPT = {"figures/a.svg": "old a", "report/results/b.json": "old b", "report/report.pdf": "old c"}
OLD = KEPT | {"figures/d.svg": "old d"}
NEW = {name: text.replace("old", "new") for name, text in KEPT.items()} | {"notebooks/e.ipynb": "new e"}
OUTDATED = ["figures/d.svg"]
STEPS = len(NEW) + len(OUTDATED)

# Runs a call in a process that dies before the given number of steps has been taken in the project itself.
DYING = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(BUILD.parent)!r})
import publish
root, left = Path(sys.argv[1]), int(sys.argv[2])
def dying(act):
    def step(*places, **options):
        global left
        if root / "build" not in Path(places[-1]).parents:
            if left == 0:
                os._exit(9)
            left -= 1
        return act(*places, **options)
    return step
os.replace, Path.unlink = dying(os.replace), dying(Path.unlink)
"""
PUBLISH = f"publish.publish(root / 'build/stage', root, {list(NEW)}, {OUTDATED}, root / 'build/publication')"


@pytest.fixture(scope="module")
def publish():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BUILD.parent)
        yield importlib.import_module("publish")


@pytest.fixture
def root(tmp_path):
    """A project with old files, and new ones in a stage."""
    for folder, files in ((tmp_path, OLD), (tmp_path / "build" / "stage", NEW)):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return tmp_path


def state(root):
    """What the project holds, without the folder of builds."""
    files = (path for path in root.rglob("*") if path.is_file() and root / "build" not in path.parents)
    return {str(path.relative_to(root)): path.read_text() for path in files}


def killed(root, call, step):
    run = subprocess.run([sys.executable, "-c", DYING + call, str(root), str(step)], capture_output=True, text=True)
    assert run.returncode == 9, run.stderr


def call(publish, root):
    publish.publish(root / "build/stage", root, list(NEW), OUTDATED, root / "build/publication")


def test_everything_is_published_and_nothing_is_left_over(publish, root):
    equal = root / "figures" / "a.svg"
    equal.write_text("new a")
    before = equal.stat()
    call(publish, root)
    assert state(root) == NEW
    assert equal.stat().st_mtime_ns == before.st_mtime_ns and equal.stat().st_ino == before.st_ino, (
        "an equal file was written again"
    )
    assert not (root / "build" / "publication").exists()


@pytest.mark.parametrize("step", range(STEPS))
def test_a_kill_between_two_moves_is_put_in_order(publish, root, step):
    killed(root, PUBLISH, step)
    if step > 0:
        assert state(root) not in (OLD, NEW)
    said = publish.recover(root / "build/publication")
    assert state(root) == (NEW if step else OLD)
    assert ("completed" in said) == bool(step)
    assert not (root / "build" / "publication").exists()
    assert publish.recover(root / "build/publication") == ""


def test_what_was_edited_after_a_kill_stays_and_the_rest_is_undone(publish, root):
    killed(root, PUBLISH, 2)
    assert state(root)["report/report.pdf"] == "old c"
    (root / "report" / "report.pdf").write_text("mine")
    said = publish.recover(root / "build/publication")
    assert "undone" in said and "report/report.pdf" in said
    assert state(root) == OLD | {"report/report.pdf": "mine"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", range(STEPS - 1))
def test_a_move_that_fails_is_undone_with_those_before_it(publish, root, monkeypatch, error, step):
    moves = iter(range(100))
    replace = os.replace

    def failing(source, place):
        if root / "build" not in Path(place).parents and next(moves) == step:
            raise error
        replace(source, place)

    monkeypatch.setattr(publish.os, "replace", failing)
    with pytest.raises(type(error)):
        call(publish, root)
    assert state(root) == OLD
    assert not (root / "build" / "publication").exists()


# ---------------------------------------------------------------- targets that cannot be written


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_moves(publish, root):
    (root / "report" / "report.pdf").unlink()
    (root / "report" / "report.pdf").mkdir()
    before = contents(root)
    with pytest.raises(publish.PublicationError, match=r"report\.pdf must be a file"):
        call(publish, root)
    assert contents(root) == before
