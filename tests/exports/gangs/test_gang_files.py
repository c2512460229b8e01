"""Files of gangs for every scheduler: valid, complete, the same bytes every time."""

from __future__ import annotations

import random

import pytest
import yaml
from crd_schemas import problems
from gangs_to_export import BLOCK, CHANNEL, CLIQUE, GPUS, cliques, gang, group, random_gang, tree
from small_claims import alternative, one_of, request
from webhook_rules import refusals

from dra_lab import ClaimSketch
from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.exports.gangs.level_keys import CHANNEL_CLASS
from dra_lab.findings import Severity
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest

EVERY = pytest.mark.parametrize("scheduler", SCHEDULERS)


def documents(files):
    return [one for text in files.texts.values() for one in yaml.load_all(text, Loader=yaml.CSafeLoader)]


def written(seed, scheduler, release="1.36"):
    """Return a random gang and its files, pinned or not."""
    rng = random.Random(seed)
    chosen, same = random_gang(rng), rng.random() < 0.3
    pin = rng.choice([None, ("b0",), {0: ("b1", "r1" if same else "b1r1")}])
    hierarchy = tree(same=same)
    return chosen, gang_files(chosen, scheduler, hierarchy, namespace="ml", queue="team-a", pin=pin, release=release)


@pytest.mark.some(3)
@EVERY
@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_random_gangs_are_accepted_by_the_schemas_and_their_rules(scheduler, release):
    """An unknown field, a wrong type and a broken CEL rule are all printed."""
    found = []
    for seed in range(40):
        _, files = written(seed, scheduler, release)
        found += [printed for one in documents(files) for printed in problems(one, release)]
    assert found == []


@pytest.mark.some(2)
@EVERY
def test_random_gangs_are_accepted_by_the_webhooks(scheduler):
    """What the schedulers refuse beyond their schemas, by their sources."""
    found = []
    for seed in range(80):
        _, files = written(seed, scheduler)
        found += [(seed, printed) for one in documents(files) for printed in refusals(one)]
    assert found == []


@EVERY
def test_each_pod_of_a_gang_is_written_once(scheduler):
    """The pods of all objects are those of the gang and its copies."""
    for seed in range(40):
        chosen, files = written(seed, scheduler)
        assert sum(map(pods_of, documents(files))) == chosen.size * chosen.replicas


def pods_of(document):
    spec = document.get("spec", {})
    if document["kind"] == "JobSet":
        return sum(one["template"]["spec"]["parallelism"] for one in spec["replicatedJobs"])
    if document["kind"] != "Job":
        return 0
    return spec["parallelism"] if "parallelism" in spec else sum(task["replicas"] for task in spec["tasks"])


@pytest.mark.some(2)
@EVERY
def test_every_template_that_pods_name_is_written(scheduler):
    """But that of a ComputeDomain, which its driver makes."""
    for seed in range(40):
        _, files = written(seed, scheduler)
        made = {one["metadata"]["name"] for one in documents(files) if one["kind"].startswith("ResourceClaim")}
        text = "".join(files.texts.values())
        named = [line.split()[-1] for line in text.splitlines() if "resourceClaim" in line and "Name:" in line]
        assert set(named) <= made


@EVERY
def test_copies_have_objects_and_pins_of_their_own(scheduler):
    pins = {0: ("b0", "b0r1"), 1: ("b1", "b1r0")}
    files = gang_files(gang(level="rack", replicas=2), scheduler, tree(), queue="q", pin=pins)
    pinned = [line.strip() for line in "".join(files.texts.values()).splitlines() if line.strip("- ") in PINNED]
    assert pinned == ["- b0r1", "- b1r0"]


PINNED = ("b0r0", "b0r1", "b1r0", "b1r1")


def test_a_copy_without_a_domain_is_reported():
    """A plan that places some of the gangs pins these."""
    files = gang_files(gang(level="rack", replicas=2), "kai", tree(), queue="q", pin={1: ("b1", "b1r0")})
    assert "train-0" in next(one.message for one in files.findings if one.rule == "gang-not-pinned")


@EVERY
def test_nothing_is_an_error_where_everything_is_expressed(scheduler):
    """One group in one rack is within what each of them can say."""
    files = gang_files(gang(level="rack"), scheduler, tree(), queue="q")
    errors = [one.rule for one in files.findings if one.severity is Severity.ERROR]
    assert (errors, files.not_expressed) == ([], ())


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        ({"scheduler": "kueu"}, "did you mean 'kueue'"),
        ({"gang": gang(level="rac")}, "did you mean 'rack'"),
        ({"gang": gang(level="rack"), "hierarchy": None}, "give the hierarchy"),
        ({"gang": gang(hierarchy="zone")}, "names the hierarchy 'zone'; this is 'fabric'"),
        ({"pin": ("b0", "b1r0")}, "has no domain 'b0/b1r0'"),
        ({"pin": "b0"}, "must be a path"),
        ({"gang": gang(group(pods=4, slices=((3, "rack"),)))}, "must divide"),
        ({"gang": gang(replicas=0)}, "no pods to write"),
        ({"gang": gang(priority=2_000_000_000)}, "PriorityClasses allow"),
        ({"scheduler": "kube-scheduler", "release": "1.35"}, "has no PodGroup"),
        ({"release": "1.99"}, "is not known"),
    ],
)
def test_what_makes_no_sense_is_refused(change, printed):
    given = {"gang": gang(), "scheduler": "kueue", "hierarchy": tree(), **change}
    with pytest.raises(InputError, match=printed):
        gang_files(**given)


