"""Other clusters and drawings for a session: from a source that a person names, a sample, or dropped files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import traitlets
from msgspec import Struct

from dra_lab.errors import Cancelled, DraLabError, InputError, SourceError
from dra_lab.manifests.file_text import as_utf8
from dra_lab.model.cluster import Cluster
from dra_lab.session import READ
from dra_lab.session.job import Job, Run
from dra_lab.session.preparing import check, prepare
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.files import confined, confined_source, is_archive, why_refused
from dra_lab.sources.live.connection import PREFIX
from dra_lab.sources.live.reading import Progress, load_context
from dra_lab.sources.samples import PREFIX as SAMPLE
from dra_lab.widgets.cluster_rows import AskRow
from dra_lab.widgets.session_view import Pane, Row, on

if TYPE_CHECKING:
    from dra_lab.session.drawables import Drawable, Drawables


class FileSize(Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the bytes of a file that is about to be sent."""

    name: str
    size: int


class ClusterOpening(Pane):
    """The way to another cluster or drawing. Clusters are read in a thread (`loading`)."""

    busy = traitlets.Unicode("").tag(sync=True)
    refused = traitlets.Unicode("").tag(sync=True)
    offer = traitlets.Dict().tag(sync=True, value=AskRow)
    uploaded = traitlets.Int(0).tag(sync=True)

    def _begin(self) -> None:
        self._upload: tuple[int, tuple[FileSize, ...]] | None = None  # the announced files, and their number
        self._pieces = bytearray()
        self._offered: tuple[Drawable, ...] = ()
        self._opened: Drawable | None = None
        post = self.session.events.post
        self.loading = self.view.loading = Job[Cluster | Show](
            lambda: post(self._show_read), lambda: post(self._show_progress)
        )
        self.endings.append(self._give_up)

    def _show_progress(self) -> None:
        if self.loading.progress:
            self.view.busy = self.loading.progress

    def _show_read(self) -> None:
        """Show what was read, or why it could not be; nothing if it was given up on the way here."""
        found, refusal = self.loading.answer, self.loading.refusal
        if self.loading.stale or (found is None and refusal is None):
            return
        self.loading.drop()
        try:
            if refusal is not None:
                raise refusal.with_traceback(None)
            if isinstance(found, Cluster) and self._opened is None:
                self.session.load(found)
            elif isinstance(found, Cluster) and self._opened is not None:
                self.session.open(self._opened.drawing, found, whole=self._opened.is_plan)
            elif callable(found):
                found()
        except Cancelled:
            pass
        except DraLabError as error:
            self._refuse(str(error))
        if not self.loading.stale:  # what was found may begin another reading
            self.view.busy = ""

    def _give_up(self) -> None:
        """Give up what is being read; the present cluster stays."""
        self.loading.drop()
        self.view.busy = ""

    def _refuse(self, problem: str) -> None:
        self.view.refused = problem

    # ------------------------------------------------------------ what the person did

    @on
    def load(self, source: str) -> None:
        """Read another cluster: what `load_cluster` takes."""
        from dra_lab.session.drawables import texts_at

        source = source.strip()
        if not source:
            return
        self._withdraw()
        if problem := why_refused(source):
            self._refuse(problem)
        elif source.startswith(SAMPLE) and "/" in source:
            self._open_example(source)
        elif not self._offers(texts_at(source), source):
            self._read(f"Reading {source} ...", reading_of(source))

    @on
    def open_drawing(self, number: int) -> None:
        """Open one of the offered drawings, by its place in the offer."""
        offered = self._offered
        self._withdraw()
        if 0 <= number < len(offered):
            self._open(offered[number])

    @on(tag="upload")
    def announce_files(self, number: int, files: tuple[FileSize, ...]) -> None:
        """Announce files; their bytes follow as pieces with the same number."""
        self._withdraw()
        self._upload, self._pieces, self.view.uploaded = None, bytearray(), 0
        size = sum(file.size for file in files)
        if size <= MAX_UPLOAD_BYTES:
            self._upload = number, files
        else:
            limit = f"{MAX_UPLOAD_BYTES // 2**20} MiB; save it beside the notebook and give its path"
            self._refuse(f"files of {size / 2**20:,.0f} MiB exceed the limit of {limit}")

    @on(tag="piece")
    def receive_piece(self, number: int) -> None:
        """Take the next bytes of the announced files, the buffer of the message."""
        if self._upload is None or self._upload[0] != number:
            return
        for piece in self.view.buffers:
            self._pieces += piece
        self.view.uploaded, ends = len(self._pieces), [*accumulate(file.size for file in self._upload[1])]
        if ends and len(self._pieces) > ends[-1]:
            raise SourceError("the browser sent more than it announced; drop the files again")
        if not ends or len(self._pieces) == ends[-1]:
            starts = zip(self._upload[1], (0, *ends), ends, strict=False)
            files = {file.name: bytes(self._pieces[start:end]) for file, start, end in starts}
            self._upload = None
            self._read(f"Reading {', '.join(files)} ...", lambda _stop, _progress: self._dropped(files))

    @on
    def cancel(self) -> None:
        """Give up what is being read."""
        self._upload = None
        self._give_up()

    @on(tag="answer")
    def give_answer(self, id: str) -> None:  # noqa: A002  the field of the message
        """Choose an answer to the question of `ask`."""
        session = self.session
        if id == READ and session.ask:
            session.ask = {}
            session.events.emit("ask")
            self._read(f"Reading {session.drawing.cluster} ...", reading_of(session.drawing.cluster))
        else:
            session.choose(id)

    # ------------------------------------------------------------ what files hold

    def _open_example(self, source: str) -> None:
        """Open a sample's example with its cluster, as one undo step."""
        from dra_lab.session.drawables import Drawable
        from dra_lab.session.drawings import read_plan_file

        cluster = source.partition("/")[0]
        try:
            drawing = read_plan_file(source)
        except DraLabError as error:
            self._refuse(str(error))
            return
        if drawing is not None and self.session.cluster.name == cluster:
            self.session.open(drawing)
        else:
            found = Drawable(source, drawing) if drawing is not None else None
            self._read(f"Reading {cluster} ...", reading_of(cluster), found)

    def _offers(self, texts: Mapping[str, str], source: str) -> bool:
        """Offer what texts hold to be drawn; say whether they do."""
        from dra_lab.session.drawables import drawables

        try:
            if (found := drawables(texts) if texts else None) is not None:
                self._show_found(found, source)
        except DraLabError as error:
            self._refuse(str(error))
            return True
        return found is not None

    def _show_found(self, found: Drawables, source: str, *, dropped: bool = False) -> None:
        """Offer drawings; a single one that was dropped is opened."""
        if dropped and len(found.found) == 1:
            self._open(found.found[0], " ".join(found.notes))
            return
        if not found.found:
            self._refuse(" ".join((*found.notes, "Give the files of the pod and of its claims together.")))
            return
        self._offered = found.found
        rows = tuple((one.label, one.detail) for one in found.found)
        what = "1 drawing" if len(rows) == 1 else f"{len(rows)} drawings; the canvas shows one at a time"
        words = f"{source} contains no cluster. It contains {what}."
        self.assign(offer=AskRow(text=" ".join((words, *found.notes)), options=rows))

    def _open(self, found: Drawable, notes: str = "") -> None:
        """Show a drawing; a plan file with its cluster, if that can be read. Raises SketchError, InputError."""
        from dra_lab.session.claim_text import cluster_to_read, open_drawable

        if found.is_plan and (cluster := confined_source(cluster_to_read(self.session, found.drawing))):
            self._read(f"Reading {cluster} ...", reading_of(cluster), found)
        else:
            self._refuse(" ".join(filter(None, (open_drawable(self.session, found), notes))))

    def _withdraw(self) -> None:
        """Remove the offer and the messages about the latest reading."""
        self._offered = ()
        self._refuse("")
        self.assign(offer=AskRow())

    def _dropped(self, files: Mapping[str, str | bytes]) -> Cluster | Show:
        """Return the cluster in dropped files, or what shows the page or the drawings that they contain."""
        from dra_lab.session.drawables import drawables

        texts = plain_texts(files)
        if (page := self._page_in(texts)) is not None:
            return page
        found = drawables(texts) if texts else None
        if found is None:
            return load_texts(files)
        return lambda: self._show_found(found, ", ".join(files), dropped=True)

    def _page_in(self, texts: Mapping[str, str]) -> Show | None:
        """Return what opens a plan's page on the canvas, None if texts are none."""
        from dra_lab.session.claim_text import open_page, read_page

        session = self.session
        if len(texts) != 1:
            return None
        ((name, text),) = texts.items()
        page = read_page(text, session.snapshot.name, name)
        return (lambda: self._refuse(open_page(session, *page, name))) if page is not None else None

    def _read(self, words: str, read: Read, opened: Drawable | None = None) -> None:
        """Read a cluster in a thread, and then show it, with a drawing if that is opened."""
        self._opened = opened
        self._refuse("")
        self.view.busy = words

        def work(run: Run[Cluster | Show]) -> Cluster | Show:
            found = read(run.stop, lambda far: run.report(f"{words} {far}"))
            if isinstance(found, Cluster) and run.is_latest:
                # Here, and not where the kernel waits; the cluster keeps it.
                prepare(found, found.target_release())
                check(found)
            return found

        self.loading.start(work, at_once=True)  # one that cannot be stopped must not hold it up


