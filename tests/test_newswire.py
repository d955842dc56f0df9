"""Reuters-21578: counts published for it, malformed entries, and every form in which a copy may lie in a folder."""

import bz2
import io
import os
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pa_lab import datasets
from pa_lab.study import newswire, store
from pa_lab.study.datasets import REGISTRY, Dataset, File, StandInWarning, load
from pa_lab.study.standin import wire

PROJECT = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("PA_LAB_DATA") or PROJECT.parent / "shared" / "data")
REAL = (REAL if REAL.exists() else PROJECT / REAL).resolve()
needs_data = pytest.mark.skipif(not (REAL / "reuters21578").exists(), reason="no newswire: set PA_LAB_DATA")
STORY = """<REUTERS TOPICS="{}" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="{}">
<DATE>{}</DATE>
<TOPICS>{}</TOPICS>
<PLACES><D>usa</D></PLACES>
<UNKNOWN> &#5;&#5;C T f0704 reute</UNKNOWN>
<TEXT{}>&#2;
{}
&#3;</TEXT>
</REUTERS>
"""
WHOLE = (
    "<TITLE>AMERICAN &lt;AXP> BUYS</TITLE>\n<DATELINE>    NEW YORK - </DATELINE><BODY>Bought it.\n Reuter\n&#3;</BODY>"
)


