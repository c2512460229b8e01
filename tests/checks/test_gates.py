"""What is dropped when a feature gate is off, and what is refused."""

import json

import pytest
from small_documents import CLAIM, CLASS, SLICE, TAINT_RULE, TEMPLATE, changed, claim, constraint, device

from dra_lab.checks.document_checks import admit, check_object, check_text, replay_validation
from dra_lab.errors import ManifestError
from dra_lab.findings import Severity
from dra_lab.manifests.yaml_text import dump_all
from dra_lab.model.release import KubernetesRelease

OLD = KubernetesRelease("1.34")
REQUEST = "spec.devices.requests[0]"
TAINT = {"key": "k", "effect": "NoSchedule"}
DROPPED = [
    ("DRADeviceTaints", claim(tolerations=[{"operator": "Exists"}]), f"{REQUEST}.exactly.tolerations", True),
    ("DRAConsumableCapacity", claim(capacity={"requests": {"m": "1"}}), f"{REQUEST}.exactly.capacity", True),
    ("DRAConsumableCapacity", constraint(distinctAttribute="a.io/b"), "spec.devices.constraints[0].distinctAttribute",
     False),
    ("DRADeviceTaints", device(taints=[TAINT]), "spec.devices[0].taints", True),
    ("DRADeviceBindingConditions", device(bindsToNode=True), "spec.devices[0].bindsToNode", True),
    ("DRAPartitionableDevices", device(nodeName="n"), "spec.devices[0].nodeName", True),
    ("DRAConsumableCapacity", device(allowMultipleAllocations=True), "spec.devices[0].allowMultipleAllocations", True),
    ("DRAExtendedResource", changed(CLASS, ("spec.extendedResourceName", "!")), "spec.extendedResourceName", True),
]  # fmt: skip


@pytest.mark.parametrize(("gate", "document", "path", "accepted"), DROPPED, ids=[case[2] for case in DROPPED])
def test_a_field_whose_gate_is_off_is_dropped_without_a_word(gate, document, path, accepted):
    """Kubernetes 1.34 stores the object without the field, or refuses what is left; the finding names the gate."""
    answer = admit(document, OLD)
    assert answer.dropped == ((path, gate),)
    assert answer.accepted is accepted
    (finding,) = (f for f in check_object(document, OLD) if f.rule == "gate-off")
    assert (finding.origin.path, gate in finding.message) == (path, True)
    assert admit(document, KubernetesRelease("1.34", {gate: True})).dropped == ()


ADMIN = [
    claim(adminAccess=True),
    changed(TEMPLATE, ("spec.spec.devices.requests.0.exactly.adminAccess", True)),
]


@pytest.mark.parametrize("document", ADMIN, ids=lambda document: document["kind"])
def test_admin_access_is_a_warning(document):
    """The API server accepts it in namespaces with a label, which a manifest does not show."""
    (finding,) = check_object(document)
    assert (finding.rule, finding.severity) == ("admin-access", Severity.WARNING)
    assert finding.origin.path.startswith("spec.")
    assert finding.origin.object


@pytest.mark.parametrize("document", [CLAIM, TEMPLATE, CLASS, SLICE, TAINT_RULE], ids=lambda d: d["kind"])
def test_a_sensible_object_has_no_findings(document):
    assert check_object(document) == ()


def test_a_text_is_reported_with_document_and_line():
    """Findings of YAML carry document, line and path; of v1beta1 the line is that of the flat field."""
    flat = changed(CLAIM, ("apiVersion", "resource.k8s.io/v1beta1"))
    flat["spec"]["devices"]["requests"] = [{"name": "r", "deviceClassName": "gpu", "count": -1}]
    text = dump_all([{"kind": "Pod"}, flat])
    (finding,) = check_text(text, "f.yaml")
    assert finding.rule == "api-refused"
    assert (finding.origin.source, finding.origin.document, finding.origin.path) == (
        "f.yaml",
        2,
        f"{REQUEST}.count",
    )
    assert text.splitlines()[finding.origin.line - 1].strip() == "count: -1"


def test_what_the_decoder_refuses_and_repeated_keys_are_findings():
    """Unknown fields are errors of the text, in JSON, YAML and Lists; a key that is there twice is a warning."""
    unknown = changed(CLAIM, ("spec.foo", 1))
    assert [f.rule for f in check_text(dump_all([{"kind": "List", "items": [unknown]}]))] == ["api-undecodable"]
    assert [f.rule for f in check_text('{"kind": "Pod", "kind": "Pod"}')] == ["key-repeated"]
    (finding,) = check_text("kind: Pod\nspec:\n  a: 1\n  a: 2\n")
    assert (finding.rule, finding.severity, finding.origin.line) == ("key-repeated", Severity.WARNING, 4)


def test_an_object_of_another_group_is_refused():
    """`admit` is for `resource.k8s.io`; the message names the kinds."""
    for document in ({"kind": "Pod", "apiVersion": "v1"}, {}, {"kind": "DeviceClass", "apiVersion": "v1"}):
        with pytest.raises(ManifestError, match="ResourceSlice"):
            admit(document)


def test_a_case_of_an_unknown_kind_is_not_accepted():
    """Replaying goes on where the API server has no such kind; what is no case at all is refused."""
    answer = replay_validation({"id": "x", "object": {"kind": "Pod", "apiVersion": "v1"}})
    assert answer == {"id": "x", "accepted": False, "causes": [], "stored": None}
    with pytest.raises(ManifestError, match="object"):
        replay_validation({"id": "x"})


def test_json_is_checked_in_every_form_that_is_read():
    """One object, an array, and objects one after the other have the same findings; broken JSON is refused."""
    one = json.dumps(claim(adminAccess=True))
    several = json.dumps(claim(adminAccess=True), indent=2)
    for text in (one, f"[{one}]", f"{one}\n{one}\n", f"{several}\n{several}\n", one + one):
        assert {finding.rule for finding in check_text(text)} == {"admin-access"}
    with pytest.raises(ManifestError):
        check_text("{\n{\n")
