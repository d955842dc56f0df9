"""The page to play with in a real browser, by mouse, finger and keyboard. Skipped where there is no Chromium."""

import re
import time
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import WIDTHS, needs_browser
from pa_lab import PAClassifier
from pa_lab.study import store

PAGE = (store.ROOT / "report" / "explore.html").as_uri()
PARTS = ("step", "stream", "asking", "kernel", "results")
pytestmark = needs_browser


# ---------------------------------------------------------------- every control

UNSEEN = {"speed", "tap"}  # they change what comes next, not the picture


def use(control):
    """Change a control as a person would."""
    kind = control.get_attribute("type")
    if control.tag_name == "select":
        select = Select(control)
        select.select_by_index(next(i for i, option in enumerate(select.options) if not option.is_selected()))
    elif kind == "range":
        control.send_keys(*[Keys.ARROW_RIGHT] * 6)
    elif kind == "number":
        control.send_keys(Keys.CONTROL + "a")
        control.send_keys("0.7", Keys.TAB)
    else:
        control.find_element(By.XPATH, "./ancestor::label").click()


@pytest.mark.parametrize("part", PARTS)
def test_every_control_changes_what_is_seen_and_the_address_and_reset_takes_it_back(page, part):
    page.open(part)
    first = page.look(part)
    controls = [(c, c.get_attribute("data-key")) for c in page.all(f"#{part} [data-key]")]
    assert len(controls) >= 4
    for control, key in controls:
        use(control)
        if key not in UNSEEN:
            assert page.look(part) != first, key
        changed = page.address(f"{key}=")
        assert f"{key}=" in changed and changed.count("=") == 1, key
        page.find("#reset").click()
        assert page.look(part) == first, f"{key} after reset"
    assert page.address_becomes(part)


@pytest.mark.parametrize("part", ["stream", "asking", "kernel"])
def test_the_bar_plays_pauses_and_steps(page, part):
    page.open(f"{part}?t=3")
    count, play = page.find(f"#{part} .playbar .value"), page.find(f"#{part} [data-do=play]")
    total = count.text.split()[-1]
    seen = {3: page.look(part)}
    page.find(f"#{part} [data-do=next]").click()
    seen[4] = page.look(part)
    assert count.text == f"4 of {total}"
    assert "t=4" in page.address("t=4")
    page.find(f"#{part} [data-do=back]").click()
    assert page.look(part) == seen[3]
    page.find(f"#{part} [data-do=start]").click()
    assert count.text == f"0 of {total}"
    assert page.look(part) not in seen.values()
    Select(page.find(f"#{part} .playbar select")).select_by_value("60")
    play.click()
    assert play.text == "Pause"
    end = time.monotonic() + 60  # a busy machine may draw a frame in some seconds
    while int(count.text.split()[0]) <= 3 and time.monotonic() < end:
        time.sleep(0.02)
    play.click()
    stopped = int(count.text.split()[0])
    assert 3 < stopped < int(total)
    page.open(page.address(f"t={stopped}"))
    count, play = page.find(f"#{part} .playbar .value"), page.find(f"#{part} [data-do=play]")
    assert count.text == f"{stopped} of {total}"
    Select(page.find(f"#{part} .playbar select")).select_by_value("60")
    play.send_keys(Keys.SPACE)
    end = time.monotonic() + 60
    while play.text == "Pause":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert count.text == f"{total} of {total}"


# ---------------------------------------------------------------- what it shows is what pa_lab computes


def toy_and_counts(page, variant, C, t):
    """Mistakes, updates and errors on true labels of pa_lab after t examples of the toy stream."""
    toy = np.array(page.run("return JSON.parse(document.getElementById('data').textContent).toy"))
    X, y = toy[:, :2], toy[:, 2].astype(int)
    wrong = []
    for average in (False, True):
        model = PAClassifier(variant, C=C, average=average).partial_fit(X[:t], y[:t], classes=[-1, 1])
        wrong.append(int((model.predict(X) != y).sum()))
    return [model.n_mistakes_, model.n_updates_, *wrong]


