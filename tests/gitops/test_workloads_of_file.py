"""Gangs read from the objects that people write: groups, minimum, levels, slices, replicas, queue."""

from __future__ import annotations

import pytest

from dra_lab import Cluster, KubernetesRelease, Workload, hierarchies, load_cluster, read_workloads
from dra_lab.errors import InputError
from dra_lab.gitops.workloads_of_file import ReadWorkload
from dra_lab.planner.gangs import plan_gangs

BLOCK, RACK, CLIQUE = "example.com/block", "example.com/rack", "nvidia.com/gpu.clique"
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: four, namespace: ml}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}
"""
POD = """{containers: [{name: c, image: x, resources: {claims: [{name: gpus}]}}],
 resourceClaims: [{name: gpus, resourceClaimTemplateName: four}]}"""
BARE = "{containers: [{name: c, image: x}]}"


def template(pod: str = POD, **annotations: str) -> str:
    """Return a pod template with annotations of Kueue."""
    pairs = ", ".join(f"kueue.x-k8s.io/podset-{key.replace('_', '-')}: {value!r}" for key, value in annotations.items())
    return f"{{metadata: {{annotations: {{{pairs}}}}}, spec: {pod}}}"


def head(version: str, kind: str, annotations: str = "") -> str:
    metadata = f"{{name: train, namespace: ml, annotations: {{{annotations}}}}}"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n"


@pytest.fixture(scope="module")
def nvl72() -> Cluster:
    return load_cluster("sample:gb200-nvl72")


@pytest.fixture
def read(tmp_path, nvl72):
    def reading(*objects: str, cluster: Cluster = nvl72) -> tuple[ReadWorkload, ...]:
        file = tmp_path / "objects.yaml"
        file.write_text("\n---\n".join((TEMPLATE, *objects)))
        return read_workloads(file, cluster, KubernetesRelease("1.36"))

    return reading


def shape(gang: Workload) -> list[tuple[object, ...]]:
    """Return name, most, least and levels of each group."""
    return [
        (group.name, group.count, group.least, group.level, group.prefer_level, group.slices) for group in gang.pods
    ]


def test_a_job_of_kueue(read):
    text = head("batch/v1", "Job").replace("annotations:", "labels: {kueue.x-k8s.io/queue-name: team-a}, annotations:")
    pods = template(required_topology=CLIQUE)
    [found] = read(f"{text}spec: {{parallelism: 8, completions: 8, template: {pods}}}")
    assert (found.workload.level, found.queue, shape(found.workload)) == (
        CLIQUE,
        "team-a",
        [("pods", 8, 8, "", "", ())],
    )


def test_slices_of_kueue(read):
    pods = template(preferred_topology=BLOCK, slice_required_topology=RACK, slice_size="4")
    [found] = read(f"{head('batch/v1', 'Job')}spec: {{parallelism: 8, template: {pods}}}")
    assert (found.workload.prefer_level, found.workload.pods[0].slices) == (BLOCK, ((4, RACK),))


def test_layers_of_slices_are_json(read):
    layers = f'[{{"topology":"{BLOCK}","size":8}},{{"topology":"{RACK}","size":4}}]'
    pods = template(slice_required_topology_constraints=layers)
    [found] = read(f"{head('batch/v1', 'Job')}spec: {{parallelism: 16, template: {pods}}}")
    assert found.workload.pods[0].slices == ((8, BLOCK), (4, RACK))


def jobset(annotations: str = "") -> str:
    """Return a JobSet of a leader job and two worker jobs."""
    one, four = (
        f"{{spec: {{parallelism: {n}, template: {pods}}}}}"
        for n, pods in ((1, template()), (4, template(required_topology=RACK)))
    )
    jobs = [f"{{name: lead, template: {one}}}", f"{{name: work, replicas: 2, template: {four}}}"]
    return f"{head('jobset.x-k8s.io/v1alpha2', 'JobSet', annotations)}spec: {{replicatedJobs: [{', '.join(jobs)}]}}"


def test_the_jobs_of_a_jobset_are_groups(read):
    [found] = read(jobset())
    assert shape(found.workload) == [("lead", 1, 1, "", "", ()), ("work", 8, 8, RACK, "", ())]


def test_an_exclusive_topology_is_slices_and_a_finding(read):
    """Each child job is in one domain; that others stay out is not planned."""
    [found] = read(jobset(f"alpha.jobset.sigs.k8s.io/exclusive-topology: {RACK}"))
    assert [group.slices for group in found.workload.pods] == [((1, RACK),), ((4, RACK),)]
    assert "gang-exclusive" in {finding.rule for finding in found.findings}


def test_groups_of_a_leaderworkerset_are_gangs(read):
    both = {"required_topology": RACK, "group_name": "g"}
    inner = f"size: 4, leaderTemplate: {template(**both)}, workerTemplate: {template(**both)}"
    text = head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
    [found] = read(f"{text}spec: {{replicas: 3, leaderWorkerTemplate: {{{inner}}}}}")
    assert (found.workload.replicas, found.workload.level) == (3, RACK)
    assert shape(found.workload) == [("leader", 1, 1, "", "", ()), ("worker", 3, 3, "", "", ())]
    assert [group.leader for group in found.workload.pods] == [True, False]


def test_a_group_of_pod_sets_has_a_leader_with_workers_in_slices(read):
    """The pod set of one pod leads; from Kueue 0.20 on its workers may have slices."""
    both = {"required_topology": BLOCK, "group_name": "g"}
    workers = template(**both, slice_required_topology=RACK, slice_size="4")
    jobs = ", ".join(
        f"{{name: {name}, template: {{spec: {{parallelism: {n}, template: {pods}}}}}}}"
        for name, n, pods in (("driver", 1, template(**both)), ("work", 8, workers))
    )
    [found] = read(f"{head('jobset.x-k8s.io/v1alpha2', 'JobSet')}spec: {{replicatedJobs: [{jobs}]}}")
    assert (found.workload.level, [group.leader for group in found.workload.pods]) == (BLOCK, [True, False])
    assert [group.slices for group in found.workload.pods] == [(), ((4, RACK),)]


@pytest.mark.parametrize(
    ("size", "kind", "slices", "rules"),
    [(5, "LeaderExcluded", ((2, RACK),), ["gang-exclusive"]), (4, "LeaderWorker", (), ["gang-subgroup-level"])],
)
def test_subgroups_of_workers_are_slices(read, size, kind, slices, rules):
    """Each has a domain; a subgroup with the leader in it is not one kind of pods."""
    policy = f"subGroupPolicy: {{subGroupPolicyType: {kind}, subGroupSize: 2}}"
    inner = f"size: {size}, {policy}, leaderTemplate: {template()}, workerTemplate: {template()}"
    annotation = f"leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology: {RACK}"
    text = head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", annotation)
    [found] = read(f"{text}spec: {{leaderWorkerTemplate: {{{inner}}}}}")
    assert [group.slices for group in found.workload.pods] == [(), slices]
    assert [finding.rule for finding in found.findings] == rules


def test_segments_of_kai_are_slices(read):
    segments = f"{{kai.scheduler/segment-size: '2', kai.scheduler/segment-topology-required-placement: {RACK}}}"
    worker = f"{{metadata: {{annotations: {segments}}}, spec: {POD}}}"
    specs = f"Worker: {{replicas: 4, template: {worker}}}"
    [found] = read(f"{head('kubeflow.org/v1', 'PyTorchJob')}spec: {{pytorchReplicaSpecs: {{{specs}}}}}")
    assert shape(found.workload) == [("worker", 4, 4, "", "", ((2, RACK),))]


def test_a_launcher_without_devices_is_not_planned(read):
    specs = f"Launcher: {{replicas: 1, template: {template(BARE)}}}, Worker: {{replicas: 6, template: {template()}}}"
    [found] = read(f"{head('kubeflow.org/v2beta1', 'MPIJob')}spec: {{mpiReplicaSpecs: {{{specs}}}}}")
    assert (shape(found.workload), [finding.rule for finding in found.findings]) == (
        [("worker", 6, 6, "", "", ())],
        ["gang-without-devices"],
    )


def volcano(network: str, least: int = 4) -> str:
    """Return a Job of Volcano with two partitions."""
    policy = "{totalPartitions: 2, partitionSize: 4, networkTopology: {mode: hard, highestTierAllowed: 1}}"
    tasks = f"[{{name: t0, replicas: 8, partitionPolicy: {policy}, template: {template()}}}]"
    rest = f"minAvailable: {least}, networkTopology: {network}, tasks: {tasks}"
    return f"{head('batch.volcano.sh/v1alpha1', 'Job')}spec: {{{rest}}}"


def test_tiers_of_volcano_are_levels_of_hypernodes(read):
    """A number of a tier becomes the name of the level; a partition is a slice."""
    [found] = read(volcano("{mode: hard, highestTierAllowed: 2}"), cluster=load_cluster("sample:nvlink-over-spines"))
    assert found.workload.level == "spine"
    assert shape(found.workload) == [("t0", 8, 4, "", "", ((4, "leaf switch"),))]


def test_a_soft_topology_of_volcano_names_no_level(read):
    """A note says so."""
    [found] = read(volcano("{mode: soft}"))
    assert (found.workload.level, "gang-soft" in {finding.rule for finding in found.findings}) == ("", True)


def test_a_workload_of_kueue(read):
    """`minCount` is the least of a pod set."""
    pods = f"{{name: main, count: 6, minCount: 2, topologyRequest: {{required: {RACK}}}, template: {template()}}}"
    [found] = read(f"{head('kueue.x-k8s.io/v1beta2', 'Workload')}spec: {{queueName: q, podSets: [{pods}]}}")
    assert (found.workload.level, found.queue, shape(found.workload)) == (RACK, "q", [("main", 6, 2, "", "", ())])


def test_a_pod_set_of_kueue_may_start_without_pods(read):
    """`minCount` is 0 or more from 0.20 on."""
    pods = ", ".join(
        f"{{name: {name}, count: 2, minCount: {n}, template: {template()}}}" for name, n in (("a", 2), ("b", 0))
    )
    [found] = read(f"{head('kueue.x-k8s.io/v1beta2', 'Workload')}spec: {{queueName: q, podSets: [{pods}]}}")
    assert [one[:3] for one in shape(found.workload)] == [("a", 2, 2), ("b", 2, 0)]


def pod(number: int, spec: str, annotations: str = "") -> str:
    meta = f"{{name: train-{number}, namespace: ml, annotations: {{{annotations}}}}}"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {meta}\nspec: {spec}"


def test_pods_of_a_pod_group_are_one_gang(read):
    """Pods with the same template are one group, of which the minimum must start."""
    spec = f"{{schedulingPolicy: {{gang: {{minCount: 2}}}}, schedulingConstraints: {{topology: [{{key: {CLIQUE}}}]}}}}"
    member = "{schedulingGroup: {podGroupName: train}, " + POD[1:]
    found = read(f"{head('scheduling.k8s.io/v1beta1', 'PodGroup')}spec: {spec}", *(pod(n, member) for n in range(3)))
    assert [(one.subject, one.workload.level, shape(one.workload)) for one in found] == [
        ("PodGroup/train", CLIQUE, [("pods", 3, 2, "", "", ())])
    ]


@pytest.mark.parametrize(
    ("version", "name", "spec", "levels"),
    [
        (
            "scheduling.volcano.sh/v1beta1",
            "scheduling.k8s.io/group-name",
            "{minMember: 2, networkTopology: {mode: hard, highestTierName: rack}}",
            ("rack", "", ""),
        ),
        (
            "scheduling.run.ai/v2alpha2",
            "pod-group-name",
            "{minMember: 2, topologyConstraint: {topology: t, requiredTopologyLevel: A, preferredTopologyLevel: B}}",
            ("A", "B", "t"),
        ),
    ],
)
def test_pod_groups_of_volcano_and_kai(read, version, name, spec, levels):
    [found] = read(f"{head(version, 'PodGroup')}spec: {spec}", *(pod(n, POD, f"{name}: train") for n in range(2)))
    assert (found.workload.level, found.workload.prefer_level, found.workload.hierarchy) == levels


def test_groups_of_several_jobs_have_the_names_of_their_jobs(read):
    own = "{name: gpus, resourceClaimTemplateName: four}"
    [found] = read(GROUPS, job("prefill", own), job("decode", own))
    assert [group.name for group in found.workload.pods] == ["prefill", "decode"]


def test_a_minimum_of_several_groups_is_not_split(read):
    """It does not say how many of which; all are planned."""
    tasks = ", ".join(f"{{name: {name}, replicas: 4, template: {template()}}}" for name in "ab")
    text = head("batch.volcano.sh/v1alpha1", "Job")
    [found] = read(f"{text}spec: {{minAvailable: 3, tasks: [{tasks}]}}")
    assert ([group.least for group in found.workload.pods], [f.rule for f in found.findings]) == (
        [4, 4],
        ["gang-minimum"],
    )


def test_a_claim_of_all_pods_is_a_claim_of_the_gang(read):
    shared = POD.replace("resourceClaimTemplateName: four", "resourceClaimName: one")
    [found] = read(CLAIM, f"{head('batch/v1', 'Job')}spec: {{parallelism: 2, template: {template(shared)}}}")
    assert ([len(group.claims) for group in found.workload.pods], len(found.workload.shared_claims)) == ([0], 1)


GROUPS = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: train, namespace: ml}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  resourceClaims: [{name: once, resourceClaimTemplateName: four}]
"""
ONCE = "{name: once, resourceClaimTemplateName: four}"


