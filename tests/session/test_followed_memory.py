"""A session that takes snapshot after snapshot of a cluster keeps the latest one, and not more for each event."""

import gc
import random
import subprocess
import sys
import weakref

import msgspec
import pytest
from code_of import code_of
from msgspec.structs import replace

from dra_lab import load_cluster, read_sketch, samples
from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.allocated import allocated_devices
from dra_lab.model.allocation import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_lab.model.claims import ResourceClaim, ResourceClaimStatus
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_json
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.session import Session
from dra_lab.session.gc_policy import LARGE, GcPolicy
from dra_lab.sources.live.live_objects import LiveObjects
from dra_lab.sources.samples import sample_path
from dra_lab.topology.locality import localities


@pytest.fixture(autouse=True, scope="module")
def _nothing_set_aside(_set_aside):
    """Unfreeze what the tests set aside, because this module checks what a session sets aside."""
    gc.unfreeze()


def import_planner_later():
    """Import the planner where a value is held, which the import must not keep."""
    import gc
    import weakref

    class Held:
        pass

    def first():
        held = Held()

        return weakref.ref(held)

    held = first()
    gc.collect()
    assert held() is None


def claim(name, *devices, share=None):
    """A claim that holds devices, or a share of each."""
    results = tuple(
        DeviceRequestAllocationResult(request="gpu", driver=d.driver, pool=d.pool, device=d.device, share_id=share)
        for d in devices
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="test"), status=ResourceClaimStatus(allocation=allocation)
    )


def example(name):
    """The first drawing of a sample."""
    return read_sketch(next(f"sample:{name}/{sample.examples[0]}" for sample in samples() if sample.name == name))


def gpus(cluster):
    """The first device of every pool."""
    return [
        DeviceRequestAllocationResult(
            request="", driver=s.spec.driver, pool=s.spec.pool.name, device=s.spec.devices[0].name
        ).id
        for s in cluster.slices
        if s.spec.devices
    ]


@pytest.mark.long
def test_neither_snapshots_nor_objects_add_up():
    """After sixty snapshots of a few states, the first is gone, and there are no more objects than after thirty."""
    read = load_cluster(sample_path("two-sockets"))
    session, first = Session(read, sketch=example("two-sockets")), weakref.ref(read)
    session.wait()
    objects, devices, chance, counted = LiveObjects(read), gpus(read)[:2], random.Random(1), []
    del read
    for number in range(60):
        for at, device in enumerate(devices):
            objects.put("ResourceClaim", claim(f"c-{at}", *chance.sample([device], chance.randrange(2))))
        session._take_live(objects.snapshot({}))
        session.wait()
        if number % 30 == 29:
            gc.collect()
            counted.append(sys.getallocatedblocks())
    session.close()
    assert first() is None
    assert counted[1] - counted[0] < 300


def read_anew(item, **changes):
    """An object as a watch brings it: no part of it is one that was there before."""
    return from_json(msgspec.json.encode(replace(item, **changes)), type(item))


@pytest.mark.long
def test_slices_published_anew_and_labels_add_nothing_up():
    """A session keeps one object per device, node and value, however often it is published; kinds take turns."""
    read = load_cluster(sample_path("two-sockets"))
    session, objects, counted = Session(read, sketch=example("two-sockets")), LiveObjects(read), []
    session.wait()
    for number in range(60):
        slices, nodes = session.cluster.slices, session.cluster.nodes
        slice_, node = slices[number % len(slices)], nodes[number % len(nodes)]
        pool = replace(slice_.spec.pool, generation=slice_.spec.pool.generation + 1)
        objects.put("ResourceSlice", read_anew(slice_, spec=replace(slice_.spec, pool=pool)))
        labels = {**node.metadata.labels, "example.com/checked": f"{number:04}"}
        objects.put("Node", read_anew(node, metadata=replace(node.metadata, labels=labels)))
        session._take_live(objects.snapshot({}))
        session.wait()
        if number % 30 == 29:
            gc.collect()
            counted.append(sys.getallocatedblocks())
    devices = {id(device) for slice_ in read.slices for device in slice_.spec.devices or ()}
    assert {id(device) for slice_ in session.cluster.slices for device in slice_.spec.devices or ()} == devices
    session.close()
    assert counted[1] - counted[0] < 300


