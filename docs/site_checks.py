"""Checks of the built site: no dead link inside, and nothing that a browser would fetch from another machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_IN_CSS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
_FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_FETCHED = {"canonical", "next", "prev", "index", "search", "license", "author"}


class _Page(HTMLParser):
    """The links, ids and fetched files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.update(value for name, value in found.items() if name in ("id", "name"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        name = _FETCHED.get(tag)
        if name in found and not (tag == "link" and found.get("rel") in _NOT_FETCHED):
            self.fetched.append(found[name])


def problems(site: Path) -> Iterator[str]:
    """Yield every dead link and every address of another machine, with its page."""
    pages = {path.resolve(): _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for address in page.fetched:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                yield f"{where}: a browser would fetch {address}"
            elif parts.path and not (path.parent / unquote(parts.path)).exists():
                yield f"{where}: there is no {address}"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{where}: the link {link} is dead"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{where}: {link} has no such place"
    for sheet in site.rglob("*.css"):
        for address in _IN_CSS.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)}: a browser would fetch {address}"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
