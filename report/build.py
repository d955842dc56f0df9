"""Run the notebooks and compile the report: `make report`, or `python report/build.py`.

Everything is made in a staging folder under `build/` and published only once all of it succeeded, so a
failing cell or a killed run leaves notebooks, figures, results and report as they were. When a data set is
neither on this machine nor to be had, the whole run uses stand-in data and publishes to `build/stand-in/`.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import papermill
import typst
from papermill.exceptions import PapermillExecutionError

import readme
from pa_lab import datasets
from pa_lab.study import store

NOTEBOOKS = "notebooks/[0-9][0-9]_*.ipynb"
GENERATED = ("figures/*.svg", "figures/times/*.svg", "report/results/*.json", "report/results/times/*.json")
HALF = ("figures/**/.*.tmp", "report/results/**/.*.tmp")  # what `store.atomic_write` leaves when killed
README = "README.md"
SOURCES = ("report/*.typ", "report/sections/*.typ", "report/*.bib", "report/*.css")
PDF, WEB = "report/report.pdf", "report/report.html"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class BuildError(Exception):
    """What stops a build, as a sentence for the person who started it."""


def main(argv=None):
    """Build, and return the exit code: 0, or 1 after a message on stderr.

    Parameters
    ----------
    argv : list of str, optional
        The command line; see `--help`.

    Example
    -------
    >>> main(["--only", "02"])  # doctest: +SKIP
    """
    parser = argparse.ArgumentParser(prog="report/build.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the project folder")
    parser.add_argument("--only", metavar="NN", help="run only the notebooks whose names start with NN")
    parser.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="set a notebook parameter; such a trial goes to build/trial/ and publishes nothing",
    )
    parser.add_argument("--mode", action="store_true", help="only say whether the real data is here")
    options = parser.parse_args(argv)
    root = options.root.resolve()
    try:
        notebooks = chosen_notebooks(root, options.only)
        if options.mode:
            print("stand-in" if missing_data(notebooks) else "real")
            return 0
        with only_run(root / "build"):
            build(root, notebooks, options.only is None, {k: parsed(v) for k, v in options.parameter})
    except (BuildError, OSError) as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 0


def build(root, notebooks, full=True, parameters=None):
    """Run `notebooks`, compile the report and publish all of it.

    Parameters
    ----------
    root : Path
    notebooks : list of Path
    full : bool, default=True
        These are all the notebooks; otherwise what the others made is taken as published.
    parameters : dict, optional
        Values for the notebooks' parameters; the outcome is then a trial, kept apart.

    Raises
    ------
    BuildError
        With everything published before still in place.
    """
    missing = missing_data(notebooks, fetch=True)
    if missing:
        print(f"STAND-IN DATA for the whole run, because {missing}; see build/stand-in/", flush=True)
        os.environ["PA_LAB_STAND_IN"] = "1"
    published = root / "build" / "stand-in" if missing else root
    target = root / "build" / "trial" if parameters else published
    kept = [] if full else [path for pattern in GENERATED for path in published.glob(pattern)]
    before = {path: path.read_bytes() for path in (*notebooks, *root.glob(README), *kept)}
    took = {}
    with tempfile.TemporaryDirectory(prefix="staging-", dir=root / "build") as folder:
        stage = Path(folder)
        os.environ["PA_LAB_OUTPUT"] = str(stage)  # the kernels inherit it
        os.environ["PYTHONHASHSEED"] = "0"  # some libraries draw in the order of a set of strings
        os.environ["PA_LAB_PROGRESS"] = "0"  # papermill shows its own; bars would stay in the notebooks
        copy(root, stage, SOURCES)
        if not full:
            copy(published, stage, GENERATED)
        for source in notebooks:
            took[source.stem] = run(source, stage / "notebooks" / source.name, parameters)
            if not missing and (stage / store.TAINT_FILE).exists():
                raise BuildError(
                    f"{source.name} fell back to stand-in data in a run on real data; "
                    "name its data sets as plain strings in its code, so that they are looked for first."
                )
        took["report"] = compile_report(stage, stand_in=bool(missing))
        if target == root:
            update_readme(root, stage)
        if edited := [path.name for path, content in before.items() if path.read_bytes() != content]:
            raise BuildError(f"{', '.join(edited)} changed on disk during the run; nothing was published.")
        publish(stage, target, full)
    for name, seconds in took.items():
        print(f"{name:<32}{seconds:8.1f} s")
    print(f"{'in all':<32}{sum(took.values()):8.1f} s")
    where = "" if target == root else f"{target.relative_to(root)}/"
    print(f"Written: {where}notebooks/, {where}figures/, {where}report/results/, {where}{PDF} and {where}{WEB}")


def chosen_notebooks(root, only=None):
    """Return the numbered notebooks in order, or those whose names start with `only`."""
    found = sorted(root.glob(NOTEBOOKS))
    chosen = [path for path in found if path.name.startswith(only or "")]
    if not chosen:
        names = ", ".join(path.stem for path in found) or "none"
        raise BuildError(f"no notebook to run{f' starts with {only!r}' if only else ''}; there are: {names}.")
    return chosen


def parsed(text):
    """Read a parameter as JSON, or take it as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def missing_data(notebooks, fetch=False):
    """Say why the run cannot use real data; empty if it can.

    The data sets are those the notebooks' code names. With `fetch`, one that is not here is downloaded.
    """
    if store.is_stand_in():
        return "PA_LAB_STAND_IN is set"
    quoted = set()
    for path in notebooks:
        for cell in read(path).cells:
            if cell.cell_type == "code":
                quoted.update(re.findall(r"""["']([\w.-]+)["']""", cell.source))
    for name in sorted(quoted & set(datasets.names())):
        if not datasets.available(name):
            try:
                if not fetch:
                    return f"{name} is not on this machine"
                datasets.fetch(name)
            except datasets.UnavailableError as error:
                return str(error)
            except datasets.DatasetError as error:
                raise BuildError(str(error)) from error
    return ""


