"""`report/build.py` on a small project: two toy notebooks and a toy report."""

import shutil
from pathlib import Path

import pytest

import build as script
from toy_project import build, contents, make, notebook


@pytest.fixture
def project(tmp_path):
    """A project that was never run."""
    return make(tmp_path)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A project that was run, to be copied, and what the run said."""
    folder = make(tmp_path_factory.mktemp("published"))
    run = build(folder)
    assert run.returncode == 0, run.stderr
    return folder, run.stdout


@pytest.fixture
def built(published, tmp_path):
    """A project as one run left it."""
    return Path(shutil.copytree(published[0], tmp_path, dirs_exist_ok=True))


def edit(project, name, old, new):
    path = project / "notebooks" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_run_publishes_everything_and_a_second_elsewhere_changes_no_byte(published, built):
    folder, said = published
    assert "STAND-IN" not in said
    assert "01_toy" in said and "report/report.pdf" in said
    made = contents(built)
    assert set(made) == {
        *(f"notebooks/0{i}_toy.ipynb" for i in (1, 2)),
        "figures/01_toy.svg",
        *(f"report/results/0{i}_toy.json" for i in (1, 2)),
        *(f"report/results/times/0{i}_toy.json" for i in (1, 2)),
        *(f"report/{name}" for name in ("report.typ", "template.typ", "report.css", "report.pdf", "report.html")),
    }
    text = (built / "notebooks" / "01_toy.ipynb").read_text()
    assert "PosixPath('report/results/times/01_toy.json')" in text and "image/png" in text
    assert not any(word in text for word in ("papermill", "timestamp", str(folder)))

    (built / "figures" / "old.svg").write_text("nobody writes this any more")
    (built / "figures" / "README").write_text("not a notebook's")
    second = build(built)
    assert second.returncode == 0, second.stderr
    after = contents(built)
    assert after.pop("figures/README")
    assert after == made


@pytest.mark.parametrize(
    ("cell", "words", "options"),
    [
        ("answer = {}['gone']", ["failed in cell 2 (In [1])", "    answer = {}['gone']", "KeyError: 'gone'"], []),
        ("import os; os._exit(3)", ["stopped in cell 2", "DeadKernelError"], ["--only", "02"]),
        (
            "from pa_lab.study import store; store.mark_stand_in(); answer = 1",
            ["fell back to stand-in data"],
            ["--only", "02"],
        ),
    ],
    ids=["error", "dead kernel", "hidden stand-in"],
)
def test_a_failing_notebook_is_named_and_leaves_everything_as_it_was(built, cell, words, options):
    edit(built, "01_toy.ipynb", "answer = 42", "answer = 43")
    edit(built, "02_toy.ipynb", "answer = 42", cell)
    before = contents(built)
    run = build(built, *options)
    assert run.returncode == 1
    for word in ("error: 02_toy.ipynb", *words):
        assert word in run.stderr
    assert contents(built) == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#num(r.nothing)", ['does not contain key "nothing"', "report.typ:7"]),
        ('#res("03_toy")', ["results/03_toy.json"]),
        ('#fig("03_toy")', ["figures/03_toy.svg"]),
    ],
)
def test_a_missing_number_or_file_stops_the_report(built, line, words):
    report = built / "report" / "report.typ"
    report.write_text(report.read_text() + line)
    before = contents(built)
    with pytest.raises(script.BuildError, match="the report does not compile") as error:
        script.compile_report(built)
    for word in words:
        assert word in str(error.value)
    assert contents(built) == before


def test_one_notebook_or_a_trial_leaves_the_rest(built):
    before = contents(built)
    edit(built, "02_toy.ipynb", "answer = 42", "answer = 43")
    run = build(built, "--only", "02")
    assert run.returncode == 0, run.stderr
    after = contents(built)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"notebooks/02_toy.ipynb", "report/results/02_toy.json"}

    assert build(built, "--only", "02", "-p", "answer", "7").returncode == 0
    trial = contents(built)
    assert '"answer": 7,' in (built / "build/trial/report/results/02_toy.json").read_text()
    assert {name: trial[name] for name in after} == after

    with pytest.raises(script.BuildError, match="starts with '09'; there are: 01_toy, 02_toy"):
        script.chosen_notebooks(built, "09")


def test_stand_in_data_are_few_and_never_reach_the_project(project):
    counted = "from pa_lab import datasets; answer = len(datasets.load('ijcnn1').X_test)"
    edit(project, "02_toy.ipynb", "answer = 42", counted)
    before = contents(project)
    run = build(project, PA_LAB_STAND_IN="1")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("STAND-IN DATA")
    after = contents(project)
    assert {name: after.pop(name) for name in before} == before
    assert all(name.startswith("build/stand-in/") for name in after)
    assert {"build/stand-in/report/report.pdf", "build/stand-in/figures/01_toy.svg"} <= set(after)
    assert '"answer": 6000,' in (project / "build/stand-in/report/results/02_toy.json").read_text()


@pytest.mark.parametrize("name", ["notebooks/01_toy.ipynb", "report/results/02_toy.json"])
def test_what_is_changed_during_the_run_is_not_overwritten(built, name):
    """A notebook someone edits, or, in a run of one notebook, the results of another that someone runs by hand."""
    edit(built, "01_toy.ipynb", "answer = 42", f"open({str(built / name)!r}, 'a').write(' '); answer = 43")
    before = contents(built)
    run = build(built, "--only", "01")
    assert run.returncode == 1
    assert f"{Path(name).name} changed on disk during the run" in run.stderr
    before.pop(name)
    assert before.items() < contents(built).items()


def parameters(project, source):
    """Write a notebook whose cell with parameters is `source`."""
    path = project / "notebooks" / "03_toy.ipynb"
    notebook(path, source, "1 + 1")
    return path


def test_data_sets_are_those_that_the_parameters_name(project, monkeypatch):
    source = 'data_sets = ["ijcnn1"]\nC, other = 1.0, "a9a"  # w8a\nn_rows = 2**10\nimport os\nprint(os)'
    path = parameters(project, source)
    settings = script.settings_of([path])
    assert settings == {path: {"data_sets": ["ijcnn1"], "C": None, "other": None, "n_rows": None}}
    longer = parameters(project, 'data_sets = ["ijcnn1"]\ndata_sets += ["a9a"]\nseed: int = 1')
    assert script.parameters_of(longer) == {"data_sets": ["ijcnn1", "a9a"], "seed": 1}
    here = {"ijcnn1": "folder", "a9a": None}
    monkeypatch.setattr(script.store, "_stand_in", False)
    monkeypatch.setattr(script.datasets, "available", here.get)
    assert script.missing_data(settings) == ""
    assert script.missing_data(script.settings_of([path], {"data_sets": ["a9a"]})) == "a9a is not on this machine"


def test_the_report_alone_is_compiled_from_what_is_published(built):
    before = contents(built)
    report = built / "report" / "report.typ"
    report.write_text(report.read_text() + "More.")
    run = build(built, "--compile")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Written: report/report.pdf, report/report.html"
    after = contents(built)
    assert {name for name in before if after[name] != before[name]} == {
        f"report/report.{kind}" for kind in ("typ", "pdf", "html")
    }
    report.unlink()
    run = build(built, "--compile")
    assert run.returncode == 1 and "report.typ is missing" in run.stderr


def test_a_campaign_that_no_notebook_has_is_an_error(built):
    run = build(built, "--only", "02", "--campaign", PA_LAB_CAMPAIGN="02_mistyped")
    assert run.returncode == 1
    assert "nothing was stored: 02_toy has no campaign called '02_mistyped'" in run.stderr