def test_two_names_that_become_one_stay_two():
    """Names of objects are shorter than those of groups, and a Finding says so."""
    long = "a-group-with-a-long-name"
    files = gang_files(gang(group(f"{long}-1"), group(f"{long}-2")), "volcano", tree())
    names = [one["name"] for doc in documents(files) if doc["kind"] == "Job" for one in doc["spec"]["tasks"]]
    assert (len(set(names)), [one.rule for one in files.findings].count("name-changed")) == (2, 2)


SLICED = group(pods=8, slices=((4, "rack"), (2, "host")))
PAIR = (group("a", level="rack"), group("b"))


def files_for(one, scheduler, hierarchy=None, pin=None):
    return gang_files(one, scheduler, hierarchy or tree(), queue="q", pin=pin)


@pytest.mark.parametrize(
    ("scheduler", "one", "expected"),
    [
        ("kueue", gang(level="block", prefer_level="rack"), "a required or a preferred level, so rack"),
        ("kueue", gang(group("a"), group("b"), level="rack"), "Kueue puts each group into one rack"),
        ("kueue", gang(group(least=2)), "between 2 and 4 pods of worker"),
        ("kueue", gang(group(least=2), group("b")), "all 4 pods of worker or none"),
        ("kai", gang(shared_claims=(CHANNEL,)), "claims that several pods share"),
        ("kai", gang(group(shared_claims=(CHANNEL,))), "claims that several pods share"),
        ("volcano", gang(level="block", prefer_level="rack"), "hard or soft, so the preferred level"),
        ("volcano", gang(prefer_level="rack"), "names no level"),
        ("volcano", gang(SLICED), "one layer of partitions, so the slices in host"),
        ("volcano", gang(group("a", level="rack", least=2), group("b")), "all 4 pods or none"),
        ("kube-scheduler", gang(prefer_level="rack"), "no preferred level, so rack"),
        ("kube-scheduler", gang(*PAIR), "one required level, so rack of a"),
        ("kube-scheduler", gang(SLICED), "no slices, so 4 pods in one rack"),
        ("kube-scheduler", gang(group("a", least=1), group("b")), "5 pods of any group and not 1 of a, 4 of b"),
    ],
)
def test_what_is_left_out_is_said_in_one_sentence(scheduler, one, expected):
    assert sum(expected in sentence for sentence in files_for(one, scheduler).not_expressed) == 1


LIST = ClaimSketch(
    name="gpus", requests=(one_of("gpu", alternative("a", "gpu.nvidia.com"), alternative("b", "dranet")),)
)
ALL = ExactDeviceRequest(device_class_name="gpu.nvidia.com", allocation_mode="All")
EVERYTHING = ClaimSketch(name="gpus", requests=(DeviceRequest(name="gpu", exactly=ALL),))


@pytest.mark.parametrize(
    ("scheduler", "one", "queue", "rule"),
    [
        ("kai", gang(), "", "kai-queue-missing"),
        ("kai", gang(shared_claims=(CHANNEL,)), "q", "kai-shared-claim"),
        ("kai", gang(group(claims=LIST)), "q", "kai-alternatives"),
        ("kai", gang(priority=100), "q", "kai-not-preempted"),
        ("kai", gang(level="rack"), "q", "kai-devices-not-counted"),
        ("kueue", gang(), "", "kueue-queue-missing"),
        ("kueue", gang(group(claims=LIST)), "q", "kueue-alternatives"),
        ("kueue", gang(group(claims=EVERYTHING)), "q", "kueue-all-devices"),
        ("kueue", gang(shared_claims=(CHANNEL,)), "q", "kueue-shared-claim"),
        ("kueue", gang(group(shared_claims=(CHANNEL,))), "q", "kueue-shared-claim"),
        ("kueue", gang(), "q", "kueue-class-mapping"),
        ("kueue", gang(level="rack"), "q", "kueue-devices-not-counted"),
        ("volcano", gang(group(least=2)), "", "volcano-minimum"),
        ("volcano", gang(), "", "volcano-dra"),
        ("volcano", gang(), "", "volcano-queue"),
        ("volcano", gang(shared_claims=(CHANNEL,)), "", "volcano-shared-claim"),
        ("volcano", gang(level="rack"), "", "volcano-plugin"),
        ("volcano", gang(level="rack"), "", "volcano-tiers"),
        ("kube-scheduler", gang(shared_claims=(CHANNEL,) * 5), "", "pod-group-claims"),
    ],
)
def test_what_a_scheduler_needs_or_does_not_support_is_reported(scheduler, one, queue, rule):
    """Before the export; Kueue would say so in the status of a Workload."""
    assert rule in [found.rule for found in gang_files(one, scheduler, tree(), queue=queue).findings]


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
def test_a_level_without_a_label_cannot_be_required(scheduler):
    """NVIDIA's label names partitions; no label names the NVLink domain alone."""
    files = files_for(gang(level="NVLink domain"), scheduler, cliques())
    assert files.not_expressed[0].startswith("No node label names the level NVLink domain")


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
@pytest.mark.parametrize("pin", [None, ("u1",)])
def test_a_required_level_that_is_lost_is_an_error_unless_it_is_pinned(scheduler, pin):
    """The pin holds all pods to the nodes of the domain."""
    rules = [one.rule for one in files_for(gang(level="NVLink domain"), scheduler, cliques(), pin).findings]
    assert ("gang-level-lost" in rules) is (pin is None)


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
def test_random_gangs_lose_no_required_level_silently(scheduler):
    """Each required level that has no label is an error; Volcano needs no labels."""
    nameless = tree(keys=("", ""))
    for seed in range(60):
        one = random_gang(random.Random(seed))
        wanted = {one.level} | {each.level for each in one.pods if each.count > 1}
        files = files_for(one, scheduler, nameless)
        lost = [found.message for found in files.findings if found.rule == "gang-level-lost"]
        missing = [level for level in wanted & {"block", "rack"} if not any(level in sentence for sentence in lost)]
        assert missing == [], (seed, wanted, lost)