@pytest.mark.parametrize(
    ("variant", "C", "t"), [("PA", 0.1, 20), ("PA-I", 0.02, 40), ("PA-II", 5.0, 33), ("PALS", 0.1, 11)]
)
def test_the_stream_counts_as_pa_lab_does(page, variant, C, t):
    page.open(f"stream?left={variant}&C={C}&t={t}")
    page.look("stream")
    row = [int(cell.text) for cell in page.all("#stream .counts tbody tr:first-child td")]
    assert row == toy_and_counts(page, variant, C, t)


# ---------------------------------------------------------------- mouse, finger, keyboard


def values(page, key):
    return [float(field.get_attribute("value")) for field in page.all(f'#step input[data-key="{key}"]')]


def test_handles_follow_mouse_finger_and_keys(page):
    page.open()
    page.look("step")
    for key in ("w", "x"):
        first = values(page, key)
        ActionChains(page.driver).drag_and_drop_by_offset(page.find(f".handle.{key} .grip"), 60, 40).perform()
        page.look("step")
        dragged = values(page, key)
        assert dragged[0] > first[0] and dragged[1] < first[1]
        place = page.run(f"const a = document.querySelector('.handle.{key} .grip').getBoundingClientRect();"
                         "return [a.x + a.width / 2, a.y + a.height / 2]")  # fmt: skip
        for kind, by in (("touchStart", 0), ("touchMove", -20), ("touchMove", -60), ("touchEnd", None)):
            points = [] if by is None else [{"x": place[0] + by, "y": place[1]}]
            page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.look("step")
        touched = values(page, key)
        assert touched[0] < dragged[0] and touched[1] == pytest.approx(dragged[1], abs=0.06)
        page.run(f"document.querySelector('.handle.{key}').focus()")
        ActionChains(page.driver).send_keys(Keys.ARROW_UP, Keys.ARROW_RIGHT).perform()
        page.look("step")
        typed = values(page, key)
        assert typed[0] > touched[0] and typed[1] > touched[1]
        assert page.find(f".handle.{key}").get_attribute("aria-label").count("Arrow keys") == 1


def test_tabs_by_keyboard_and_the_way_back(page):
    page.open()
    page.find("#tab-step").send_keys(Keys.ARROW_RIGHT)
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-stream"
    assert page.find("#stream").is_displayed() and not page.find("#step").is_displayed()
    page.driver.switch_to.active_element.send_keys(Keys.END)
    assert page.find("#results").is_displayed()
    page.driver.back()
    time.sleep(0.2)
    assert page.find("#stream").is_displayed()
    assert page.address() == "stream"


# ---------------------------------------------------------------- the address


GOOD = (
    "step?w=-0.5,0.25&x=2,-1&y=1&C=2.5&intercept=counted&rules=PA,PALS",
    "stream?left=PA-II&right=PALS&C=0.03&wrong=0.2&order=sorted&n=100&average=0&flip=3.17&add=1,-2,1;0.5,0.25,-1&t=60",
    "asking?delta=1.5&rule=PA&C=0.1&weights=averaged&n=100&seed=5&t=30",
    "kernel?data=rings&kernel=poly&gamma=0.2&budget=5&policy=oldest&rule=PA&C=2&n=100&seed=3&t=50",
    "results?topic=kernel&score=average_precision&group=budget%20policies&band=0&at=2",
    *(
        address
        for path in sorted((store.ROOT / "report" / "sections").glob("*.typ"))
        for address in re.findall(r'explore\.html#([^"]+)"', path.read_text())
    ),
)

