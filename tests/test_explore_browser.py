"""The page to play with in a real browser, by mouse, finger and keyboard. Skipped where there is no Chromium."""

import re
import statistics
import time
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import browse, needs_browser
from pa_lab import PAClassifier
from pa_lab.study import store

PAGE = (store.ROOT / "report" / "explore.html").as_uri()
PARTS = ("step", "stream", "asking", "kernel", "results")
pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browse(PAGE, tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser):
    """The browser at 1280 pixels; the console must be empty when the test is done."""
    browser.size(1280)
    browser.prefers(color_scheme="light", reduced_motion="no-preference")
    browser.complaints()
    yield browser
    assert browser.complaints() == []


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
        assert f"{key}=" in page.address(f"{key}="), key
        if key not in UNSEEN:
            assert page.look(part) != first, key
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
    end = time.monotonic() + 5  # a busy machine draws few frames a second
    while int(count.text.split()[0]) <= 3 and time.monotonic() < end:
        time.sleep(0.02)
    play.click()
    stopped = int(count.text.split()[0])
    assert 3 < stopped < int(total)
    time.sleep(0.4)
    page.open(page.address())
    count, play = page.find(f"#{part} .playbar .value"), page.find(f"#{part} [data-do=play]")
    assert count.text == f"{stopped} of {total}"
    Select(page.find(f"#{part} .playbar select")).select_by_value("60")
    play.send_keys(Keys.SPACE)
    end = time.monotonic() + 20
    while play.text == "Pause":
        assert time.monotonic() < end
        time.sleep(0.1)
    assert count.text == f"{total} of {total}"


@pytest.mark.parametrize("part", ["stream", "asking", "kernel"])
def test_another_draw_is_another_picture(page, part):
    page.open(f"{part}?wrong=0.2" if part == "stream" else part)
    first = page.look(part)
    page.find(f"#{part} .again").click()
    assert page.look(part) != first
    assert "seed=" in page.address("seed=")


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


def test_a_wrong_label_harms_pa_and_hardly_harms_pa1(page):
    """The way of a teacher with three minutes: one button in each of the first two parts."""
    page.open()
    wrong = lambda: [int(cell.text) for cell in page.all("#step .rules tbody .wrong") if cell.is_displayed()]  # noqa: E731
    page.look("step")
    pa, pa1 = wrong()
    page.find("#step .flip").click()
    page.look("step")
    assert max(wrong()) <= 6 and pa > 30 and pa1 <= 6
    assert "y=1" in page.address("y=1")
    page.find("#tab-stream").click()
    before = page.look("stream")
    page.find("#stream .flip").click()
    assert page.look("stream") != before
    sides = [int(page.find(f"#stream small.{side}").text.split()[0]) for side in ("left", "right")]
    assert sides[0] > 12 and sides[1] <= 5
    assert "which is wrong" in page.find("#stream .reading").text
    page.find("#stream .flip").click()
    assert page.look("stream") == before


def test_the_numbers_of_the_step_are_those_of_the_worked_example(page):
    page.open("step?y=-1&rules=PA,PA-I,PA-II,PALS")
    page.look("step")
    cells = [[cell.text.split("\n")[0] for cell in row.find_elements(By.TAG_NAME, "td")[:3]]
             for row in page.all("#step .rules tbody tr")]  # fmt: skip
    assert cells == [
        ["0.38", "(−0.08, −0.46)", "1"],
        ["0.1", "(0.2, 0.1)", "−0.4"],
        ["0.19", "(0.11, −0.08)", "0.05"],
        ["0.19", "(0.11, −0.08)", "0.05"],
    ]
    page.open("step?y=-1&intercept=left%20out")
    page.look("step")
    assert "too long" in page.find("#step .reading").text
    page.open("step?y=-1&intercept=counted")
    page.look("step")
    assert page.find("#step .rules tbody .margin").text == "1"
    page.find("#step .rules tbody button").click()
    page.look("step")
    assert "passive" in page.find("#step .reading").text


