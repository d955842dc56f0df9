"""What pyproject.toml cannot say: the README on a package page has links and figures that lead back to the project."""

import re
from pathlib import Path

from setuptools import setup

HOME = "https://github.com/pa-lab/pa_lab"


def absolute(text):
    """Return Markdown with each relative link led to the project's files, and each figure to its raw file."""
    text = re.sub(r"!\[([^]]*)\]\((?![a-z]+:|#)([^)]+)\)", rf"![\1]({HOME}/raw/main/\2)", text)
    return re.sub(r"(?<!!)\[([^]]*)\]\((?![a-z]+:|#)([^)]+)\)", rf"[\1]({HOME}/blob/main/\2)", text)


setup(
    long_description=absolute((Path(__file__).parent / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
