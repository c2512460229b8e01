"""Snapshots of clusters that topology files complete."""

from __future__ import annotations

import pytest
from sources.test_foreign_commands import files

from dra_lab.sources import load_cluster
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from dra_lab.topology.locality import localities

__all__ = ["files"]


def _places(cluster):
    """Return, node by node and device by device in order, the places of every level and whether they are derived."""
    levels = ("switch", "pcieRoot", "numaNode", "socket")
    return [
        [[(p.value, p.derived) if (p := place.place(level)) else None for level in levels] for place in here.values()]
        for here in (localities(cluster, node) for node in cluster.node_names)
    ]


def _names(files):
    return f"{files / 'cluster.json'}+topo:{files / 'dgx.xml'}", f"topo:{files / 'dgx.xml'}*3"


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_file_said_is_read_back(files, tmp_path, which):
    """A captured cluster knows the same places, from the same lines of the same files."""
    cluster = load_cluster(_names(files)[which])
    write_snapshot(make_snapshot(cluster), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    sources = [{o.source for o in c.overlays.values()} for c in (cluster, again)]
    assert sources[0] == sources[1]


@pytest.mark.parametrize("which", [0, 1])
def test_under_pseudonyms_the_places_stay_and_the_files_names_go(files, tmp_path, which):
    """The plan needs the places; a person's file names are private."""
    cluster = load_cluster(_names(files)[which])
    hidden = anonymise(cluster)
    write_snapshot(make_snapshot(hidden.cluster, replaced=hidden.counts), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    assert "dgx.xml" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())
