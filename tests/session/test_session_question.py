"""Questions are equal if they ask the same of the same cluster."""

from copy import copy

from msgspec.structs import replace

from dra_lab import load_cluster
from dra_lab.model.sketch import PodDrawing
from dra_lab.session.question import SessionQuestion


def test_a_question_is_another_one_for_other_pods_or_another_snapshot():
    """Questions differ by what is asked and by the snapshot, however alike two snapshots are."""
    cluster = load_cluster("sample:two-sockets")
    again = copy(cluster)
    one = SessionQuestion(cluster, cluster.target_release(), (PodDrawing(pod="train"),))
    others = [replace(one, pods=(PodDrawing(pod="train", replicas=2),)), replace(one, cluster=again), None]
    assert [one == other for other in (replace(one), *others)] == [True, False, False, False]
    assert [one != other for other in (replace(one), *others)] == [False, True, True, True]