@pytest.mark.parametrize("whole", [False, True])
def test_a_snapshot_goes_when_the_next_one_comes_without_a_collection_of_garbage(whole):
    """A followed cluster is set aside from collections: one in a cycle would stay, with all claims of its moment."""
    read = load_cluster(sample_path("two-sockets"))
    if whole:  # nothing has to be added to it for planning
        classes = with_documented_classes(read).classes
        read = Cluster(read.slices, classes, read.nodes, read.claims, name=read.name)
    session, objects = Session(read, sketch=example("two-sockets")), LiveObjects(read)
    session.wait()
    gone = weakref.ref(read)
    devices = gpus(read)
    del read
    try:
        gc.collect()
        gc.disable()
        # those of other tests, which are kept until the end so that none of ours comes to stand at their places
        others = {id(h): h for h in gc.get_objects() if type(h) is Cluster and h is not session.cluster}
        for device in devices[:4]:
            objects.put("ResourceClaim", claim("c", device))
            session._take_live(objects.snapshot({}))
            session.wait()
        alive = [h for h in gc.get_objects() if type(h) is Cluster and len(h.claims) and id(h) not in others]
        assert gone() is None
        assert {id(held.claims) for held in alive} == {id(session.cluster.claims)}
    finally:
        gc.enable()
        session.close()


def test_loading_the_planner_keeps_nothing_of_who_loads_it():
    """The frames at the import of the solver are let go, and with them the first cluster that is planned on."""
    subprocess.run([sys.executable, "-c", code_of(import_planner_later)], check=True)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_in_use_is_reported_from_what_changed(seed):
    """Devices in use and the audit of a followed cluster are those of the same claims read again; shared ones too."""
    chance, cluster = random.Random(seed), load_cluster(sample_path("two-sockets"))
    devices, held = gpus(cluster), {}
    for _ in range(12):
        for _ in range(chance.randrange(4)):
            name = f"c-{chance.randrange(6)}"
            share = chance.choice([None, None, "s"])
            held[name] = claim(name, *chance.sample(devices, chance.randrange(2)), share=share)
        _ = cluster.allocated
        cluster = cluster.with_objects(claims=tuple(held[name] for name in sorted(held)))
        assert cluster.allocated == allocated_devices(cluster.claims)
        anew = Cluster(cluster.slices, cluster.classes, cluster.nodes, cluster.claims)
        assert audit_claims(cluster) == audit_claims(anew)


def large():
    """A cluster for which the garbage collector matters."""
    spec = ResourceSliceSpec(driver="gpu.example.com", pool=ResourcePool(name="p"), node_name="n")
    return Cluster(tuple(ResourceSlice(metadata=ObjectMeta(name=f"s-{n}"), spec=spec) for n in range(LARGE + 1)))


def test_a_large_cluster_is_set_aside_from_collections_until_the_following_ends():
    """It stays aside with every snapshot, also where slices change with each: a collection takes half a second."""
    collector, cluster = GcPolicy(), large()
    aside = []
    try:
        for snapshot in (cluster, cluster.with_objects(claims=(claim("c"),)), large()):
            collector.settle(snapshot)
            aside.append(gc.get_freeze_count() > 0)
    finally:
        collector.release()
    assert (aside, gc.get_freeze_count()) == ([True, True, True], 0)


def test_a_large_cluster_that_is_set_aside_is_not_kept():
    """Only its slices are remembered as set aside; values computed from them go with the snapshot."""
    collector, cluster = GcPolicy(), large()
    gone = weakref.ref(cluster.memo.devices)
    try:
        collector.settle(cluster)
        del cluster
        assert gone() is None
    finally:
        collector.release()


def test_what_became_garbage_in_a_cycle_is_freed_when_slices_change(monkeypatch):
    """At most once in PAUSE seconds, which are over here."""
    monkeypatch.setattr("dra_lab.session.gc_policy.PAUSE", 0.0)
    collector, first = GcPolicy(), large()
    first.memo.snapshot["cycle"] = first
    gone = weakref.ref(first)
    try:
        collector.settle(first)
        del first
        collector.settle(large())
        assert gone() is None
    finally:
        collector.release()


def test_what_was_worked_out_from_slices_goes_when_they_change_without_a_collection_of_garbage():
    """That is some hundred megabytes for a large cluster, and drivers publish again now and then."""
    read = load_cluster(sample_path("two-sockets"))
    session, objects = Session(read, sketch=example("two-sockets")), LiveObjects(read)
    session.wait()
    caches, old = [], read.slices[0]
    del read
    try:
        gc.collect()
        gc.disable()
        for generation in range(2, 6):
            caches.append(weakref.ref(session.cluster.memo.devices))
            pool = replace(old.spec.pool, generation=generation)
            objects.put("ResourceSlice", replace(old, spec=replace(old.spec, pool=pool)))
            session._take_live(objects.snapshot({}))
            session.wait()
        assert [cache() for cache in caches] == [None] * len(caches)
    finally:
        gc.enable()
        session.close()


def test_places_are_kept_of_the_nodes_that_the_snapshot_was_asked_for():
    """An answer asks for a node or two, and of a cluster that is followed almost every one for others."""
    cluster = load_cluster(sample_path("two-sockets"))
    name, other = cluster.node_names[0], cluster.with_objects(claims=(claim("a"),))
    known = [localities(asked, name) for asked in (cluster, cluster, other)]
    assert (known[1] is known[0], known[2] is known[0], known[2] == known[0]) == (True, False, True)
