"""Run the notebooks and compile the report: `make report`, or `python report/build.py`.

Everything is made in a staging folder under `build/` and published only once all of it succeeded, so a
failing cell or a killed run leaves notebooks, figures, results and report as they were. When a data set is
neither on this machine nor to be had, the whole run uses small stand-in data and publishes to `build/stand-in/`.
"""

import argparse
import ast
import asyncio
import contextlib
import fcntl
import html
import json
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import papermill
import typst
from papermill.exceptions import PapermillExecutionError

import explore
import publish
import readme
from pa_lab import datasets
from pa_lab.study import rare, store

NOTEBOOKS = "notebooks/[0-9][0-9]_*.ipynb"
GENERATED = ("figures/*.svg", "figures/times/*.svg", "report/results/*.json", "report/results/times/*.json")
HALF = ("figures/**/.*.tmp", "report/results/**/.*.tmp")  # what `store.atomic_write` leaves when killed
README = "README.md"
SOURCES = ("report/*.typ", "report/sections/*.typ", "report/*.bib", "report/*.css", "report/explore/*",
           "pa_lab/study/datasets.csv")  # fmt: skip
REPORT, PDF, WEB = "report/report.typ", "report/report.pdf", "report/report.html"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
STAND_IN_ROWS = "6000"  # rows of a stand-in file, at most: enough for every notebook to run, whose numbers mean nothing
TOGETHER = 2  # notebooks that run at a time, each in a kernel of its own
DATA_SETS = "data_sets"  # the name under which a notebook's parameters list the data sets it loads


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
    options = command_line().parse_args(argv)
    root = options.root.resolve()
    try:
        if options.mode:
            print("stand-in" if missing_data(settings_of(chosen_notebooks(root, options.only))) else "real")
            return 0
        with only_run(root / "build"):
            notebooks = [] if options.compile else chosen_notebooks(root, options.only)
            parameters = {name: parsed(text) for name, text in options.parameter}
            if options.campaign:
                return run_campaign(root, notebooks)
            build(root, notebooks, options.only is None and not options.compile, parameters)
    except (BuildError, OSError) as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 0


def command_line():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="report/build.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the project folder")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--only", metavar="NN", help="run only the notebooks whose names start with NN")
    which.add_argument("--compile", action="store_true", help="run no notebook, compile from the published results")
    parser.add_argument("--campaign", action="store_true", help="only store the campaign that PA_LAB_CAMPAIGN names")
    parser.add_argument("--mode", action="store_true", help="only say whether the real data is here")
    parser.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="set a notebook parameter; such a trial goes to build/trial/ and publishes nothing",
    )
    return parser


