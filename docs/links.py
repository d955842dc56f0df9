"""Check the links inside a built site: `python docs/links.py build/docs` prints those that lead nowhere and fails."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects the names that can be jumped to and the addresses a page refers to."""

    def __init__(self, text):
        super().__init__()
        self.names, self.addresses = {""}, set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Take the names and addresses of an element."""
        for key, value in attrs:
            if key in ("id", "name"):
                self.names.add(value)
            elif key in ("href", "src") and value:
                self.addresses.add(value)


def broken_links(folder):
    """Return (page, address) for each link to a file or a place in a page that is not there.

    Parameters
    ----------
    folder : Path
        A built site.

    Returns
    -------
    list of (str, str)
    """
    folder = Path(folder).resolve()
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.relative_to(folder).parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    broken = []
    for path, page in pages.items():
        for address in sorted(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment).partition("?")[0]  # what follows is the state of the page to play with
            known = pages[target].names if target in pages else {place}
            if not target.is_file() or place not in known:
                broken.append((str(path.relative_to(folder)), address))
    return broken


if __name__ == "__main__":
    found = broken_links(sys.argv[1])
    for page, address in found:
        print(f"{page}: {address} leads nowhere", file=sys.stderr)
    sys.exit(bool(found))
