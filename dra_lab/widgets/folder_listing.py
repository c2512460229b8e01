"""A folder that a person looks at to choose a file or a folder by name, in place of typing its path."""

from __future__ import annotations

from pathlib import Path

import traitlets

from dra_lab.errors import InputError
from dra_lab.sources.files import confined
from dra_lab.widgets.messages import Row, on
from dra_lab.widgets.session_view import Pane


class ListingRow(Row, frozen=True):
    """A folder that the page may reach: its path from the notebook's folder, what is in it, and the folder above.

    `above` is None where the page may go no further; `more` entries are not listed.
    """

    path: str = ""
    above: str | None = None
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    more: int = 0
    problem: str = ""


class FolderListing(Pane):
    """The folder that a person looks at to choose a file or a folder by name."""

    listing = traitlets.Dict().tag(sync=True, value=ListingRow)

    @on
    def list_folder(self, path: str = "") -> None:
        """List a folder; for a file, or a folder that is not there yet, the one around it."""
        self.assign(listing=listing_row(path))


_MOST_LISTED = 500
_LISTED = (".json", ".yaml", ".yml", ".tar.gz", ".tgz", ".xml", ".txt", ".html")
"""The endings of files that are read."""


def listing_row(path: str) -> ListingRow:
    """Return what is in a folder, without hidden and unreadable entries; that of the notebook for one out of reach."""
    try:
        place = confined(path or ".")
    except InputError:
        place = confined(".")
    while not place.is_dir():
        place = place.parent
    shown = _from_here(place)
    try:
        found = sorted((one for one in place.iterdir() if _is_listed(one)), key=lambda one: one.name.lower())
    except OSError as error:
        return ListingRow(path=shown, above=_above(place), problem=f"It cannot be read: {error.strerror or error}.")
    listed = found[:_MOST_LISTED]
    return ListingRow(
        path=shown,
        above=_above(place),
        folders=tuple(one.name for one in listed if one.is_dir()),
        files=tuple(one.name for one in listed if not one.is_dir()),
        more=len(found) - len(listed),
    )


def _is_listed(entry: Path) -> bool:
    if entry.name.startswith(".") or not entry.name.isprintable():
        return False
    return entry.is_dir() or entry.name.lower().endswith(_LISTED)


def _above(place: Path) -> str | None:
    try:
        return _from_here(confined(place.parent)) or "."
    except InputError:
        return None


def _from_here(place: Path) -> str:
    """Return a path from the notebook's folder, "" for that folder, an absolute one elsewhere."""
    here = Path.cwd().resolve()
    return "" if place == here else place.relative_to(here).as_posix() if place.is_relative_to(here) else str(place)