def build(root, notebooks, full=True, parameters=None):
    """Run notebooks, compile the report and publish all of it.

    Parameters
    ----------
    root : Path
    notebooks : list of Path
        What to run, in order; none, to compile the report alone.
    full : bool, default=True
        These are all the notebooks; otherwise what the others made is taken as published.
    parameters : dict, optional
        Values for parameters of the notebooks; the outcome is then a trial, kept apart.

    Raises
    ------
    BuildError
        With everything published before still in place.
    """
    settings = settings_of(notebooks, parameters)
    missing = missing_data(settings, fetch=True)
    if missing:
        print(f"STAND-IN DATA for the whole run, because {missing}; see build/stand-in/", flush=True)
        os.environ["PA_LAB_STAND_IN"] = "1"
        os.environ.setdefault("PA_LAB_STAND_IN_ROWS", STAND_IN_ROWS)
    published = root / "build" / "stand-in" if missing else root
    target = root / "build" / "trial" if parameters else published
    if not (root / REPORT).is_file():
        raise BuildError(f"{root / REPORT} is missing: it is the report's main source.")
    publish.check(
        target,
        [PDF, WEB, explore.PAGE, *(f"notebooks/{path.name}" for path in notebooks), *names_in(target, GENERATED)],
    )
    kept = () if full else GENERATED
    start = time.perf_counter()
    before = {path: path.read_bytes() for path in (*notebooks, *root.glob(README), *matching(published, kept))}
    with tempfile.TemporaryDirectory(prefix="staging-", dir=root / "build") as folder:
        stage = Path(folder)
        copy(root, stage, SOURCES)
        copy(published, stage, kept)
        took = run_all(settings, parameters or {}, stage, stand_in=bool(missing))
        took["report"] = compile_report(stage, stand_in=bool(missing))
        write_page(stage)
        if target == root:
            update_readme(root, stage)
        if edited := [path.name for path, content in before.items() if path.read_bytes() != content]:
            raise BuildError(f"{', '.join(edited)} changed on disk during the run; nothing was published.")
        made = names_in(stage, (*GENERATED, NOTEBOOKS, PDF, WEB, explore.PAGE, README))
        outdated = names_in(target, GENERATED) - made if full else ()
        publish.publish(stage, target, made, outdated, root / "build" / "publication")
    if full:
        for half in matching(target, HALF):
            half.unlink()
    for name, seconds in [*took.items(), ("in all", time.perf_counter() - start)]:
        print(f"{name:<32}{seconds:8.1f} s")
    written = [*(["notebooks/", "figures/", "report/results/"] if notebooks else []), PDF, WEB]
    print("Written:", ", ".join(str((target / name).relative_to(root)) for name in written))


def run_campaign(root, notebooks):
    """Run a long experiment, which stores its rows in the project, and drop all else that its notebook writes."""
    name, settings = os.environ.get("PA_LAB_CAMPAIGN", ""), settings_of(notebooks)
    in_guide = name == rare.NAME  # it belongs to a page of the guide, and stands in a module
    wanted = {Path(rare.__file__): {DATA_SETS: rare.DATA_SETS}} if in_guide else settings
    if missing := missing_data(wanted, fetch=True):
        raise BuildError(f"a campaign needs the real data, and {missing}")
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="staging-", dir=root / "build") as folder:
        rare.main() if in_guide else run_all(settings, {}, Path(folder), stand_in=False)
    file = store.campaign_file(name)
    if not file.exists() or file.stat().st_mtime < start - 1:
        names = ", ".join(path.stem for path in notebooks)
        raise BuildError(f"nothing was stored: {names} has no campaign called {name!r}.")
    return 0


def chosen_notebooks(root, only=None):
    """Return the numbered notebooks in order, or those whose names start with `only`."""
    every = sorted(root.glob(NOTEBOOKS))
    chosen = [path for path in every if path.name.startswith(only or "")]
    if not chosen:
        names = ", ".join(path.stem for path in every) or "none"
        raise BuildError(f"no notebook to run{f' starts with {only!r}' if only else ''}; there are: {names}.")
    return chosen


