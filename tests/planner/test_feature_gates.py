"""Every answer about a cluster assumes the same feature gates: lists of values as dra-driver-cpu publishes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_plans import checked_plan
from sharing_nodes import ask
from small_manifests import amount, claim, cpus, device_slice, pod, request, same, template

from dra_lab import ClaimSketch, KubernetesRelease, Link, Session, read_sketch
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import RELEASES
from dra_lab.sources import load_texts

LISTS = "DRAListTypeAttributes"
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {nodeInfo: {kubeletVersion: v1.36.2}}
"""


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
CPUS = load_texts({"slices.yaml": NODE + GROUPED})
ONE = ClaimSketch("cpus", (ask("cpu", "dra.cpu"),))
TWO = ClaimSketch("cpus", (ask("cpu", "dra.cpu", 2),), (Link("root", ("cpu",), ROOT),))
OFF = [KubernetesRelease(version, {LISTS: False}) for version in ("1.36", "1.37")]


def wants(name: str, *fields: str) -> str:
    return claim(name, request("cpus", "dra.cpu", *fields))


def run(*claims: str, resources: str = "{requests: {cpu: 10}}") -> str:
    return pod("cpus", *claims, by="resourceClaimName", more=[f"resources: {resources}"])


PODS = {
    "grouped_mode": (GROUPED, wants("ten", AMOUNT) + run("ten")),
    "individual_mode": (INDIVIDUAL, wants("four", "count: 4") + wants("six", "count: 6") + run("four", "six")),
    "pod_level_resources": (GROUPED, wants("ten", AMOUNT) + wants("more", AMOUNT) + run("ten", "more")),
    "node_allocatable": (GROUPED, wants("ten", AMOUNT) + run("ten", resources="{requests: {cpu: 1m}}")),
}


def linked(attribute: str, *, word: str = "matchAttribute", fields: str = AMOUNT) -> str:
    both = [request(name, "dra.cpu", fields) for name in ("a", "b")]
    return template("linked", *both, constraints=[same(attribute, "a", "b", word=word)])


CONSTRAINTS = {
    "same-device": (GROUPED, linked(ROOT)),
    "one-root-each": (INDIVIDUAL, linked(ROOT, fields="count: 2")),
    "apart": (GROUPED.replace('"pci0000:10", ', ""), linked(ROOT, word="distinctAttribute")),
}


@pytest.fixture
def asked(tmp_path):
    """Return a function that asks a command about slices and manifests, and returns its exit status."""

    def ask_command(command: str, case: tuple[str, str], *more: str) -> int:
        for name, text in zip(("slices.yaml", "pod.yaml"), case, strict=True):
            (tmp_path / name).write_text(text)
        manifests = str(tmp_path / "pod.yaml")
        given = [manifests] if command == "check" else ["--claim", manifests]
        folder = ["--dir", str(tmp_path / "out")] if command == "export" else []
        return main([command, str(tmp_path / "slices.yaml"), *given, *folder, *more])

    return ask_command


# ---------------------------------------------------------------- planner and first fit


@pytest.mark.parametrize("sketch", [ONE, TWO], ids=["selectors", "constraint"])
@pytest.mark.parametrize("release", [*map(KubernetesRelease, RELEASES), *OFF], ids=str)
def test_planner_and_first_fit_assume_the_same_gates(release, sketch):
    """Where devices publish lists, kube-scheduler allocates exactly when the planner says that the claim fits."""
    plan = checked_plan(CPUS, sketch, release=release)
    # The scheduler of 1.36 forgets the gate in constraints (docs/semantics.md 3.9.12), and the plan says so.
    forgotten = any(finding.rule == "first-fit-fails" for finding in plan.findings) and release.version.startswith(
        "1.36"
    )
    assert plan.fits == (allocates(plan) or forgotten)


def allocates(plan) -> bool:
    return plan.first_fit is not None and plan.first_fit.status is FirstFitStatus.ALLOCATED