def read(path):
    """Return a notebook in the current format; cells that have no id get one that is the same each time."""
    try:
        raw = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        notebook = nbformat.v4.upgrade(raw) if raw.nbformat == 4 else nbformat.convert(raw, 4)
    except Exception as error:
        raise BuildError(f"{path.name} is not a readable notebook: {error}") from error
    if (raw.nbformat, raw.nbformat_minor) < (4, 5):
        for i, cell in enumerate(notebook.cells):
            cell.id = f"cell-{i}"
    return notebook


def run(source, target, parameters=None):
    """Run a notebook into `target`, in the folder of `source` as Jupyter does; return the seconds it took."""
    start = time.perf_counter()
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(read(source), target)
    try:
        notebook = papermill.execute_notebook(
            *(target, target, parameters),
            kernel_name=KERNEL["name"],
            cwd=source.parent,
            progress_bar={"desc": source.stem},
            coalesce_streams=True,  # how prints are cut into pieces depends on timing
            extra_arguments=["--log-level=ERROR"],
        )
    except PapermillExecutionError as error:
        where = f"cell {error.cell_index + 1} (In [{error.exec_count}])"
        trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
        what = f"{indent(error.source, 8)}\n\n{indent(trace)}"
        raise BuildError(f"{source.name} failed in {where}, which starts:\n\n{what}") from None
    except Exception as error:  # the kernel died or did not start
        cells = enumerate(nbformat.read(target, 4).cells, 1)
        ended = [i for i, cell in cells if cell.metadata.get("papermill", {}).get("end_time")]
        where = f" in cell {ended[-1]}" if ended else ""
        raise BuildError(f"{source.name} stopped{where}: {type(error).__name__}: {error}") from error
    nbformat.write(cleaned(notebook, target.parents[1]), target)
    return time.perf_counter() - start


def indent(text, lines=None):
    """Return the first `lines` lines of a text, set in by four spaces."""
    return "\n".join(f"    {line}" for line in text.splitlines()[:lines])


def cleaned(notebook, stage):
    """Strip what differs from run to run or from machine to machine: times, paths, Python's version."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        for key in ("papermill", "execution", "ExecuteTime"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.get("outputs"):
            text = json.dumps(cell.outputs, ensure_ascii=False).replace(f"{stage}/", "")
            cell.outputs = nbformat.from_dict(json.loads(text))
    return notebook


def compile_report(stage, stand_in=False):
    """Compile the staged `report.typ`; return the seconds it took.

    Raises
    ------
    BuildError
        With typst's message, which shows the line; a number or figure that no notebook saved also ends here.
    """
    start = time.perf_counter()
    inputs = {"stand-in": "true"} if stand_in else {}
    (stage / PDF).write_bytes(typeset(stage, "pdf", inputs))
    page = typeset(stage, "html", inputs | {"web": "true"}).decode()
    style = (stage / "report" / "report.css").read_text()
    (stage / WEB).write_text(page.replace("</head>", f"<style>\n{style}</style></head>", 1))
    return time.perf_counter() - start


def typeset(stage, kind, inputs):
    """Return the staged report as PDF or HTML; both with typst's own fonts only, the same on every machine."""
    try:
        output, warnings = typst.compile_with_warnings(
            stage / "report" / "report.typ",
            root=stage,
            format=kind,
            ignore_system_fonts=True,
            sys_inputs=inputs,
        )
    except typst.TypstError as error:
        raise BuildError(f"the report does not compile.\n\n{error.diagnostic}") from error
    for warning in warnings:
        if "html export is under active development" not in warning.diagnostic:
            print(f"report: {warning.diagnostic}", file=sys.stderr)
    return output


def update_readme(root, stage):
    """Stage the README with its tables written anew."""
    copy(root, stage, [README])
    try:
        readme.update(stage)
    except (LookupError, TypeError, OSError) as error:
        raise BuildError(f"{README} wants a number no notebook saved: {error!r}") from error


def copy(source, target, patterns):
    """Copy the files that match, keeping their places."""
    for path in (path for pattern in patterns for path in source.glob(pattern)):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def publish(stage, target, full):
    """Move what was made to its place, file by file; after a full run drop what no notebook writes now."""
    outcome = (*GENERATED, NOTEBOOKS, PDF, WEB, README)
    made = {path.relative_to(stage) for pattern in outcome for path in stage.glob(pattern)}
    for name in sorted(made):
        place = target / name
        if not place.exists() or place.read_bytes() != (stage / name).read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / name, place)
    if full:
        for old in (path for pattern in GENERATED for path in target.glob(pattern)):
            if old.relative_to(target) not in made:
                old.unlink()
        for half in (path for pattern in HALF for path in target.glob(pattern)):
            half.unlink()


@contextlib.contextmanager
def only_run(folder):
    """Hold the build lock, which dies with the process; clear away what a killed run left."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError("another run is at work in this project; wait until it has ended.") from None
        for left in folder.glob("staging-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


if __name__ == "__main__":
    sys.exit(main())