def parsed(text):
    """Read a parameter as JSON, or take it as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def settings_of(notebooks, parameters=None):
    """Return the parameters of each notebook by path, with other values for those that `parameters` names.

    Raises
    ------
    BuildError
        When a notebook cannot be read, or when none has a parameter of that name.
    """
    own, wanted = {path: parameters_of(path) for path in notebooks}, parameters or {}
    if unknown := wanted.keys() - {name for settings in own.values() for name in settings}:
        known = "; ".join(f"{path.stem}: {', '.join(settings) or 'none'}" for path, settings in own.items())
        raise BuildError(f"no notebook has the parameter {', '.join(sorted(unknown))}. There are: {known}.")
    return {path: {name: wanted.get(name, value) for name, value in settings.items()} for path, settings in own.items()}


def parameters_of(path):
    """Return the names and values assigned in the cell of a notebook that is tagged `parameters`.

    The cell is read and not run, so a value that is not written out, such as ``2**10``, is None here.
    """
    tagged = [cell for cell in read(path).cells if "parameters" in cell.metadata.get("tags", ())]
    try:
        lines = ast.parse(tagged[0].source).body if tagged else []
    except SyntaxError as error:
        raise BuildError(f"{path.name}: the cell with its parameters is not Python: {error}") from error
    settings = {}
    for line in (line for line in lines if isinstance(line, ast.Assign | ast.AugAssign | ast.AnnAssign)):
        targets = line.targets if isinstance(line, ast.Assign) else [line.target]
        names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        value = None
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            value = ast.literal_eval(line.value)
            value = settings[names[0]] + value if isinstance(line, ast.AugAssign) else value
        settings |= dict.fromkeys(names, value if len(names) == 1 else None)
    return settings


def missing_data(settings, fetch=False):
    """Say why a run of these notebooks cannot use real data; empty if it can.

    The data sets are those that the notebooks' parameters name in `data_sets`. With `fetch`, one that is not here
    is downloaded.
    """
    if store.is_stand_in():
        return "PA_LAB_STAND_IN is set"
    wanted = {}
    for path, parameters in settings.items():
        names = parameters.get(DATA_SETS, [])
        if not isinstance(names, list) or not all(name in datasets.names() for name in names):
            raise BuildError(
                f"{path.name}: {DATA_SETS} must be a list of data sets, such as ['ijcnn1'], written out in the cell "
                f"with the parameters; got {names!r}. There are: {', '.join(datasets.names())}."
            )
        wanted |= dict.fromkeys(names)
    for name in wanted:
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


def run_all(settings, parameters, stage, stand_in):
    """Run the notebooks into `stage`, two at a time, each with its own parameters; return the seconds each took."""
    os.environ["PA_LAB_OUTPUT"] = str(stage)  # the kernels inherit it
    os.environ["PYTHONHASHSEED"] = "0"  # some libraries draw in the order of a set of strings
    os.environ["PA_LAB_PROGRESS"] = "0"  # papermill shows its own; bars would stay in the notebooks
    took = {}
    with contextlib.chdir(next(iter(settings)).parent if settings else stage), ThreadPoolExecutor(TOGETHER) as pool:
        runs = {}  # all in one working directory, their own, as Jupyter does: threads cannot have one each
        for source, known in settings.items():
            replaced = {name: value for name, value in parameters.items() if name in known}
            runs[source] = pool.submit(in_thread, source, stage / "notebooks" / source.name, replaced)
        try:
            for source, one in runs.items():
                took[source.stem] = one.result()
                if not stand_in and (stage / store.TAINT_FILE).exists():
                    raise BuildError(
                        f"{source.name}, or the one beside it, fell back to stand-in data in a run on real data; name "
                        f"the data sets it loads in its parameters, as in {DATA_SETS} = ['ijcnn1'], so that they are "
                        "looked for first."
                    )
        finally:
            pool.shutdown(cancel_futures=True)  # those that have not begun; after a failure nothing is published
    return took


def in_thread(*arguments):
    """Call `run`, and close the event loop that papermill opened in this thread."""
    try:
        return run(*arguments)
    finally:
        with contextlib.suppress(RuntimeError):
            asyncio.get_event_loop().close()


def run(source, target, parameters=None):
    """Run a notebook into `target`, in the working directory; return the seconds it took."""
    start = time.perf_counter()
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempts_left in (2, 1, 0):
        nbformat.write(read(source), target)
        try:
            notebook = execute(target, parameters)
            break
        except PapermillExecutionError as error:
            where = f"cell {error.cell_index + 1} (In [{error.exec_count}])"
            trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
            what = f"{indent(error.source, 8)}\n\n{indent(trace)}"
            raise BuildError(f"{source.name} failed in {where}, which starts:\n\n{what}") from None
        except Exception as error:  # the kernel died or did not start
            cells = [cell.metadata.get("papermill", {}) for cell in nbformat.read(target, 4).cells]
            if attempts_left and not any(cell.get("start_time") for cell in cells):
                continue  # another process took one of the ports that the kernel was to use
            ended = [number for number, cell in enumerate(cells, 1) if cell.get("end_time")]
            where = f" in cell {ended[-1]}" if ended else ""
            raise BuildError(f"{source.name} stopped{where}: {type(error).__name__}: {error}") from error
    nbformat.write(cleaned(notebook, target.parents[1]), target)
    return time.perf_counter() - start


def execute(target, parameters):
    """Run a notebook in place and return it."""
    place = str(target).replace("{", "{{").replace("}", "}}")  # papermill fills in parameters here
    return papermill.execute_notebook(
        *(place, place, parameters),
        kernel_name=KERNEL["name"],
        progress_bar={"desc": target.stem},
        coalesce_streams=True,  # how prints are cut into pieces depends on timing
        extra_arguments=["--log-level=ERROR"],
    )


def indent(text, lines=None):
    """Return the first lines of a text, set in by four spaces and cut where they are very long."""
    return "\n".join(f"    {line[:500]}" for line in text.splitlines()[:lines])


def cleaned(notebook, stage):
    """Strip what differs from run to run or from machine to machine: times, paths, addresses, versions."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        for key in ("papermill", "execution", "ExecuteTime"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.get("outputs"):
            cell.outputs = nbformat.from_dict(normalized(cell.outputs, f"{stage}/"))
    return notebook


