"""Files of gangs for every scheduler: valid, complete, the same bytes every time."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from code_of import code_of
from crd_schemas import problems
from gangs_to_export import gang, group, random_gang, tree
from webhook_rules import refusals

from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.findings import Severity

ROOT = Path(__file__).parents[3]
EVERY = pytest.mark.parametrize("scheduler", SCHEDULERS)


def documents(files):
    """Return all objects of an export."""
    return [one for text in files.documents.values() for one in yaml.load_all(text, Loader=yaml.CSafeLoader)]


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
    """Return how many pods an object runs."""
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
        text = "".join(files.documents.values())
        named = [line.split()[-1] for line in text.splitlines() if "resourceClaim" in line and "Name:" in line]
        assert set(named) <= made


def print_digest():
    """Print a digest of the files of random gangs for every scheduler."""
    import hashlib
    import random

    from gangs_to_export import random_gang, tree

    from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files

    files = [
        gang_files(random_gang(random.Random(seed)), name, tree(), queue="q")
        for seed in range(5)
        for name in SCHEDULERS
    ]
    print(hashlib.sha256(repr([(f.documents, f.findings, f.not_expressed) for f in files]).encode()).hexdigest())


@pytest.mark.long
def test_the_bytes_are_the_same_in_another_process():
    """They depend on no hash, time or machine."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, "-c", code_of(print_digest)]
    environments = ({**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths} for seed in ("1", "2"))
    printed = [
        subprocess.run(command, env=one, capture_output=True, text=True, check=True).stdout for one in environments
    ]
    assert printed[0] == printed[1] != hashlib.sha256(b"[]").hexdigest()


@EVERY
def test_every_file_names_its_versions(scheduler):
    """In its first line, and each object in apiVersion."""
    files = gang_files(gang(level="rack"), scheduler, tree(), queue="q", release="1.37")
    assert all("Kubernetes 1.37" in text.splitlines()[0] for text in files.documents.values())


@EVERY
def test_copies_have_objects_and_pins_of_their_own(scheduler):
    """Each is placed by itself."""
    pins = {0: ("b0", "b0r1"), 1: ("b1", "b1r0")}
    files = gang_files(gang(level="rack", replicas=2), scheduler, tree(), queue="q", pin=pins)
    pinned = [line.strip() for line in "".join(files.documents.values()).splitlines() if line.strip("- ") in PINNED]
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
    """The message says what to write instead."""
    given = {"gang": gang(), "scheduler": "kueue", "hierarchy": tree(), **change}
    with pytest.raises(InputError, match=printed):
        gang_files(**given)


def test_two_names_that_become_one_stay_two():
    """Names of objects are shorter than those of groups, and a Finding says so."""
    long = "a-group-with-a-long-name"
    files = gang_files(gang(group(f"{long}-1"), group(f"{long}-2")), "volcano", tree())
    names = [one["name"] for doc in documents(files) if doc["kind"] == "Job" for one in doc["spec"]["tasks"]]
    assert (len(set(names)), [one.rule for one in files.findings].count("name-changed")) == (2, 2)
