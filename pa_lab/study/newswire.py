"""Reuters-21578, distribution 1.0 (Lewis, 1997): the stories of a newswire of 1987, read from its SGML files.

A frame of stories has a row per story, in order of time, and these columns:

``newid``: its number in the collection, 1 to 21,578; ``date``: day and time; ``date_malformed``: whether that had to be
mended; ``split``: "TRAIN", "TEST" or "NOT-USED" (the collection's LEWISSPLIT); ``judged``: "YES", "NO" or "BYPASS" (its
attribute TOPICS: with "YES" the indexers are known to have looked for topics); ``topics``: a tuple of names, often
empty; ``text``: title and body, or all there is of a story without them.
"""

import html
import json
import re

import numpy as np
import pandas as pd

PARTS = 22  # files reut2-000.sgm to reut2-021.sgm
TOP_TEN = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
COLUMNS = ["newid", "date", "date_malformed", "split", "judged", "topics", "text"]
_MONTHS = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
_DATE = re.compile(r"(\d{1,2})-([A-Z]{3})-(\d{4})\s+\d*?(\d\d:\d\d:\d\d)")
_STORY = re.compile("<REUTERS ([^>]*)>(.*?)</REUTERS>", re.S)
_ATTRIBUTE = re.compile('(\\w+)="([^"]*)"')
_ELEMENT = re.compile(r"<(TITLE|AUTHOR|DATELINE|BODY)>.*?</\1>", re.S)
_SOUND_DATE = re.compile(r"\d{1,2}-[A-Z]{3}-\d{4} \d\d:\d\d:\d\d")


def parse(text: str) -> pd.DataFrame:
    """Read stories from SGML, and return them as a frame in order of time (see the module).

    Parameters
    ----------
    text : str
        The 22 files one after the other, or some of them.

    Raises
    ------
    ValueError
        If there is no story in it, or one without number, day or time.
    """
    rows = [_row(dict(_ATTRIBUTE.findall(head)), body) for head, body in _STORY.findall(text)]
    if not rows:
        raise ValueError("no stories")
    return _ordered(rows)


def _row(about, story):
    written = _inside("DATE", story)
    found = _DATE.search(written)
    if not found or not about.get("NEWID", "").isdigit():
        raise ValueError(f"story {about.get('NEWID')!r} has the date {written!r}")
    day, month, year, clock = found.groups()
    date = f"{year}-{_MONTHS.index(month) // 3 + 1:02d}-{int(day):02d}T{clock}"
    malformed = not _SOUND_DATE.match(html.unescape(written).strip())
    topics = tuple(re.findall("<D>(.*?)</D>", _inside("TOPICS", story)))
    whole = _inside("TEXT", story)
    title, body = _inside("TITLE", whole), _inside("BODY", whole)
    text = html.unescape(f"{title}\n{body}" if title else _ELEMENT.sub("", whole)).strip()
    return int(about["NEWID"]), date, malformed, about["LEWISSPLIT"], about["TOPICS"], topics, text


def _inside(tag, text):
    """Return what stands in the first element of this name, or nothing."""
    found = re.search(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", text, re.S)
    return found[1] if found else ""


def _ordered(rows):
    values = zip(*sorted(rows, key=lambda row: (row[1], row[0])), strict=True)
    columns = dict(zip(COLUMNS, values, strict=True))
    columns["date"] = np.array(columns["date"], "datetime64[s]")
    columns["text"] = pd.Series(columns["text"], dtype=object)  # where pandas would keep a copy of its own
    return pd.DataFrame(columns)


def pack(stories: pd.DataFrame) -> bytes:
    """Return stories as bytes of JSON: the same on every machine, and safe to read back.

    >>> unpack(pack(unpack(b'[[1, "1987-02-26T15:01:01", false, "TRAIN", "YES", ["cocoa"], "Bahia"]]')))["topics"][0]
    ('cocoa',)
    """
    packed = bytearray()
    for start in range(0, len(stories), 1000):  # a part at a time, for the sake of memory
        part = stories[start : start + 1000]
        columns = [part[name].tolist() for name in COLUMNS if name != "date"]
        columns.insert(1, np.datetime_as_string(part["date"].to_numpy("datetime64[s]")).tolist())
        packed += b"," if packed else b"["
        packed += json.dumps(list(zip(*columns, strict=True)), separators=(",", ":"))[1:-1].encode()
    return bytes(packed) + b"]"


def unpack(content: bytes) -> pd.DataFrame:
    """Return the stories that `pack` made into bytes."""
    rows = json.loads(content)
    return _ordered([(*row[:5], tuple(row[5]), row[6]) for row in rows])


def labels(stories: pd.DataFrame, topic: str) -> np.ndarray:
    """Return +1 for the stories that have a topic and -1 for the others.

    >>> stories = pd.DataFrame({"topics": [("grain", "corn"), ()]})
    >>> labels(stories, "corn").tolist()
    [1, -1]
    """
    return np.where([topic in topics for topics in stories["topics"]], 1, -1)


def modapte(stories: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks of stories, training and test part of the split "ModApte": 9,603 and 3,299 of them.

    >>> stories = pd.DataFrame({"split": ["TRAIN", "TEST", "TEST"], "judged": ["YES", "YES", "NO"]})
    >>> [mask.tolist() for mask in modapte(stories)]
    [[True, False, False], [False, True, False]]
    """
    judged = (stories["judged"] == "YES").to_numpy()
    return tuple(judged & (stories["split"] == part).to_numpy() for part in ("TRAIN", "TEST"))


def ranked(topical: np.ndarray, decision: np.ndarray) -> dict[str, int]:
    """Count what a decision finds of a topic: ``topical``, ``hits``, ``called`` and ``right``.

    If as many stories are taken from the top as have the topic, precision equals recall, the break-even: ``hits`` of
    ``topical``. Above 0 are ``called`` stories, ``right`` of them.

    Parameters
    ----------
    topical : bool array of shape (n,)
        Which stories have the topic.
    decision : array of shape (n,)

    Examples
    --------
    >>> ranked(np.array([True, False, True]), np.array([2.0, 1.0, -1.0]))
    {'topical': 2, 'hits': 1, 'called': 2, 'right': 1}
    """
    top, called = np.argsort(-decision, kind="stable")[: topical.sum()], decision > 0
    found = {
        "topical": topical.sum(),
        "hits": topical[top].sum(),
        "called": called.sum(),
        "right": topical[called].sum(),
    }
    return {name: int(count) for name, count in found.items()}
