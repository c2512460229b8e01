"""The drawing's file while it is open: written after every change, but never over a change from outside."""

from __future__ import annotations

from pathlib import Path

from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.sketch import Drawing
from dra_lab.sources import read_drawing, write_drawing


class DrawingFile:
    """A file that holds one drawing, and what it held when we last read or wrote it."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is read yet."""
        self.path = path
        self._seen = self._content()

    def read(self) -> Drawing | None:
        """Return the file's drawing, None when there is no file. Raises SourceError or SketchError."""
        self._seen = self._content()
        return read_drawing(self.path) if self._seen is not None else None

    def write(self, drawing: Drawing) -> bool:
        """Write the drawing; returns False, and writes nothing, when the file changed since. Raises ExportError."""
        text = encode_drawing(drawing).encode()
        if text == self._content():
            self._seen = text
            return True
        if self.changed_on_disk():
            return False
        self.overwrite(drawing)
        return True

    def overwrite(self, drawing: Drawing) -> None:
        """Write the drawing whatever the file holds. Raises ExportError."""
        write_drawing(self.path, drawing)
        self._seen = self._content()

    def changed_on_disk(self) -> bool:
        """Say whether the file holds something else than when we last read or wrote it."""
        return self._content() != self._seen

    def _content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except OSError:
            return None
