"""The article's web page in a real browser: nothing cut off, no dead link, accessible. Skipped without Chromium."""

import pytest

from browser import WIDTHS, needs_browser
from pa_lab.study import store

PAGE = (store.ROOT / "report" / "report.html").as_uri()
pytestmark = needs_browser


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_does_not_scroll_sideways(page, width):
    page.size(width, mobile=width < 500)
    page.open()
    assert page.run("return document.documentElement.scrollWidth") <= width
    lost = """
        const scrolls = (e) => e && (getComputedStyle(e).overflowX === "auto" || scrolls(e.parentElement));
        return [...document.querySelectorAll("p, li, td, img, math, h1, h2, h3")]
          .filter((e) => e.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(e))
          .map((e) => e.outerHTML.slice(0, 120));"""
    assert page.run(lost) == []


def test_the_contents_stay_in_view_on_a_wide_screen(page):
    page.run("window.scrollTo(0, document.body.scrollHeight / 2)")
    top, bottom = page.run(
        "const a = document.querySelector('.contents').getBoundingClientRect(); return [a.top, a.bottom]"
    )
    assert top == 0 and bottom == page.run("return window.innerHeight")
    right = page.run("return document.querySelector('.contents').getBoundingClientRect().right")
    assert right <= page.run("return document.querySelector('h1').getBoundingClientRect().left")


def test_every_link_within_the_page_has_a_target_and_every_picture_its_words(page):
    page.open()
    links = "[...document.querySelectorAll(\"a[href^='#']\")]"
    assert page.run(f"return {links}.filter((a) => !document.getElementById(a.hash.slice(1))).map(String)") == []
    assert page.run(f"return {links}.length") > 100
    assert page.run("return [...document.images].filter((i) => !i.alt || !i.naturalWidth).length") == 0
    assert page.run("return document.images.length") > 15


@pytest.mark.parametrize(("scheme", "rules"), [("light", []), ("dark", ["color-contrast"])])
def test_axe_finds_nothing_to_complain_about(page, scheme, rules):
    """All rules of axe-core, in the dark those of colours; without formulas and long tables; each letter takes time."""
    page.prefers(color_scheme=scheme)
    page.open()
    page.run("document.querySelectorAll('math, tr:nth-child(n + 5)').forEach((each) => each.replaceChildren())")
    assert page.accused(*rules) == []
