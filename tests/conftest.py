"""The browser in which the two web pages are tried."""

import pytest


@pytest.fixture(scope="module")
def browser(request, tmp_path_factory):
    """A browser with the page that the module of the tests names."""
    from browser import browse  # slow to import

    with browse(request.module.PAGE, tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser):
    """The page opened anew at 1280 pixels; the console must be empty when the test is done."""
    browser.size(1280)
    browser.prefers(color_scheme="light", reduced_motion="no-preference")
    browser.complaints()
    browser.open()
    yield browser
    assert browser.complaints() == []
