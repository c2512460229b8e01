"""Every screen has one word for the use of a device: in use, shared with something left, tainted, free."""

from __future__ import annotations

import pytest
from small_holders import a_claim, result
from small_nodes import a_slice, cluster, device
from small_plans import GPU

from dra_lab import load_cluster
from dra_lab.model.device import DeviceCapacity
from dra_lab.pictures.device_states import device_states
from dra_lab.sketch.palette import palette
from dra_lab.widgets.canvas_rows import palette_rows
from dra_lab.words.frames import frame


@pytest.mark.parametrize(
    ("taken", "shareable", "table", "picture", "free"),
    [
        ("30Gi", True, "shared", "partly in use", 1),
        ("80Gi", True, "in use", "in use", 0),
        ("90Gi", True, "in use", "in use", 0),
        # as kube-scheduler counts: shares hold no device alone, also where the driver publishes it dedicated since
        ("30Gi", False, "shared", "partly in use", 1),
    ],
)
def test_a_device_of_which_shares_leave_nothing_is_in_use_on_every_screen(taken, shareable, table, picture, free):
    """Picture, table and palette say the same; with something left it is shared, and can be had."""
    size = {"memory": DeviceCapacity(value="80Gi")}
    gpu = device("gpu-0", {"type": "gpu"}, capacity=size, allow_multiple_allocations=shareable)
    holder = a_claim(result(share_id="s", consumed_capacity={"memory": taken}))
    world = cluster(a_slice(GPU, gpu), claims=(holder,))
    (state,) = device_states(world, "n1").values()
    assert list(frame(world)["state"]) == [table]
    assert (state.state.value, state.why[0].startswith("partly")) == (picture, picture != "in use")
    assert [entry.free for entry in palette(world)] == [free]


def test_a_partition_without_counters_is_blocked_on_every_screen():
    """No claim holds it, so it is not in use; another partition uses its counters."""
    world = load_cluster("sample:mig")
    name = "gpu-0-mig-7g40gb-0-0"
    rows = frame(world)
    assert list(rows[rows["device"].str.endswith(name)]["state"]) == ["blocked"]


def test_the_palette_counts_partitions_that_are_possible():
    """Chip and tooltip do not say that 41 partitions are free: one excludes others."""
    (row,) = palette_rows(load_cluster("sample:mig"))
    assert (row.chip, row.use) == ("41 possible", "41 of 50 partitions still possible")