# Each value is bad by itself; of a key given twice the last good value counts, and there is none.
BAD = (
    "step?C=NaN&C=-1&C=0&C=1e999&C=0x10&C=&C=Infinity&y=2&rules=&rules=all&intercept=%3Cb%3E&w=1&w=1,2,3&w=9,9&w=NaN,1",
    "step?w=" + quote("<img src=x onerror=alert(1)>,2"),
    "step?__proto__=1&toString=2&constructor=3&%E0%A4%A",
    "stream?n=1000000000&t=-5&t=1.5&t=1e9&speed=0&left=PA-IV&order=up&flip=1.1&flip=-1&flip=3.x&add=9,9,1&add=1,2,3",
    "stream?add=" + "1,1,1;" * 500,
    "asking?delta=Infinity&delta=0&C=-3&seed=1.5&seed=0&weights=best",
    "results?topic=%3Cb%3Ex%3C/b%3E&score=1&group=2&at=-7&hide=%3Cimg%3E&band=yes",
)


@pytest.mark.parametrize("address", GOOD)
def test_a_position_can_be_shared(page, address):
    part = address.partition("?")[0]
    page.open(address)
    shown = page.look(part)
    assert page.address() == address
    if address != part:
        page.open(part)
        assert page.look(part) != shown
    page.open(address)
    assert page.look(part) == shown
    page.size(768)
    page.look(part)
    page.size(1280)
    assert page.look(part) == shown, "after a change of size"


def test_bad_addresses_fall_back_to_the_defaults(page):
    defaults = {}
    for part in PARTS:
        page.open(part)
        defaults[part] = page.look(part)
    for address in BAD:
        part = address.partition("?")[0] if address.partition("?")[0] in PARTS else "step"
        page.open(address)
        assert page.look(part) == defaults[part], address
        assert page.address_becomes(part), address
        markup = page.run("return document.body.innerHTML.split('<script>')[0]")
        assert "onerror" not in markup and "alert(" not in markup, address
    assert page.driver.execute_script("return document.scripts.length") == 2


# ---------------------------------------------------------------- screens, motion, safety, speed


@pytest.mark.parametrize(("width", "scheme"), [*((width, "light") for width in WIDTHS), (WIDTHS[-1], "dark")])
def test_nothing_is_cut_off(page, width, scheme):
    page.prefers(color_scheme=scheme)
    page.size(width, mobile=width < 500)
    for part in PARTS:
        page.open(part)
        page.look(part)
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth"), part
        assert width < WIDTHS[-1] or page.accused() == [], part
        outside = """
            return [...document.querySelectorAll(`#${arguments[0]} :is(button, select, input, canvas, svg, td, th)`)]
              .filter((e) => e.checkVisibility() && !e.closest(".chip"))
              .map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
              .filter(([, a]) => a.width > 1 && (a.left < -0.5 || a.right > window.innerWidth + 0.5));"""
        assert page.run(outside, part) == [], part
        small = """
            return [...document.querySelectorAll(`#${arguments[0]} :is(button, select), header button`)]
              .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 28).map((e) => e.outerHTML);"""
        assert page.run(small, part) == [], part
    page.open("results?at=2")
    page.look("results")
    assert page.run("const a = document.querySelector('.values'); return a.scrollWidth <= a.clientWidth")
    dark = page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    page.find("#theme").click()
    assert (page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)") != dark


def test_nothing_comes_from_elsewhere_or_can_be_brought_in(page):
    for part in PARTS:
        page.open(part)
        page.look(part)
        assert page.run("return performance.getEntriesByType('resource').length") == 0
    refused = page.driver.execute_async_script("""
        const done = arguments[0], refused = [];
        document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "window.broughtIn = 1";
        document.body.append(script);
        document.body.append(Object.assign(new Image(), { src: "https://example.org/x.png" }));
        document.body.insertAdjacentHTML("beforeend", "<p style='color: red' onclick='window.broughtIn = 1'>");
        document.body.lastChild.click();
        fetch("https://example.org/").catch(() => setTimeout(() => done(refused), 200));""")
    assert {"script-src-elem", "script-src-attr", "style-src-attr", "img-src", "connect-src"} <= set(refused)
    assert page.run("return window.broughtIn") is None
    assert page.run("return localStorage.length + document.cookie.length") == 0
    assert all("Content Security Policy" in message for message in page.complaints())
