"""Lists as dra-driver-cpu documents them: its four example pods, constraints over lists, and gates of a release."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_plans import checked_plan
from small_manifests import amount, claim, cpus, device_slice, pod, request, same, template

from dra_lab import KubernetesRelease, Session, read_sketch
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests
from dra_lab.model.plan import FirstFitStatus
from dra_lab.sources import load_texts

LISTS = "DRAListTypeAttributes"
EXAMPLES = Path(__file__).parents[2] / ".." / "shared/real-files/manifests/kubernetes-sigs+dra-driver-cpu/hack/examples"
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


def grouped(numa: int, roots: str) -> str:
    """Return a device of the grouped mode (docs/user/device-attributes.md of dra-driver-cpu v0.2.0)."""
    own = ("dra.cpu/numCPUs: {int: 64}", "dra.cpu/socketID: {int: 0}")
    return cpus(f"cpudevnuma00{numa}", 64, *own, f"{NUMA}: {{int: {numa}}}", f"{ROOT}: {{strings: {roots}}}")


def individual(cpu: int) -> str:
    """Return a device of the individual mode, in which a CPU has a list of one root."""
    own = f"dra.cpu/cpuID: {{int: {cpu}}}, dra.cpu/coreType: {{string: standard}}"
    places = f'{NUMA}: {{int: 0}}, {ROOT}: {{strings: ["pci0000:00"]}}'
    return f"{{name: cpudev{cpu:03d}, attributes: {{{own}, {places}}}}}"


GROUPED = device_slice(
    "dra.cpu", grouped(0, '["pci0000:00", "pci0000:10"]'), grouped(1, '["pci0000:10", "pci0000:20"]')
)
INDIVIDUAL = device_slice("dra.cpu", *map(individual, range(12)))
AMOUNT = amount("dra.cpu/cpu", 10)


def wants(name: str, *fields: str) -> str:
    return claim(name, request("cpus", "dra.cpu", *fields))


def run(*claims: str, resources: str = "{requests: {cpu: 10}}") -> str:
    return pod("cpus", *claims, by="resourceClaimName", more=[f"resources: {resources}"])


PODS = {
    "grouped_mode": (GROUPED, wants("ten", AMOUNT) + run("ten")),
    "individual_mode": (
        INDIVIDUAL,
        wants("four", "count: 4") + wants("six", "count: 6") + run("four", "six"),
    ),
    "pod_level_resources": (GROUPED, wants("ten", AMOUNT) + wants("more", AMOUNT) + run("ten", "more")),
    "node_allocatable": (GROUPED, wants("ten", AMOUNT) + run("ten", resources="{requests: {cpu: 1m}}")),
}


@pytest.fixture
def files(tmp_path):
    def write(slices: str, manifests: str):
        (tmp_path / "slices.yaml").write_text(slices)
        (tmp_path / "pod.yaml").write_text(manifests)
        return str(tmp_path / "slices.yaml"), str(tmp_path / "pod.yaml"), str(tmp_path / "out")

    return write


@pytest.mark.parametrize("release", [[], ["--release", "1.37"]], ids=["default", "1.37"])
@pytest.mark.parametrize("name", PODS)
def test_the_cpu_drivers_pods_fit_its_slices_in_every_command(name, release, files):
    """plan, check and export say that the four example pods fit the slices of their mode."""
    slices, manifests, out = files(*PODS[name])
    answers = [
        main(["plan", slices, "--claim", manifests, *release]),
        main(["check", slices, manifests, *release]),
        main(["export", slices, "--claim", manifests, "--dir", out, *release]),
    ]
    assert answers == [0, 0, 0]


@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize(("name", "slices"), [(name, slices) for name, (slices, _) in PODS.items()])
def test_the_cpu_drivers_published_pods_fit_its_slices(name, slices, release):
    """The example pods of the driver's repository fit its documented slices."""
    path = next(iter(EXAMPLES.glob(f"*{name}.yaml")), None)
    if path is None:
        pytest.skip(f"the example {name} is not among the real files")
    review = check_manifests(load_texts({"a": slices}), read_manifests([path]), release=KubernetesRelease(release))
    assert (review.valid, {one.fit.value for one in review.reviewed}) == (True, {"fits"})


def linked(attribute: str, *, word: str = "matchAttribute", fields: str = AMOUNT) -> str:
    both = [request(name, "dra.cpu", fields) for name in ("a", "b")]
    return template("linked", *both, constraints=[same(attribute, "a", "b", word=word)])


CONSTRAINTS = {
    "same-device": (GROUPED, linked(ROOT)),
    "one-root-each": (INDIVIDUAL, linked(ROOT, fields="count: 2")),
    "apart": (GROUPED.replace('"pci0000:10", ', ""), linked(ROOT, word="distinctAttribute")),
}


@pytest.mark.parametrize("command", ["plan", "check"])
@pytest.mark.parametrize("case", CONSTRAINTS)
def test_constraints_over_lists_fit_from_1_37_on(case, command, files):
    """kube-scheduler of 1.37 compares lists in constraints, also those of a device with itself."""
    slices, manifests, _ = files(*CONSTRAINTS[case])
    given = [manifests] if command == "check" else ["--claim", manifests]
    assert main([command, slices, *given, "--release", "1.37"]) == 0


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_planner_and_first_fit_agree_on_constraints_over_lists(case, files):
    """A claim file with such a constraint is allocated exactly when the planner says that it fits."""
    _, manifests, _ = files(*CONSTRAINTS[case])
    plan = checked_plan(load_texts({"a": CONSTRAINTS[case][0]}), read_sketch(manifests), release="1.37")
    assert plan.fits == (plan.first_fit is not None and plan.first_fit.status is FirstFitStatus.ALLOCATED)


@pytest.mark.parametrize(("release", "gate"), [("1.34", LISTS), ("1.35", LISTS), ("1.36", "DRADerivedAttributes")])
@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("command", ["plan", "check", "export"])
def test_a_gate_that_the_release_lacks_is_refused(command, value, release, gate, files, capsys):
    """kube-scheduler does not start with a gate that it does not know, so no answer assumes one."""
    slices, manifests, out = files(*PODS["grouped_mode"])
    given = [manifests] if command == "check" else ["--claim", manifests]
    folder = ["--dir", out] if command == "export" else []
    status = main([command, slices, *given, *folder, "--release", release, "--feature-gates", f"{gate}={value}"])
    assert (status, f"Kubernetes {release} has no feature gate {gate}" in capsys.readouterr().err) == (2, True)


def test_a_session_refuses_a_gate_that_its_release_lacks():
    """What the command line refuses, the notebook refuses."""
    with pytest.raises(InputError, match=r"1\.36 has no feature gate DRADerivedAttributes"):
        Session(load_texts({"a": GROUPED}), release="1.36", feature_gates={"DRADerivedAttributes": True})