def files_of(one, scheduler="kube-scheduler", hierarchy=None):
    return gang_files(one, scheduler, hierarchy or cliques(), queue="q")


@EVERY
@pytest.mark.parametrize("level", ["NVLink domain", "NVLink partition"])
def test_an_nvlink_level_makes_a_compute_domain(scheduler, level):
    """Each copy has a ComputeDomain of its own."""
    files = files_of(gang(level=level, replicas=2), scheduler)
    made = yaml.safe_load_all(files.texts["computedomain.yaml"])
    assert [(one["metadata"]["name"], one["spec"]["channel"]["resourceClaimTemplate"]["name"]) for one in made] == [
        ("train-0", "train-0-channel"),
        ("train-1", "train-1-channel"),
    ]


@pytest.mark.parametrize(
    ("one", "hierarchy"),
    [(gang(level="host"), cliques()), (gang(), cliques()), (gang(level="rack"), tree())],
)
def test_other_gangs_have_none(one, hierarchy):
    """A channel would keep other pods with one off the node."""
    assert "computedomain.yaml" not in files_of(one, hierarchy=hierarchy).texts


def test_a_level_with_the_label_of_cliques_makes_one_in_any_hierarchy():
    """A Topology of Kueue or KAI may have the label as a level."""
    hierarchy = tree("mine", (BLOCK, CLIQUE))
    assert "computedomain.yaml" in files_of(gang(level="rack"), hierarchy=hierarchy).texts
    assert "computedomain.yaml" not in files_of(gang(level="block"), hierarchy=hierarchy).texts


def test_pods_that_draw_a_channel_get_no_second_one():
    """A node has one, so the pods would start nowhere; a Finding says that there is no ComputeDomain."""
    channel = ClaimSketch(name="channel", requests=(request("channel", CHANNEL_CLASS),))
    files = files_of(gang(group(claims=(GPUS, channel)), level="NVLink partition"))
    job = yaml.safe_load(files.texts["job.yaml"])["spec"]["template"]["spec"]
    assert [one["name"] for one in job["resourceClaims"]] == ["gpus", "channel"]
    assert "computedomain.yaml" not in files.texts
    assert "compute-domain-drawn" in [one.rule for one in files.findings]


def test_only_the_pods_that_need_the_domain_get_a_channel():
    """A leader may run anywhere."""
    one = gang(group("leader", 1), group("worker", level="NVLink partition"))
    jobs = yaml.safe_load_all(files_of(one).texts["job.yaml"])
    entries = [[item["name"] for item in job["spec"]["template"]["spec"]["resourceClaims"]] for job in jobs]
    assert entries == [["gpus"], ["gpus", "compute-domain-channel"]]


def test_the_container_uses_the_channel():
    """A claim that no container uses is allocated for nothing."""
    job = yaml.safe_load(files_of(gang(level="NVLink partition")).texts["job.yaml"])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert {"name": "compute-domain-channel"} in container["resources"]["claims"]


@EVERY
def test_the_clique_is_required_beside_it(scheduler):
    """The channels are devices of single nodes, and hold nothing together."""
    text = "".join(files_of(gang(level="NVLink partition"), scheduler).texts.values())
    wanted = "highestTierAllowed: 1" if scheduler == "volcano" else CLIQUE
    exists = {"key": CLIQUE, "operator": "Exists"}
    assert (wanted in text, f"- key: {exists['key']}\n" in text) == (True, True)


def test_what_it_does_not_do_is_reported():
    """It holds pods to no clique, and a node has one channel."""
    rules = [one.rule for one in files_of(gang(level="NVLink partition")).findings]
    assert {"compute-domain-clique", "compute-domain-node"} <= set(rules)
