"""A person's own workload as a gang: what each scheduler reads, in the file as the person wrote it."""

from __future__ import annotations

from difflib import ndiff
from textwrap import indent

import pytest
import yaml
from crd_schemas import problems
from gangs_to_export import RACK, gang, group, tree

from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.exports.workload_file import WorkloadFile, read_workload

EVERY = pytest.mark.parametrize("scheduler", SCHEDULERS)
POD = """\
# the pods
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: zone, operator: In, values: [a]}
      - matchExpressions:
        - {key: zone, operator: In, values: [b]}
containers:
- name: main  # the trainer
  image: "train:1"
restartPolicy: Never
"""
HEAD = "# my training\napiVersion: {}\nkind: {}\nmetadata:\n  name: mine  # keep\nspec:\n"


def written(version: str, kind: str, before: str, depth: int) -> str:
    return HEAD.format(version, kind) + before + indent(POD, " " * depth)


KINDS = {
    "Job": written("batch/v1", "Job", "  parallelism: 4\n  completions: 4\n  template:\n    spec:\n", 6),
    "JobSet": written(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "  replicatedJobs:\n  - name: workers\n    replicas: 1\n    template:\n      spec:\n        parallelism: 4\n"
        "        completions: 4\n        template:\n          spec:\n",
        12,
    ),
    "LeaderWorkerSet": written(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "  replicas: 1\n  leaderWorkerTemplate:\n    size: 4\n    workerTemplate:\n      spec:\n",
        8,
    ),
    "Volcano": written(
        "batch.volcano.sh/v1alpha1",
        "Job",
        "  minAvailable: 2\n  tasks:\n  - name: t\n    replicas: 4\n    template:\n      spec:\n",
        8,
    ),
}
WORKLOAD = written(
    "kueue.x-k8s.io/v1beta2", "Workload", "  podSets:\n  - name: main\n    count: 4\n    template:\n      spec:\n", 8
)
KIND = pytest.mark.parametrize("kind", KINDS)
LEADER = written(
    "leaderworkerset.x-k8s.io/v1",
    "LeaderWorkerSet",
    "  replicas: 1\n  leaderWorkerTemplate:\n    size: 4\n    leaderTemplate:\n      spec:\n"
    + indent(POD, " " * 8)
    + "    workerTemplate:\n      spec:\n",
    8,
)
ONE = gang(group(pods=4), level="rack")


def workload(folder, kind: str = "Job", text: str = "") -> WorkloadFile:
    file = folder / "mine.yaml"
    file.write_text(text or KINDS[kind])
    return read_workload(file)


def exported(folder, scheduler, kind="Job", one=ONE, text="", pin=("b0", "b0r0"), **more):
    own = workload(folder, kind, text)
    return gang_files(one, scheduler, tree(), namespace="ml", queue="team-a", pin=pin, workload=own, **more)


@EVERY
@KIND
def test_the_objects_are_valid(scheduler, kind, tmp_path):
    files = exported(tmp_path, scheduler, kind)
    documents = [one for text in files.texts.values() for one in yaml.safe_load_all(text)]
    problems_found = [problem for one in documents for problem in problems(one)]
    dropped = ["schedulingGroup"] if (scheduler, kind) == ("kube-scheduler", "Volcano") else []
    assert [next((word for word in dropped if word in problem), problem) for problem in problems_found] == dropped


@EVERY
@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_a_leader_and_its_workers_are_valid(scheduler, release, tmp_path):
    """Both templates of a LeaderWorkerSet have the fields, and what goes beside it is accepted too."""
    file = tmp_path / "mine.yaml"
    file.write_text(LEADER)
    paths = [f"spec.leaderWorkerTemplate.{name}Template" for name in ("leader", "worker")]
    one = gang(group("leader", 1, leader=True), group("worker", 3), level="rack")
    common = {"namespace": "ml", "queue": "team-a", "pin": ("b0", "b0r0"), "release": release, "has_claims": True}
    files = gang_files(one, scheduler, tree(), workload=read_workload(file, paths), **common)
    documents = [one for text in files.texts.values() for one in yaml.safe_load_all(text)]
    assert [problem for one in documents for problem in problems(one, release)] == []


@EVERY
@KIND
def test_every_line_of_the_person_is_kept(scheduler, kind, tmp_path):
    """Comments, quotes, names and order; only the values that a scheduler reads are changed."""
    text = exported(tmp_path, scheduler, kind).texts["mine.yaml"]
    gone = [line[2:] for line in ndiff(KINDS[kind].splitlines(), text.splitlines()) if line.startswith("- ")]
    assert gone == (["  minAvailable: 2"] if (scheduler, kind) == ("volcano", "Volcano") else [])


@EVERY
@KIND
def test_a_second_export_changes_nothing(scheduler, kind, tmp_path):
    """The file that was written is the person's file of the next export."""
    first = exported(tmp_path, scheduler, kind).texts["mine.yaml"]
    assert exported(tmp_path, scheduler, kind, text=first).texts["mine.yaml"] == first