def job(name: str, entries: str, **fields: str) -> str:
    """Return a Job of two pods with claims, in the PodGroup."""
    pod = POD.replace("{containers", "{schedulingGroup: {podGroupName: train}, containers")
    pod = pod.replace("{name: gpus, resourceClaimTemplateName: four}", entries)
    more = "".join(f", {key}: {value}" for key, value in fields.items())
    names = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, namespace: ml}}\n"
    return f"{names}spec: {{parallelism: 2, template: {template(pod)}{more}}}"


def claims(found: ReadWorkload) -> tuple[list[str], list[tuple[list[str], list[str]]]]:
    """Return the names of the claims of a gang, and of each group: its pods' own, and those that they share."""
    groups = [([c.name for c in g.claims], [c.name for c in g.shared_claims]) for g in found.workload.pods]
    return [claim.name for claim in found.workload.shared_claims], groups


GPUS = "{name: gpus, resourceClaimTemplateName: four}"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (GPUS, ([], [(["gpus"], ["once"]), (["gpus"], [])])),
        (f"{GPUS}, {ONCE}", (["once"], [(["gpus"], []), (["gpus"], [])])),
        (f"{GPUS}, {ONCE.replace('once', 'twice')}", ([], [(["gpus"], ["once"]), (["gpus", "twice"], [])])),
    ],
    ids=["one group", "all groups", "another name"],
)
def test_a_claim_of_a_pod_group_is_shared_by_the_pods_with_the_same_entry(read, others, expected):
    """The name and the template of the entry must be those of the PodGroup (KEP-5729)."""
    [found] = read(GROUPS, job("a", f"{GPUS}, {ONCE}"), job("b", others))
    assert claims(found) == expected