MAX_UPLOAD_BYTES = 256 * 2**20
"""Bytes of files that are taken from the browser at once; larger ones are read from where they lie, by their path."""


def plain_texts(files: Mapping[str, str | bytes]) -> dict[str, str]:
    """Return files as texts; none where one of them is an archive."""
    if any(is_archive(name) for name in files):
        return {}
    return {
        name: data if isinstance(data, str) else as_utf8(data).decode("utf-8", "replace")
        for name, data in files.items()
    }


Show = Callable[[], None]
"""Shows what was found in place of a cluster."""
Read = Callable[[threading.Event, Callable[[str], None]], Cluster | Show]
"""Reads a cluster, or what is shown in its place; may look at the event to stop early, and say how far it is."""


def reading_of(source: str) -> Read:
    """Return how to read what `load_cluster` takes; a running cluster tells how far it is and can be stopped."""
    if not source.startswith(PREFIX):
        return lambda _stop, _progress: load_cluster(source)

    def read(stop: threading.Event, progress: Callable[[str], None]) -> Cluster:
        return load_context(source, progress=lambda counts: progress(progress_words(counts)), cancel=stop)

    return read


def progress_words(counts: Progress) -> str:
    """Return `5,000 Node, 1,500 of about 15,000 ResourceSlice` for what was read so far."""
    return ", ".join(
        f"{read.done:,}{f' of about {read.total:,}' if read.total > read.done else ''} {read.kind}"
        for read in counts
        if read.done
    )


# --------------------------------------------------------------------- Folders to choose from


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