def normalized(value, path):
    """Return an output of a notebook without a path, also where it stands quoted, and without addresses in memory."""
    if isinstance(value, dict):
        return {key: normalized(part, path) for key, part in value.items()}
    if isinstance(value, list):
        return [normalized(part, path) for part in value]
    if isinstance(value, str):
        for form in {path, repr(path)[1:-1], json.dumps(path)[1:-1], html.escape(path)}:
            value = value.replace(form, "")
        value = re.sub(r" at 0x[0-9a-f]{6,}", " at ADDRESS", value)  # as tests/nbval_sanitize.cfg has it
    return value


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
    """Return the staged report as HTML, or as PDF for a screen reader (PDF/UA); both with typst's own fonts only."""
    try:
        output, warnings = typst.compile_with_warnings(
            stage / "report" / "report.typ",
            root=stage,
            format=kind,
            ignore_system_fonts=True,
            sys_inputs=inputs,
            pdf_standards=["ua-1"] if kind == "pdf" else [],
        )
    except typst.TypstError as error:
        raise BuildError(f"the report does not compile.\n\n{error.diagnostic}") from error
    for warning in warnings:
        if "html export is under active development" not in warning.diagnostic:
            print(f"report: {warning.diagnostic}", file=sys.stderr)
    return output


def write_page(stage):
    """Stage the page to play with, if the project has one."""
    try:
        explore.write(stage)
    except explore.MissingResultError as error:
        raise BuildError(f"the page to play with wants what no notebook saved: {error}") from error


def update_readme(root, stage):
    """Stage the README with its tables written anew."""
    copy(root, stage, [README])
    try:
        readme.update(stage)
    except (LookupError, TypeError, OSError) as error:
        raise BuildError(f"{README} wants a number no notebook saved: {error!r}") from error


def copy(source, target, patterns):
    """Copy the files that match, keeping their places."""
    for path in matching(source, patterns):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def matching(folder, patterns):
    """Return the paths below a folder that match."""
    return [path for pattern in patterns for path in folder.glob(pattern)]


def names_in(folder, patterns):
    """Return the names below a folder that match."""
    return {str(path.relative_to(folder)) for path in matching(folder, patterns)}


@contextlib.contextmanager
def only_run(folder):
    """Hold the build lock, which dies with the process; put in order what a killed run left."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError("another run is at work in this project; wait until it has ended.") from None
        for left in folder.glob("staging-*"):
            shutil.rmtree(left, ignore_errors=True)
        if said := publish.recover(folder / "publication"):
            print(said, flush=True)
        yield


if __name__ == "__main__":
    sys.exit(main())