# ---------------------------------------------------------------- what a class sees

PLACES = """
const svg = document.querySelector(arguments[0]);
const polylines = [...svg.querySelectorAll("polyline")];
const place = (text) => [text.textContent, text.x.baseVal[0].value, text.y.baseVal[0].value];
const marks = [...svg.querySelectorAll(".mark")].map(place);
return {
  lines: polylines.map((line) => [...line.points].map((p) => [p.x, p.y])),
  dashed: polylines.map((line) => line.getAttribute("stroke-dasharray") !== "none"),
  x: marks.filter(([text]) => !text.endsWith("%")).map(([text, x]) => [Number(text), x]),
  y: marks.filter(([text]) => text.endsWith("%")).map(([text, , y]) => [parseFloat(text), y]),
};
"""


def lines_of(page, chart, log=False):
    """The lines of a chart in the units of its axes, read off its marks as a person would; y in percent."""
    found = page.run(PLACES, chart)
    x, y = (np.array(found[axis]) for axis in "xy")
    x_of = np.poly1d(np.polyfit(x[:, 1], np.log(x[:, 0]) if log else x[:, 0], 1))
    y_of = np.poly1d(np.polyfit(y[:, 1], y[:, 0], 1))
    lines = [np.array([x_of([a for a, _ in line]), y_of([b for _, b in line])]) for line in found["lines"]]
    return [np.array([np.exp(a) if log else a, b]) for a, b in lines], found["dashed"]