def test_claims_of_a_pod_group_need_a_gate(read):
    """Without it the API server drops the field, and each pod has its own claim."""
    [found] = read(GROUPS, job("a", f"{GPUS}, {ONCE}"))
    assert "pod-group-claims-gate" in [finding.rule for finding in found.findings]


def test_a_job_says_its_own_scheduling(read):
    """`Job.spec.scheduling` of Kubernetes 1.37 has the fields of a PodGroup."""
    own = f"{{schedulingPolicy: {{gang: {{minCount: 1}}}}, resourceClaims: [{ONCE}], "
    own += f"schedulingConstraints: {{topology: [{{key: {CLIQUE}}}]}}}}"
    [found] = read(
        job("a", f"{GPUS}, {ONCE}", scheduling=own).replace("{schedulingGroup: {podGroupName: train}, ", "{")
    )
    assert (found.workload.level, found.workload.least, claims(found)) == (CLIQUE, 1, (["once"], [(["gpus"], [])]))


CLAIM = (
    TEMPLATE.replace("ClaimTemplate", "Claim")
    .replace("four", "one")
    .replace("{spec: {devices", "{devices")
    .replace("}]}}}", "}]}}")
)


def test_a_claim_that_the_pods_of_one_group_name_is_theirs(read):
    named = "{name: once, resourceClaimName: one}"
    [found] = read(CLAIM, GROUPS.replace(f"resourceClaims: [{ONCE}]", ""), job("a", f"{GPUS}, {named}"), job("b", GPUS))
    assert claims(found) == ([], [(["gpus"], ["once"]), (["gpus"], [])])


