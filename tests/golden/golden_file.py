"""Golden files: the id of a case is the path of its file below this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
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


class LeastPods(GoldenFile):
    """The file has half of a number of pods, and a plan may have any number from there."""

    def serialize(self, data, **_) -> str:
        """Return the least number that passes."""
        return f"at least {data // 2} pods\n"

    def matches(self, *, serialized_data: str, snapshot_data: str) -> bool:
        """Say whether twice the found half is at least the recorded one."""
        found, recorded = (int(text.split()[2]) for text in (serialized_data, snapshot_data))
        return 2 * found + 1 >= recorded


in_a_file = pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot location")
"""For tests with golden files: the name of a file does not begin with that of its test."""
