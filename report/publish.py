"""Put the files of a run in their places: all of them, or none.

Before the first file moves, every target is checked, and the new files, the old ones and a journal of what is to
change lie in a folder of their own (`build/publication/`). A move that fails is undone together with those before it.
A run that is killed between two moves leaves the journal, and `recover` puts the project in order from it.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile

from pa_lab.study import store

JOURNAL = "journal.json"


class PublicationError(OSError):
    """What keeps files from their places, as a sentence for the person who started the build."""


def publish(stage, target, names, outdated, folder):
    """Move files from `stage` to `target` and remove outdated ones, all or nothing; equal files are left alone.

    Parameters
    ----------
    stage, target : Path
    names : iterable of str
        What to move, relative to both.
    outdated : iterable of str
        What to remove, relative to `target`.
    folder : Path
        Where the publication is kept until it is complete; nothing may lie there.

    Raises
    ------
    PublicationError
        When a target cannot be written; nothing has changed then.
    """
    changes = {name: (digest(target / name), digest(stage / name)) for name in sorted(names)}
    changes |= {name: (digest(target / name), None) for name in sorted(outdated)}
    changes = {name: (before, after) for name, (before, after) in changes.items() if before != after}
    check(target, changes)
    try:
        for name, (before, after) in changes.items():
            if after is not None:
                move(stage / name, folder / "new" / name)
            if before is not None:
                (folder / "old" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(target / name, folder / "old" / name)
        record = {"target": os.path.relpath(target, folder), "changes": changes}
        store.atomic_write(folder / JOURNAL, json.dumps(record, indent=1))
        finish(folder, target, changes)
    except BaseException:
        undo(folder, target, changes)
        discard(folder)
        raise
    discard(folder)


def recover(folder):
    """Finish or undo what a killed run began to publish, and return a sentence about it; empty if there was nothing.

    A publication of which nothing has moved is dropped. One that is torn is finished. If a file that was still to
    move has been edited since, the edit stays and all the rest goes back to what it was.
    """
    if not (folder / JOURNAL).exists():
        discard(folder)
        return ""
    record = json.loads((folder / JOURNAL).read_text())
    target, changes = (folder / record["target"]).resolve(), record["changes"]
    state = {name: digest(target / name) for name in changes}
    said = ""
    try:
        if any(state[name] == after for name, (_, after) in changes.items()):
            edited = [name for name, states in changes.items() if state[name] not in states]
            (undo if edited else finish)(folder, target, changes)
            said = (
                f"A killed run had published only some of its files; this is {'undone' if edited else 'completed'} now."
            )
            if edited:
                said += f" What was edited since then stays as it is: {', '.join(edited)}."
    except OSError as error:
        raise PublicationError(
            f"a killed run has published only some of its files, and the rest cannot be moved ({error}). "
            "Make the place writable and run again; nothing else is done before that."
        ) from error
    discard(folder)
    return said


def finish(folder, target, changes):
    """Move every new file that is not yet in its place, and remove what is outdated."""
    for name, (_, after) in changes.items():
        if after is None:
            (target / name).unlink(missing_ok=True)
        elif digest(target / name) != after:
            move(folder / "new" / name, target / name)


def undo(folder, target, changes):
    """Put every old file back whose place a new one has taken."""
    for name, (before, after) in changes.items():
        if digest(target / name) == after:
            if before is None:
                (target / name).unlink()
            else:
                move(folder / "old" / name, target / name)


def discard(folder):
    """Remove what a publication kept; without its journal, which goes first, it no longer counts."""
    (folder / JOURNAL).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def check(target, names):
    """Raise `PublicationError` unless each of the files can be written in its place."""
    folders = set()
    for place in (target / name for name in names):
        if place.exists() and not place.is_file():
            raise PublicationError(f"{place} must be a file, because one is to be published there: move it away.")
        folder = next(parent for parent in place.parents if parent.exists())
        if not folder.is_dir():
            raise PublicationError(f"{folder} must be a folder, because files are to be published in it: move it away.")
        folders.add(folder)
    for folder in sorted(folders):
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            why = error.strerror
            raise PublicationError(f"cannot write in {folder} ({why}), where files are to be published.") from error


def move(source, place):
    """Move a file over another one in one step, also from one file system to another."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(source, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        store.atomic_write(place, source.read_bytes())


def digest(path):
    """Return the sha256 of a file as text, or None where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