def test_a_claim_of_some_groups_is_refused(read):
    """Two of three groups are neither a group nor the gang."""
    jobs = [job(name, f"{GPUS}, {ONCE}" if name != "c" else GPUS) for name in "abc"]
    with pytest.raises(InputError, match="only some of its groups share a claim"):
        read(GROUPS, *jobs)


def test_a_claim_that_several_gangs_name_is_refused(read):
    pods = template(POD.replace("resourceClaimTemplateName: four", "resourceClaimName: one"))
    text = f"spec: {{replicas: 2, leaderWorkerTemplate: {{size: 3, workerTemplate: {pods}}}}}"
    with pytest.raises(InputError, match="2 gangs share a claim"):
        read(CLAIM, f"{head('leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet')}{text}")


def test_without_devices_there_is_no_gang(read):
    with pytest.raises(InputError, match="requests devices"):
        read(f"{head('batch/v1', 'Job')}spec: {{template: {template(BARE)}}}")


@pytest.mark.parametrize(("pods", "placed"), [(13, 1), (16, 0)])
def test_a_gang_that_was_read_is_planned(read, pods, placed):
    """Rack b has 13 idle nodes that are not cordoned, so 16 pods find no place."""
    text = f"{head('batch/v1', 'Job')}spec: {{parallelism: {pods}, template: {template(required_topology=CLIQUE)}}}"
    [found] = read(text)
    gang = Workload(found.workload.name, found.workload.pods, level=found.workload.level, hierarchy="NVLink")
    assert len(plan_gangs(found.cluster, [gang], hierarchies=hierarchies(found.cluster)).placed_gangs) == placed


def test_pods_that_start_one_by_one_are_replicas(read):
    """The pods of a Deployment do not wait for each other."""
    [found] = read(f"{head('apps/v1', 'Deployment')}spec: {{replicas: 3, template: {template()}}}")
    assert (found.workload.replicas, found.workload.size, found.workload.is_gang) == (3, 1, False)
