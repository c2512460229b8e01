"""How many devices of each kind there are, partitions apart from physical devices."""

from __future__ import annotations

from small_nodes import a_slice, cluster, device

from dra_lab import KubernetesRelease, load_cluster
from dra_lab.sketch.kind_counts import KindCount, count_words, kind_counts
from dra_lab.words.cluster_document import summary


def test_two_gpus_in_fifty_partitions_are_two_gpus():
    """Each counter set is one physical GPU; the one partition in use blocks eight others."""
    mig = load_cluster("sample:mig")
    expected = KindCount(split=2, partitions=50, possible=41, model="A100")
    assert kind_counts(mig, mig.target_release()) == {"gpu": expected}


def test_the_bar_counts_physical_gpus():
    """The summary of the bar, the terminal and the notebook speaks of two A100, not of fifty GPUs."""
    mig = load_cluster("sample:mig")
    assert summary(mig, mig.target_release()).endswith("2 A100, 41 of 50 partitions still possible")


def test_whole_devices_are_counted_as_before():
    """Without shared counters every device is one physical device."""
    p4d = load_cluster("sample:eks-p4d")
    assert kind_counts(p4d, p4d.target_release())["gpu"] == KindCount(whole=32, whole_free=18)


def test_whole_and_split_devices_are_distinguished():
    """A node with both says both."""
    count = KindCount(whole=6, whole_free=5, split=2, partitions=14, possible=9)
    plain = cluster(a_slice("gpu.nvidia.com", device("gpu-0")))
    assert count_words(plain, "gpu", count) == "6 GPUs, 5 free and 2 GPUs, 9 of 14 partitions still possible"


def test_fixed_partitions_are_counted_by_the_gpu_that_they_name():
    """Three partitions of two GPUs are two GPUs."""
    names = {"a": "GPU-1", "b": "GPU-1", "c": "GPU-2"}
    made = [device(name, {"type": "mig", "parentUUID": of}) for name, of in names.items()]
    count = kind_counts(cluster(a_slice("gpu.nvidia.com", *made)), KubernetesRelease("1.36"))["gpu"]
    assert (count.split, count.partitions, count.possible) == (2, 3, 3)