def test_rings_and_signs_show_what_each_line_gets_wrong(page):
    signs = """
        const at = (text) => [text.x.baseVal[0].value, -text.y.baseVal[0].value];
        const found = [...document.querySelectorAll("#step svg.data .side")].map((t) => [t.textContent, ...at(t)]);
        const size = document.querySelector("#step svg.data").clientWidth;
        return found.map(([sign, a, b]) => [sign, a - size / 2, b + size / 2]);"""
    weights = {1: [(0.3, 0.3), (0.32, 0.34), (0.32, 0.34)], -1: [(0.3, 0.3), (0.2, 0.1), (-0.08, -0.46)]}
    for y in (1, -1):
        page.open(f"step?y={y}")
        page.look("step")
        for row in page.all("#step .rules tbody tr"):
            if row.is_displayed():
                rule = row.find_element(By.TAG_NAME, "th").text
                wrong = int(row.find_element(By.CSS_SELECTOR, ".wrong").text)
                assert len(page.all(f'#step .miss[data-rule="{rule}"]')) == wrong > 0
        found = page.run(signs)
        assert [sign for sign, _, _ in found] == ["+", "−"] * 3
        for k, (sign, *place) in enumerate(found):
            assert (np.dot(weights[y][k // 2], place) > 0) == (sign == "+")


def test_the_chart_of_the_stream_follows_the_counts_of_true_labels(page):
    page.open("stream?wrong=0.2&t=27")
    page.look("stream")
    counts = [[int(cell.text) for cell in row.find_elements(By.TAG_NAME, "td")[2:]]
              for row in page.all("#stream .counts tbody tr")[:2]]  # fmt: skip
    lines, dashed = lines_of(page, "#stream .errors")
    assert dashed == [False, False, True, True]
    assert [line.shape[1] for line in lines] == [28] * 4
    assert np.allclose([line[:, -1] for line in lines], [[27, 100 * n / 40] for n in np.ravel(counts, "F")], atol=0.1)
    page.find("#stream .switch").click()
    page.look("stream")
    assert lines_of(page, "#stream .errors")[1] == [False, False]


def test_a_line_outside_the_picture_is_said_to_be(page):
    cases = {"wrong=0.2&seed=1": [False, True], "wrong=0.2": [False, False], "t=0": [False, False]}
    for address, outside in cases.items():
        page.open(f"stream?{address}")
        page.look("stream")
        assert [note.is_displayed() for note in page.all("#stream .outside")] == outside, address


@pytest.mark.parametrize("address", ["", "weights=averaged", "rule=PA&delta=1", "n=100&C=0.1"])
def test_the_sentence_on_asking_is_what_the_chart_shows(page, address):
    page.open(f"asking?{address}")
    found = page.find("#asking .found")
    end = time.monotonic() + 60
    while "Reading" in found.text:
        assert time.monotonic() < end
        time.sleep(0.2)
    page.look("asking")
    (small, random, every), _ = lines_of(page, "#asking .quality", log=True)
    enough = next((k for k, quality in enumerate(small[1]) if quality >= every[1, 0] - 0.005), None)
    labels = int(re.search(r"about (\d+) labels", found.text)[1])
    assert abs(labels - small[0, -1 if enough is None else enough]) < 1
    assert ("match all" in found.text) == (enough is not None)
    gains = re.findall(r"(−?[\d.]+)\s±", found.text)
    gain = float(gains["averaged" in address].replace("−", "-"))
    at = int(re.search(r", about (\d+) labels, the gain", found.text)[1])
    k = int(np.argmin(np.abs(small[0] - at)))
    assert abs(small[1, k] - random[1, k] - gain) < 0.07
    tops = [page.find(f"#asking {css}").rect["y"] for css in (".quality", ".found", ".counts")]
    assert tops == sorted(tops)


def test_a_phone_shows_the_line_and_the_result_without_scrolling(page):
    page.size(390, 844, mobile=True)
    page.open("step")
    page.look("step")
    page.find("#step .flip").click()
    page.look("step")
    flip, reading, plane, weights = (
        page.run(
            "const a = document.querySelector(arguments[0]).getBoundingClientRect(); return [a.top, a.bottom]", css
        )
        for css in ("#step .flip", '#step [data-out="reading"]', "#step svg.data", "#step svg.weights")
    )
    assert 0 <= flip[0] < flip[1] < reading[0] < reading[1] < plane[0] < plane[1] < min(844, weights[0])


@pytest.mark.parametrize("width", [390, 1280])
def test_every_part_shows_from_its_top(page, width):
    page.size(width, mobile=width < 500)
    for address in (*PARTS, "stream?t=5"):
        page.open(address)
        page.look(address.partition("?")[0])
        assert page.run("return scrollY") == 0, address
        page.run("location.hash = 'kernel?C=2'; scrollTo(0, 300); location.hash = arguments[0]", address)
        page.look(address.partition("?")[0])
        assert page.run("return scrollY") == 0, f"{address}, from another part"


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_table_of_steps_fits(page, width):
    page.size(width, mobile=width < 500)
    for address in ("x=0.9,2", "x=0.05,-0.03&y=-1&w=-4.99,-4.99", "x=-0.05,-0.05&intercept=left%20out"):
        page.open(f"step?{address}&rules=PA,PA-I,PA-II,PALS")
        page.look("step")
        widths = "const a = document.querySelector('#step .scroll'); return [a.scrollWidth, a.clientWidth]"
        inner, outer = page.run(widths)
        assert inner <= outer, address


def test_a_large_c_makes_pa1_equal_to_pa_and_the_slider_shows_from_where(page):
    page.open("step?y=-1&C=1")
    page.look("step")
    assert "C exceeds 0.38, so PA-I = PA." in page.find('#step [data-out="reading"]').text
    slider, mark = page.find('#step [data-key="C"]').rect, page.find("#step .need")
    assert slider["width"] > 250
    assert "0.38" in mark.text
    share = np.log(0.38 / 0.001) / np.log(100 / 0.001)
    middle = mark.rect["x"] + mark.rect["width"] / 2
    assert abs(middle - (slider["x"] + 8 + share * (slider["width"] - 16))) < 1  # half of the slider's knob is 8 pixels
    page.open("step?y=-1")
    page.look("step")
    assert "PA-I stops at C = 0.1" in page.find('#step [data-out="reading"]').text


@pytest.mark.parametrize("part", PARTS)
def test_a_class_can_read_every_word_on_a_wide_screen(page, part):
    page.open(f"{part}?at=1&rules=PA,PA-I,PA-II,PALS")
    page.look(part)
    small = """
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walk.nextNode()) {
          const parent = walk.currentNode.parentElement;
          const size = parseFloat(getComputedStyle(parent).fontSize);
          if (size < 15 && walk.currentNode.data.trim() && parent.checkVisibility()) found.push(parent.outerHTML);
        }
        return found;"""
    assert page.run(small) == []
    if part == "stream":
        size, weight = page.run("const a = getComputedStyle(document.querySelector('small.left b'));"
                                "return [parseFloat(a.fontSize), a.fontWeight]")  # fmt: skip
        assert size >= 24 and int(weight) >= 700


# ---------------------------------------------------------------- mouse, finger, keyboard


@pytest.mark.parametrize("key", [Keys.SPACE, Keys.ENTER])
def test_keys_on_a_handle_flip_the_label(page, key):
    page.open()
    page.look("step")
    for handle, label in (("x", "+1"), ("w", "−1")):
        page.run("document.querySelector(arguments[0]).focus()", f".handle.{handle}")
        ActionChains(page.driver).send_keys(key).perform()
        page.look("step")
        assert page.find('#step [data-show="y"]').text == label
    assert page.run("return scrollY") == 0


@pytest.mark.parametrize("part", ["stream", "asking", "kernel"])
def test_the_space_bar_plays_and_pauses(page, part):
    page.open(f"{part}?t=2")
    page.look(part)
    for word in ("Pause", "Play"):
        ActionChains(page.driver).send_keys(Keys.SPACE).perform()
        assert page.find(f"#{part} [data-do=play]").text == word
    page.find(f"#{part} [data-do=next]").send_keys(Keys.SPACE)
    assert page.find(f"#{part} [data-do=play]").text == "Play", "a button that has the focus keeps its key"


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


def test_a_number_out_of_range_is_put_back(page):
    page.open()
    field = page.find('#step input[data-key="w"]')
    for bad in ("1e9", "", "-7"):
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(bad or Keys.DELETE, Keys.TAB)
        page.look("step")
        assert values(page, "w")[0] == 0.3


def test_points_are_added_and_flipped_by_hand(page):
    page.open("stream?t=40")
    first = page.look("stream")
    canvas = page.find("#stream canvas.left")
    Select(page.find('#stream [data-key="tap"]')).select_by_value("plus")
    ActionChains(page.driver).move_to_element_with_offset(canvas, -120, -80).click().perform()
    assert page.look("stream") != first
    assert page.find("#stream .playbar .value").text.endswith("of 41")
    canvas.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ENTER)
    page.look("stream")
    assert page.find("#stream .playbar .value").text.endswith("of 42")
    assert page.address(";").count(";") == 1
    Select(page.find('#stream [data-key="tap"]')).select_by_value("flip")
    canvas.send_keys(Keys.ENTER)
    assert "flip=" in page.address("flip=")
    page.find("#stream .undo").click()
    assert page.look("stream") == first


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


def test_everything_that_can_be_used_has_a_name(page):
    for part in PARTS:
        page.open(part)
        page.look(part)
        tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {"button", "slider", "combobox", "checkbox", "spinbutton", "tab", "image", "img", "group", "tabpanel"}
        for node in tree:
            if node.get("role", {}).get("value") in roles and not node.get("ignored"):
                focusable = any(p["name"] == "focusable" for p in node.get("properties", []))
                if focusable or node["role"]["value"] in ("image", "img"):
                    assert node.get("name", {}).get("value"), page.driver.execute_cdp_cmd(
                        "DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]}
                    )


def test_curves_give_values_by_mouse_and_by_key(page):
    page.open("results")
    page.look("results")
    curves, box = page.find("#results .curves"), page.find("#results .values")
    assert not box.is_displayed()
    ActionChains(page.driver).move_to_element(curves).perform()
    page.look("results")
    assert box.is_displayed() and "PA-I" in box.text
    shown = box.text
    ActionChains(page.driver).move_to_element(page.find("h1")).perform()
    page.look("results")
    assert not box.is_displayed()
    curves.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.look("results")
    assert box.is_displayed() and box.text != shown
    page.find("#results .lines label").click()
    page.look("results")
    assert "hide=PA" in page.address("hide=")
    assert "PA\n" not in box.text
    page.find("#results .all-values summary").click()
    page.look("results")
    assert len(page.all("#results .all-values tbody tr")) == 4  # shares of flipped labels


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
    quote("<script>alert(1)</script>"),
    "__proto__?C=1",
    "constructor?C=1",
    "stream?n=1000000000&t=-5&t=1.5&t=1e9&speed=0&left=PA-IV&order=up&flip=1.1&flip=-1&flip=3.x&add=9,9,1&add=1,2,3",
    "stream?add=" + "1,1,1;" * 500,
    "stream?flip=" + ".".join(map(str, range(300))),
    "asking?delta=Infinity&delta=0&C=-3&seed=1.5&seed=0&weights=best",
    "kernel?budget=1e9&budget=2.5&gamma=0&policy=eval&data=constructor",
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
    page.driver.get("about:blank")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_is_cut_off(page, width, scheme):
    page.prefers(color_scheme=scheme)
    page.size(width, mobile=width < 500)
    for part in PARTS:
        page.open(part)
        page.look(part)
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth"), part
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


def test_less_motion_means_no_glide(page):
    """After a step, pictures of the next 20 frames: some between the old line and the new one, or only the new one."""
    film = """
        const done = arguments[arguments.length - 1];
        const canvas = document.querySelector("#stream canvas.left");
        const seen = new Set();
        document.querySelector("#stream [data-do=next]").click();
        let frames = 0;
        const look = () => {
          seen.add(canvas.toDataURL());
          ++frames < 30 ? requestAnimationFrame(look) : done(seen.size);
        };
        requestAnimationFrame(() => requestAnimationFrame(look));"""
    pictures = {}
    for motion in ("no-preference", "reduce"):
        page.prefers(reduced_motion=motion, color_scheme="light")
        page.open("stream?t=19&flip=19")
        page.look("stream")
        pictures[motion] = page.driver.execute_async_script(film)
    assert pictures["no-preference"] > 1
    assert pictures["reduce"] == 1


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


@pytest.mark.parametrize("part", ["stream", "kernel"])
def test_500_points_leave_time_to_spare_in_every_frame(page, capsys, part):
    page.open(f"{part}?n=500&t=0&speed=60")
    page.look(part)
    page.run("window.frames_.length = 0; document.querySelector(`#${arguments[0]} [data-do=play]`).click()", part)
    end = time.monotonic() + 60
    while page.run("return window.frames_.length") < 301:
        assert time.monotonic() < end
        if page.find(f"#{part} [data-do=play]").text == "Play":  # the stream has ended before the frames were there
            page.find(f"#{part} [data-do=play]").click()
        time.sleep(0.2)
    frames = page.run("return window.frames_.slice(1, 301)")
    work, apart = zip(*frames, strict=True)
    with capsys.disabled():
        print(
            f"\n{part}, 500 points, 300 frames: script {statistics.median(work):.1f} ms a frame (slowest "
            f"{max(work):.1f} ms), frames {statistics.median(apart):.1f} ms apart (at most {max(apart):.1f} ms)"
        )
    assert statistics.median(work) < 1000 / 60