@EVERY
def test_a_pin_is_in_every_term(scheduler, tmp_path):
    """Terms are alternatives, so one without it would let the pods go elsewhere."""
    value = yaml.safe_load(exported(tmp_path, scheduler).texts["mine.yaml"])
    affinity = value["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    keys = [sorted(one["key"] for one in term["matchExpressions"]) for term in terms]
    assert (keys, "id001" in exported(tmp_path, scheduler).texts["mine.yaml"]) == (
        [sorted(["zone", *(one["key"] for one in pin_of(scheduler, tmp_path))])] * 2,
        False,
    )


def pin_of(scheduler, folder):
    """Return the requirements of the planned domain in a workload without requirements of its own."""
    bare = KINDS["Job"].replace(indent(POD, " " * 6), "      containers: [{name: main}]\n")
    value = yaml.safe_load(exported(folder, scheduler, text=bare).texts["mine.yaml"])
    required = value["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    return required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]


@pytest.mark.parametrize(
    ("scheduler", "path", "expected"),
    [
        ("kueue", "metadata.labels", {"kueue.x-k8s.io/queue-name": "team-a"}),
        ("kueue", "spec.template.metadata.annotations", {"kueue.x-k8s.io/podset-required-topology": RACK}),
        ("kai", "metadata.labels", {"kai.scheduler/queue": "team-a"}),
        (
            "kai",
            "metadata.annotations",
            {
                "kai.scheduler/topology": "fabric",
                "kai.scheduler/topology-required-placement": RACK,
                "kai.scheduler/batch-min-member": "4",
            },
        ),
        ("kai", "spec.template.spec.schedulerName", "kai-scheduler"),
        ("volcano", "spec.template.metadata.annotations", {"scheduling.k8s.io/group-name": "train"}),
        ("volcano", "spec.template.spec.schedulerName", "volcano"),
        ("kube-scheduler", "spec.template.spec.schedulingGroup", {"podGroupName": "train"}),
    ],
)
def test_each_scheduler_has_its_own_fields(scheduler, path, expected, tmp_path):
    value = yaml.safe_load(exported(tmp_path, scheduler).texts["mine.yaml"])
    for key in path.split("."):
        value = value[key]
    assert value == expected


@pytest.mark.parametrize(
    ("scheduler", "names"),
    [
        ("kueue", {"kueue-configuration.yaml"}),
        ("kai", {"kai-topology.yaml"}),
        ("volcano", {"podgroup.yaml", "hypernodes.yaml"}),
        ("kube-scheduler", {"podgroup.yaml"}),
    ],
)
def test_no_example_pods_are_written(scheduler, names, tmp_path):
    files = exported(tmp_path, scheduler, pin=None).texts
    assert {name for name in files if not name.startswith("resourceclaimtemplate")} == {*names, "mine.yaml"}


def test_a_job_of_volcano_has_the_fields_itself(tmp_path):
    """It needs no PodGroup, and its minimum is that of the gang."""
    files = exported(tmp_path, "volcano", "Volcano")
    spec = yaml.safe_load(files.texts["mine.yaml"])["spec"]
    assert (
        "podgroup.yaml" in files.texts,
        spec["minAvailable"],
        spec["networkTopology"]["mode"],
        spec["queue"],
    ) == (
        False,
        4,
        "hard",
        "team-a",
    )


def test_levels_that_contradict_are_replaced(tmp_path):
    """Kueue refuses a required level beside a preferred one."""
    old = "  template:\n    metadata: {annotations: {kueue.x-k8s.io/podset-preferred-topology: x, mine: kept}}\n"
    text = KINDS["Job"].replace("  template:\n", old)
    value = yaml.safe_load(exported(tmp_path, "kueue", text=text).texts["mine.yaml"])
    assert value["spec"]["template"]["metadata"]["annotations"] == {
        "mine": "kept",
        "kueue.x-k8s.io/podset-required-topology": RACK,
    }


@pytest.mark.parametrize(
    ("scheduler", "kind", "one", "expected"),
    [
        ("kai", "Job", gang(group(pods=4, slices=((2, "rack"),)), level="block"), "slices of worker are left out"),
        (
            "volcano",
            "Job",
            gang(group(pods=4, slices=((2, "rack"),)), level="block"),
            "slices of worker are left out",
        ),
        ("kueue", "JobSet", gang(group(pods=4, least=2), level="rack"), "starts all pods of a JobSet or none"),
        ("kai", "JobSet", gang(group(pods=4, least=2), level="rack"), "KAI takes the minimum of a JobSet"),
        ("kube-scheduler", "Volcano", ONE, "does not know that the schema of Job has schedulingGroup"),
    ],
)
def test_what_a_kind_cannot_express_is_a_sentence(scheduler, kind, one, expected, tmp_path):
    assert any(expected in sentence for sentence in exported(tmp_path, scheduler, kind, one, pin=None).not_expressed)


@pytest.mark.parametrize(
    ("one", "text", "message"),
    [
        (gang(group(pods=3), level="rack"), "", "runs 4 pods, and the gang has 3"),
        (gang(group(pods=2), level="rack", replicas=2), "", "cannot name 2 PodGroups"),
        (gang(group("a", 2), group("b", 2)), "", "and the gang has 2 groups"),
        (ONE, KINDS["Job"] + "---\nkind: PodGroup\n", "has a PodGroup of its own"),
        (ONE, WORKLOAD, "Workload/mine starts no pods, because Kueue makes it for a Job"),
    ],
)
def test_a_workload_that_is_not_the_gang_is_refused(one, text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        exported(tmp_path, "kube-scheduler", one=one, text=text, pin=None)


def test_pods_with_claims_keep_them(tmp_path):
    """Only the levels are written; no template is, because the file has it."""
    text = KINDS["Job"].replace("      restart", "      resourceClaims: [{name: g}]\n      restart")
    files = exported(tmp_path, "kube-scheduler", text=text, has_claims=True)
    spec = yaml.safe_load(files.texts["mine.yaml"])["spec"]["template"]["spec"]
    assert (sorted(files.texts), spec["resourceClaims"]) == (["mine.yaml", "podgroup.yaml"], [{"name": "g"}])
