"""Golden files: the id of a case is the path of its file below this folder."""

from __future__ import annotations

from pathlib import Path

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class GoldenFile(SingleFileSnapshotExtension):
    """One file of text per case. `make golden` removes all files first, so none is unused."""

    _write_mode = WriteMode.TEXT

    @classmethod
    def get_location(cls, *, test_location, index) -> str:
        """Return the path of the file of a case."""
        return str(Path(__file__).parent / test_location.nodename.partition("[")[2][:-1])

    def discover_snapshots(self, *, test_location, ignore_extensions=None) -> SnapshotCollections:
        """Return nothing: other files beside the golden ones are none of ours."""
        return SnapshotCollections()