def story(number=1, date="26-FEB-1987 15:01:01.79", topics="<D>acq</D>", text=WHOLE, kind="", judged="YES"):
    return STORY.format(judged, number, date, topics, kind, text)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("PA_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PA_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PA_LAB_OFFLINE", "1")
    for variable in ("PA_LAB_STAND_IN", "PA_LAB_STAND_IN_ROWS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(store, "mark_stand_in", lambda: None)


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PA_LAB_DATA", str(REAL))
        patch.setenv("PA_LAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        return load("reuters21578", stand_in=False).stories


@pytest.fixture
def small(monkeypatch):
    """A newswire of 22 stories, one to a part, and its parts."""
    parts = [story(i, f"{i:02}-MAR-1987 09:00:00.00") for i in range(1, 23)]
    digest = datasets.content_digest(newswire.parse("".join(parts)))
    file = File("reuters21578", "http://127.0.0.1:9/reuters21578.tar.gz", 22, 22, digest)
    monkeypatch.setitem(REGISTRY, "reuters21578", Dataset("reuters21578", "a toy", 0, (file,)))
    return {f"reut2-{i:03}.sgm": ('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + p).encode() for i, p in enumerate(parts)}


def archive(parts, prefix="reuters21578/"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in reversed([("README.txt", b"<about it>"), *parts.items()]):
            entry = tarfile.TarInfo(prefix + name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


# --- The real files


@needs_data
def test_the_split_has_the_published_counts(stories):
    train, test = newswire.modapte(stories)
    assert (train.sum(), test.sum()) == (9603, 3299)
    published = {"earn": (2877, 1087), "acq": (1650, 719), "money-fx": (538, 179), "grain": (433, 149)}
    published |= {"crude": (389, 189), "trade": (369, 118), "interest": (347, 131), "ship": (197, 89)}
    published |= {"wheat": (212, 71), "corn": (182, 56)}
    assert tuple(published) == newswire.TOP_TEN
    named = [Counter(name for names in stories["topics"][part] for name in names) for part in (train, test)]
    assert {topic: (named[0][topic], named[1][topic]) for topic in published} == published
    # Two stories name a topic twice, which the published counts do not notice.
    counted = {
        t: tuple(int((newswire.labels(stories[part], t) == 1).sum()) for part in (train, test)) for t in published
    }
    assert counted == published | {"trade": (369, 117), "corn": (181, 56)}
    assert len(set(named[0]) & set(named[1])) == 90


@needs_data
def test_the_stories_are_those_of_1987_in_order_of_time(stories):
    assert sorted(stories["newid"]) == list(range(1, 21_579))
    assert stories["date"].is_monotonic_increasing
    assert str(stories["date"].iloc[0]) == "1987-02-26 15:01:01" and stories["date"].iloc[-1].month == 10
    assert 0.03 < np.mean(np.diff(stories["newid"]) < 0) < 0.04
    assert stories["date_malformed"].sum() == 4
    mended = stories[stories["date_malformed"]].set_index("newid")["date"].astype(str)
    assert mended[17_192] == "1987-03-31 05:12:19" and mended[996] == "1987-03-03 09:15:05"
    assert (stories["text"].str.len() == 0).sum() == 1
    assert stories["judged"].value_counts().to_dict() == {"YES": 13_476, "NO": 7_059, "BYPASS": 1_043}
    first = stories["text"].iloc[0]
    assert first.startswith("BAHIA COCOA REVIEW\nShowers continued") and "&" not in first and "reute" not in first[:300]


# --- Reading


def test_a_story_is_read():
    read = newswire.parse(story(topics="<D>grain</D><D>corn</D>")).iloc[0]
    assert read["text"] == "AMERICAN <AXP> BUYS\nBought it.\n Reuter" and read["topics"] == ("grain", "corn")
    assert (read["newid"], read["split"], read["judged"], read["date_malformed"]) == (1, "TRAIN", "YES", False)
    assert read["date"] == np.datetime64("1987-02-26T15:01:01")


# --- Forms of a copy


@pytest.mark.parametrize("form", ["parts", "packed parts", "archive", "one file", "one packed file"])
def test_every_form_of_a_copy_is_read(tmp_path, small, form):
    folder = tmp_path / "data" / "reuters21578"
    folder.mkdir(parents=True)
    if "parts" in form:
        for name, content in small.items():
            (folder / f"{name}{'.bz2' * ('packed' in form)}").write_bytes(
                bz2.compress(content) if "packed" in form else content
            )
    elif form == "archive":
        (tmp_path / "data" / "reuters21578.tar.gz").write_bytes(archive(small))
    else:
        folder.rmdir()
        joined = b"".join(small.values())
        packed = "packed" in form
        folder.with_suffix(".bz2" * packed).write_bytes(bz2.compress(joined) if packed else joined)
    data = load("reuters21578", stand_in=False)
    assert data.stories["newid"].tolist() == list(range(1, 23)) and data.source == "folder"
    assert data.digest == REGISTRY["reuters21578"].files[0].digest and "22 stories, 0 of them" in data.DESCR
    (kept,) = datasets.fetch("reuters21578")
    assert kept.parent == tmp_path / "cache" and datasets.main(["verify"]) == 0
    assert load("reuters21578").stories.equals(data.stories)


def test_the_parsed_copy_is_used_and_a_damaged_one_is_not(tmp_path, small, monkeypatch):
    path = tmp_path / "data" / "reuters21578"
    path.parent.mkdir()
    path.write_bytes(b"".join(small.values()))
    first = load("reuters21578").stories
    (parsed,) = (tmp_path / "cache" / "parsed").iterdir()
    good = parsed.read_bytes()
    for bad in (good[:-5], good.replace(b"Bought", b"Sold  "), b"[[" * 9999, b"\x80\x04}."):
        parsed.write_bytes(bad)
        assert load("reuters21578").stories.equals(first) and parsed.read_bytes() == good
    monkeypatch.setattr(datasets, "_read", None)  # parsing again would fail
    assert load("reuters21578").stories.equals(first)


def test_the_stand_in_is_a_newswire(monkeypatch):
    monkeypatch.setenv("PA_LAB_STAND_IN_ROWS", "3000")
    with pytest.warns(StandInWarning, match="STAND-IN DATA for 'reuters21578'"):
        data = load("reuters21578")
    frame = data.stories
    assert frame.columns.tolist() == newswire.COLUMNS and len(frame) == 3000 and frame["date"].is_monotonic_increasing
    train, test = newswire.modapte(frame)
    assert train.sum() > test.sum() > 300
    assert all((newswire.labels(frame[part], t) == 1).any() for t in newswire.TOP_TEN for part in (train, test))
    assert not frame["topics"][frame["judged"] == "NO"].map(len).any()
    assert frame.equals(wire(3000, newswire.TOP_TEN, seed=datasets.zlib.crc32(b"reuters21578")))


# --- Published figures
