"""Snapshots of clusters that a topology file made."""

from __future__ import annotations

from topology_texts import SERVER

from dra_lab.sources import load_cluster
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from dra_lab.topology.locality import localities


def _made(folder):
    (folder / "dgx.xml").write_bytes(SERVER)
    return load_cluster(f"topo:{folder / 'dgx.xml'}*3")


def _places(cluster):
    """Return, node by node and device by device in order, the places of every level and whether they are derived."""
    levels = ("switch", "pcieRoot", "numaNode", "socket")
    return [
        [[(p.value, p.derived) if (p := place.place(level)) else None for level in levels] for place in here.values()]
        for here in (localities(cluster, node) for node in cluster.node_names)
    ]


def test_what_a_file_said_is_read_back(tmp_path):
    """A captured cluster knows the same places, from the same lines of the same file."""
    cluster = _made(tmp_path)
    write_snapshot(make_snapshot(cluster), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    sources = [{o.source for o in c.file_places.values()} for c in (cluster, again)]
    assert sources[0] == sources[1]


def test_under_pseudonyms_the_places_stay_and_the_name_of_the_file_goes(tmp_path):
    """The plan needs the places; the name of a person's file is private."""
    cluster = _made(tmp_path)
    hidden = anonymise(cluster)
    write_snapshot(make_snapshot(hidden.cluster, replaced=hidden.counts), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    assert "dgx.xml" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())