@pytest.mark.parametrize(
    ("release", "fits"), [("1.34", False), ("1.35", False), ("1.36", True), ("1.37", True), (OFF[0], False)], ids=str
)
def test_a_slice_that_shows_a_list_proves_that_the_gate_is_on(release, fits):
    """The API server keeps a list only with the gate, which comes with 1.36; a gate that is given comes first."""
    plan = checked_plan(CPUS, ONE, release=release)
    assert (plan.fits, allocates(plan)) == (fits, fits)


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_planner_and_first_fit_agree_on_constraints_over_lists(case, tmp_path):
    """kube-scheduler of 1.37 compares lists in constraints, also those of a device with itself, as the planner does."""
    slices, manifest = CONSTRAINTS[case]
    (tmp_path / "claim.yaml").write_text(manifest)
    plan = checked_plan(load_texts({"a": slices}), read_sketch(str(tmp_path / "claim.yaml")), release="1.37")
    assert (plan.fits, allocates(plan)) == (True, True)


# ---------------------------------------------------------------- the Python API


def test_the_answer_names_the_gate_that_differs_from_the_default():
    """Plan and session say for which gates they answer."""
    session = Session(CPUS, sketch=ONE, release="1.36")
    found = {session.plan().release, str(session.release), checked_plan(CPUS, ONE, release="1.36").release}
    session.close()
    assert found == {f"1.36.3 ({LISTS}=true)"}


def test_a_cluster_without_lists_keeps_the_default_gates():
    """Nothing is assumed that no slice shows."""
    plain = replace(CPUS, slices=())
    assert plain.target_release("1.36") == KubernetesRelease("1.36")
    assert str(plain.target_release("1.37")) == "1.37.1"


@pytest.mark.parametrize("given", [{"release": OFF[0]}, {"feature_gates": {LISTS: False}}])
def test_a_session_takes_a_release_with_gates_or_gates_alone(given):
    """The claim does not fit without the gate."""
    session = Session(CPUS, sketch=ONE, **given)
    found = session.plan().status
    session.close()
    assert found is PlanStatus.INFEASIBLE


def test_gates_that_a_release_does_not_have_are_refused():
    """The message names the release, or the nearest known gate."""
    with pytest.raises(InputError, match="did you mean DRAListTypeAttributes"):
        KubernetesRelease("1.37", {"DRAListTypeAttribute": True})
    with pytest.raises(InputError, match=r"1\.36\.3 has no feature gate DRADerivedAttributes"):
        Session(CPUS, release="1.36", feature_gates={"DRADerivedAttributes": True})


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize(("gate", "status"), [("true", 0), ("false", 1)])
@pytest.mark.parametrize("command", ["plan", "check", "export"])
def test_every_command_takes_feature_gates(command, gate, status, asked):
    """plan, check and export answer for the gates that are given."""
    assert asked(command, (NODE + GROUPED, PODS["grouped_mode"][1]), "--feature-gates", f"{LISTS}={gate}") == status


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.36", "DRAListTypeAttribute=true"),
        ("1.36", f"{LISTS}=yes"),
        ("1.34", f"{LISTS}=true"),
        ("1.35", f"{LISTS}=false"),
        ("1.36", "DRADerivedAttributes=true"),
    ],
)
def test_gates_that_kube_scheduler_does_not_know_are_refused(release, text, asked, capsys):
    """A wrong name or value, or a gate that the release lacks, is status 2 and named."""
    assert asked("plan", PODS["grouped_mode"], "--release", release, "--feature-gates", text) == 2
    assert text.partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize("release", [[], ["--release", "1.37"]], ids=["default", "1.37"])
@pytest.mark.parametrize("name", PODS)
def test_the_cpu_drivers_pods_fit_its_slices_in_every_command(name, release, asked):
    """plan, check and export say that the four example pods fit the slices of their mode."""
    assert [asked(command, PODS[name], *release) for command in ("plan", "check", "export")] == [0, 0, 0]
