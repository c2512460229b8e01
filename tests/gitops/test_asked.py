"""A file with a pod and its claims asks for all of them, on the nodes that the pod admits."""

import pytest
from checked_plans import checked_plan
from small_manifests import claim, pod, request, template

from dra_lab import DraLabError, KubernetesRelease, load_cluster
from dra_lab.cli import main
from dra_lab.gitops.claims_of_file import read_pod
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")
NODE = "ip-192-168-140-52.ec2.internal"


def gpus(name: str, count: int) -> str:
    return template(name, request("r", "gpu.nvidia.com", f"count: {count}"))


def train(*entries: str, more: tuple[str, ...] = ()) -> str:
    return pod("train", *entries, more=more)


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


@pytest.fixture
def read(tmp_path, cluster):
    def write_and_read(*documents: str):
        path = tmp_path / "pod.yaml"
        path.write_text("".join(documents))
        return read_pod(path, cluster, RELEASE)

    return write_and_read


def test_a_pod_asks_for_each_of_its_claims_under_their_names_in_it(read):
    """The order is the pod's, the names are those of `resourceClaims`."""
    found = read(gpus("a", 2), gpus("b", 1), train("b", "a"))
    assert found.subject == "Pod/train"
    assert {name: sketch.requests[0].exactly.count for name, sketch in found.claims.items()} == {"b": 1, "a": 2}
    assert list(found.claims) == ["b", "a"]


def test_a_claim_that_two_entries_name_is_one(read):
    """`resourceClaims` may name a ResourceClaim under two names: its devices are allocated once, which is told."""
    shared = claim("shared", request("r", "gpu.nvidia.com", "count: 2"))
    twice = train("a", "b").replace("TemplateName: a", "Name: shared").replace("TemplateName: b", "Name: shared")
    found = read(shared, twice)
    assert list(found.claims) == ["a"]
    assert [f.rule for f in found.findings] == ["claim-repeated"]


def test_claims_without_a_pod_are_one_pod_and_that_is_reported(read):
    found = read(gpus("a", 2), gpus("b", 1))
    assert list(found.claims) == ["a", "b"]
    assert [finding.rule for finding in found.findings] == ["claims-as-one-pod"]


def test_one_claim_alone_is_no_pod(read):
    assert read(gpus("a", 2)) is None


def test_a_pod_goes_only_where_its_own_words_let_it(read, cluster):
    """`nodeSelector` of the pod counts in the plan."""
    found = read(gpus("a", 1), train("a", more=(f"nodeSelector: {{kubernetes.io/hostname: {NODE}}}",)))
    plan = checked_plan(found.cluster, found.planned, release=RELEASE)
    assert plan.node == NODE
    assert plan.fitting_nodes == (NODE,)


def test_a_claim_that_is_nowhere_is_reported_with_what_to_give(read):
    with pytest.raises(DraLabError, match=r"ResourceClaimTemplate 'b'.*Give the file that contains it"):
        read(gpus("a", 1), train("a", "b"))


def test_several_workloads_in_a_file_are_named(read):
    with pytest.raises(DraLabError, match=r"2 workloads \(Pod/train \(pod.yaml, document 2\), Pod/train \("):
        read(gpus("a", 1), train("a"), train("a"))


def test_what_the_api_refuses_is_refused_with_its_line(read):
    with pytest.raises(DraLabError, match=r"pod\.yaml.*counts"):
        read(gpus("a", 1).replace("count: 1", "counts: 1"), train("a"))


def test_changes_to_one_of_several_claims_are_tried(read):
    found = read(gpus("a", 6), gpus("b", 6), train("a", "b"))
    plan = checked_plan(found.cluster, found.planned, release=RELEASE)
    assert plan.status is PlanStatus.INFEASIBLE
    tried = [change for change in plan.reasons.relaxations if change.kind == "count"]
    assert {change.subject for change in tried} == {"a:r", "b:r"}
    assert all(change.fitting is not None for change in tried)


def test_replicas_of_a_pod_have_all_its_claims(tmp_path, capsys):
    """Each replica takes the devices of both claims: 8 GPUs a node are two pods of three and not four of two."""
    path = tmp_path / "pod.yaml"
    path.write_text("".join((gpus("a", 2), gpus("b", 1), train("a", "b"))))
    assert main(["plan", "sample:eks-p4d", "--claim", str(path), "--replicas", "9"]) == 1
    assert "4 of 9 replicas placed" in capsys.readouterr().out


def test_replicas_do_not_get_copies_of_a_claim_that_they_share(tmp_path, capsys):
    path = tmp_path / "pod.yaml"
    path.write_text(claim("a", request("r", "gpu.nvidia.com")) + pod("train", "a", by="resourceClaimName"))
    command = ["plan", "sample:eks-p4d", "--claim", str(path)]
    assert main(command) == 0
    assert main([*command, "--replicas", "2"]) == 2
    assert "2 pods share the ResourceClaim a, which is allocated once" in capsys.readouterr().err
