"""Topology files over a followed cluster: nodes that come, go or change have what a new reading would give them."""

from __future__ import annotations

import pickle
import random

import pytest
from api_server.watched import Watched
from small_nodes import NUMA, a_slice, cluster, gpu, nic
from topology_texts import SERVER

from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_cluster
from dra_lab.sources.foreign import decode_inventory, with_overlay
from dra_lab.sources.foreign.overlay_followed import FollowedOverlays

BUS = "resource.kubernetes.io/pciBusID"
FILE = decode_inventory(SERVER, "dgx.xml")
SECOND = decode_inventory(SERVER.replace(b"[20-2f]", b"[21-2f]"), "second.xml")


def machine(node: str, shape: int = 0):
    """The slices of a node: 0 whole, 1 a GPU less, 2 contradicts the file, 3 another machine, 4 without a NIC yet."""
    more = {NUMA: 1} if shape == 2 else {}
    gpus = [gpu(0, **{BUS: "0000:13:00.0"}), gpu(1, **{BUS: "0000:99:00.0" if shape == 3 else "0000:21:00.0"}, **more)]
    first = a_slice("gpu.nvidia.com", *gpus[: 1 if shape == 1 else 2], node=node)
    return (first,) if shape == 4 else (first, a_slice("dra.net", nic("pci-0000-14-00-0"), node=node))


def world(shapes: dict[str, int]) -> Cluster:
    """A cluster of such nodes."""
    return cluster(*(item for node in sorted(shapes) for item in machine(node, shapes[node])))


def said(made: Cluster) -> set[tuple[str, str, str]]:
    """Return the messages about the file."""
    return {(f.rule, f.subject, f.message) for f in made.findings if f.rule.startswith("overlay")}


@pytest.mark.parametrize("files", [(FILE,), (FILE, SECOND)])
@pytest.mark.parametrize("seed", range(25))
def test_followed_overlays_are_those_of_a_new_reading(seed, files):
    """Whatever comes, goes and changes: places, what is shared between equal nodes, findings; two files keep order."""
    rng = random.Random(seed)

    def laid(shapes):
        made = world(shapes)
        for file in files:
            made = with_overlay(made, file)
        return made

    shapes = {f"n{i}": rng.randrange(5) for i in range(4)} | {"n9": 0}
    before = laid(shapes)
    followed = FollowedOverlays(before)
    for _ in range(6):
        node = f"n{rng.randrange(6)}"
        shapes = {**shapes, node: rng.randrange(5)} if rng.random() < 0.7 else {**shapes, node: 0}
        if rng.random() < 0.3:
            del shapes[node]
        overlays, new = followed.after(world(shapes), [node]), laid(shapes)
        assert {n: (o.source, o.places) for n, o in overlays.items()} == {
            n: (o.source, o.places) for n, o in new.overlays.items()
        }
        pairs = [(a, b) for a in overlays for b in overlays]
        assert all((overlays[a] is overlays[b]) == (new.overlays[a] is new.overlays[b]) for a, b in pairs)
        found = followed.findings(before.findings)
        assert {(f.rule, f.subject, f.message) for f in found} == said(new)


def test_a_change_that_tells_nothing_new_leaves_the_overlays_as_they_are():
    """The same object, so that all that was worked out from it stays."""
    before = with_overlay(world({"n1": 0, "n2": 0}), FILE)
    followed = FollowedOverlays(before)
    assert followed.after(world({"n1": 0, "n2": 0}), ["n1", "n2", "gone"]) is before.overlays


def test_a_file_for_named_nodes_is_for_these_alone():
    """A node of such a name gets it back when it comes again; others never get it."""
    before = with_overlay(world({"n1": 3, "n2": 0}), FILE, nodes=("n1",))
    followed = FollowedOverlays(before)
    assert set(followed.after(world({"n2": 0, "n3": 3}), ["n1", "n3"])) == set()
    assert set(followed.after(world({"n1": 1, "n2": 0}), ["n1"])) == {"n1"}


def test_clusters_with_overlays_travel_between_processes():
    """A scenario is planned elsewhere: the places arrive, and equal nodes still share one overlay."""
    there = pickle.loads(pickle.dumps(with_overlay(world({"n1": 0, "n2": 0}), FILE)))
    assert there.overlays["n1"] is there.overlays["n2"]
    assert there.overlays["n1"].places == with_overlay(world({"n1": 0}), FILE).overlays["n1"].places


def document(node: str):
    """A GPU of the file's machine, on a node."""
    device = {"name": "gpu-0", "attributes": {BUS: {"string": "0000:13:00.0"}}}
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {**spec, "nodeName": node, "devices": [device]},
    }


def test_a_node_that_joins_a_followed_cluster_gets_what_the_file_says(server, config, tmp_path):
    """Over a real socket: the new node has the places and is named, and a node that leaves is named no more."""
    server.store.put(document("n1"))
    (tmp_path / "node.xml").write_bytes(SERVER)
    watched = Watched(load_cluster(f"context:test+topo:{tmp_path / 'node.xml'}"))
    server.store.put(document("n2"))
    watched.until(lambda w: set(w.latest.overlays) == {"n1", "n2"})
    assert watched.latest.overlays["n1"] is watched.latest.overlays["n2"]
    assert ["on n1 and 1 more node, this" in f.message for f in watched.latest.findings if f.rule == "overlay"] == [
        True
    ]
    server.store.delete("resourceslices", "n1")
    watched.until(lambda w: set(w.latest.overlays) == {"n2"})
    watched.follower.stop()
