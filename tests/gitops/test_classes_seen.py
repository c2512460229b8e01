"""Which DeviceClasses a claim sees: the cluster's, those of its own files, else the documented ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml
from checked_plans import checked_plan
from small_manifests import device_class, request, template

from dra_lab import ClaimSketch, KubernetesRelease, load_cluster, samples
from dra_lab.checks.document_checks import check_text
from dra_lab.cli import main
from dra_lab.drivers.profiles import all_profiles
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests, with_own_classes
from dra_lab.index.documented_classes import known_classes
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaim
from dra_lab.model.nodes import ObjectMeta
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim, needed_classes

SHARED = Path(__file__).parents[2] / ".." / "shared"
R136 = KubernetesRelease("1.36")
CLASSES = {
    known.driver: [name for one in known.classes for name in (one.name, *one.aliases)] for known in all_profiles({})
}
"""The documented classes of each driver, with their other names."""

NAMES = [name for names in CLASSES.values() for name in names]
SAMPLES = [sample.name for sample in samples()]
FORMS = ("plain", "alternative")


@cache
def lacking(sample):
    return replace(load_cluster(f"sample:{sample}"), classes=())


@cache
def having(sample):
    """Return the sample with all documented classes as its own."""
    return replace(lacking(sample), classes=tuple(known_classes(lacking(sample)).values()))


def sketch(name, form):
    """Return a claim for one device of a class, alone or as the alternative of a class that every sample lacks."""
    if form == "plain":
        return ClaimSketch("c", (DeviceRequest("r", ExactDeviceRequest(device_class_name=name)),))
    ways = (DeviceSubRequest(name="a", device_class_name="qat.intel.com"), DeviceSubRequest("b", name))
    return ClaimSketch("c", (DeviceRequest("r", first_available=ways),))


def text_of(claim):
    return manifest_yaml(claim, having(SAMPLES[0]), R136).text.partition("\n---\n")[0] + "\n"


def compiled(claim):
    """Return the claim as kube-scheduler reads it."""
    return ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(claim, having(SAMPLES[0]), R136).spec)


def claims_of(names, form):
    return [(name, sketch(name, form)) for name in names]


def all_names(sample):
    return NAMES


def some_names(sample):
    """Return the classes of the sample's drivers, and a share of the others: each class is in one share."""
    drivers = {one.spec.driver for one in lacking(sample).slices}
    share = {*NAMES[SAMPLES.index(sample) :: len(SAMPLES)]}
    share |= {name for driver in drivers for name in CLASSES.get(driver, ())}
    return [name for name in NAMES if name in share]


by_sample = pytest.mark.parametrize("sample", SAMPLES)
by_names = pytest.mark.parametrize("names_of", [some_names, pytest.param(all_names, marks=pytest.mark.long)])


def rules(findings, name):
    return [f.rule for f in findings if f.subject == name and f.rule in ("class-not-in-cluster", "class-unknown")]


@pytest.mark.some(6)
@pytest.mark.parametrize("form", FORMS)
@by_sample
@by_names
def test_the_planner_answers_as_if_the_documented_class_were_there(sample, names_of, form):
    def answer(cluster, claim):
        plan = checked_plan(cluster, claim, release=R136)
        found = plan.first_fit
        return plan.status, plan.node, plan.placements, found and (found.status, found.placements)

    claims = claims_of(names_of(sample), form)
    wrong = [name for name, claim in claims if answer(lacking(sample), claim) != answer(having(sample), claim)]
    assert wrong == []


@pytest.mark.parametrize("form", FORMS)
@by_sample
@by_names
def test_a_class_that_is_used_is_never_said_not_to_exist(sample, names_of, form):
    """First fit knows every documented class, also one whose driver is not in the cluster."""
    on = lacking(sample)
    node = on.node_names[0]
    claims = {name: compiled(claim) for name, claim in claims_of(names_of(sample), form)}
    verdicts = {name: first_fit(on, node, [claim], R136) for name, claim in claims.items()}
    assert {name: v.message for name, v in verdicts.items() if "does not exist" in v.message} == {}


@pytest.mark.parametrize("form", FORMS)
@by_sample
@by_names
def test_check_reports_each_missing_class_once(sample, names_of, form, tmp_path):
    names = names_of(sample)
    for number, (_, claim) in enumerate(claims_of(names, form)):
        for copy in "ab":
            text = text_of(claim).replace("name: c\n", f"name: c{number}-{copy}\n", 1)
            (tmp_path / f"{number}-{copy}.yaml").write_text(text)
    review = check_manifests(lacking(sample), read_manifests([tmp_path]), release=R136, time_limit=0.001)
    assert {name: rules(review.findings, name) for name in names} == {name: ["class-not-in-cluster"] for name in names}


@pytest.mark.parametrize("form", FORMS)
@by_sample
@by_names
def test_a_missing_class_is_exported_with_the_claim(sample, names_of, form):
    """The manifests hold every class that the claim names, as the API server takes it."""
    wrong = []
    for name, claim in claims_of(names_of(sample), form):
        text = manifest_yaml(claim, lacking(sample), R136).text
        written = {d["metadata"]["name"] for d in yaml.safe_load_all(text) if d["kind"] == "DeviceClass"}
        if name not in written or check_text(text, "c.yaml", R136):
            wrong.append(name)
    assert wrong == []


CLASS_AND_CLAIM = device_class("fast", "device.driver == 'gpu.nvidia.com'") + template("pair", request("gpu", "fast"))


def test_a_class_beside_the_claim_is_seen_and_exported(tmp_path):
    (tmp_path / "claim.yaml").write_text(CLASS_AND_CLAIM)
    on = with_own_classes(tmp_path / "claim.yaml", load_cluster("sample:eks-p4d"))
    claim = sketch("fast", "plain")
    assert checked_plan(on, claim, release=R136).fits
    assert [item.name for item in needed_classes(claim, on)] == ["fast"]


@pytest.mark.parametrize("command", [["plan"], ["check"], ["export"]])
def test_every_command_sees_a_class_beside_the_claim(command, tmp_path, capsys):
    file, folder = tmp_path / "claim.yaml", tmp_path / "out"
    file.write_text(CLASS_AND_CLAIM)
    words = [str(file)] if command == ["check"] else ["--claim", str(file)]
    words += ["--dir", str(folder)] if command == ["export"] else []
    assert main([*command, "sample:eks-p4d", *words]) == 0
    assert "class-unknown" not in capsys.readouterr().err
    assert not folder.exists() or main(["check", "sample:eks-p4d", str(folder)]) == 0


def test_dranets_alias_of_its_class_fits():
    """A template of DRANET's examples names `dranet.net`, another name of the documented class `dranet`."""
    file = SHARED / "real-files" / "repro-dranet-net.yaml"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    assert main(["plan", "sample:eks-p4d", "--claim", str(file)]) == 0
