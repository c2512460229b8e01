"""v1, v1beta2 and v1beta1: nothing is lost on the way to the hub and back."""

import copy
import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_documents import KINDS_AND_VERSIONS, documents

from dra_lab.errors import ManifestError
from dra_lab.manifests.documents import KINDS, decode_documents, encode
from dra_lab.manifests.strict import decode_strict
from dra_lab.manifests.versions import KIND_VERSIONS, downgrade, from_v1beta1, upgrade

MODEL_KINDS = list(KIND_VERSIONS)
quick = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("kind", "version"), KINDS_AND_VERSIONS)
@quick
@given(data=st.data())
def test_there_and_back_gives_the_same_document(kind, version, data):
    """A document of any version, upgraded and downgraded, is the document; neither step changes its input."""
    document = data.draw(documents(kind, version))
    before = copy.deepcopy(document)
    assert downgrade(upgrade(document), version) == document
    assert document == before


@pytest.mark.parametrize(("kind", "version"), KINDS_AND_VERSIONS)
@quick
@given(data=st.data())
def test_the_hub_survives_every_version(kind, version, data):
    """A v1 document, downgraded and upgraded, is the document: older versions can say all that v1 says."""
    document = data.draw(documents(kind))
    assert upgrade(downgrade(document, version)) == document


@pytest.mark.parametrize("kind", MODEL_KINDS)
@quick
@given(data=st.data())
def test_the_model_drops_nothing(kind, data):
    """A v1 document of 1.37 read into the model and written again is the document, default values aside."""
    document = data.draw(documents(kind))
    item = msgspec.convert(document, KINDS[kind][1])
    assert msgspec.convert(encode(item), KINDS[kind][1]) == item
    assert _without_defaults(encode(item)) == _without_defaults(document)


@pytest.mark.parametrize(("kind", "version"), KINDS_AND_VERSIONS)
@quick
@given(data=st.data())
def test_a_value_written_in_any_version_reads_back(kind, version, data):
    """`encode(item, version)` and `decode_documents` are each other's inverse, as one object and in a List."""
    item = msgspec.convert(data.draw(documents(kind)), KINDS[kind][1])
    written = encode(item, version)
    assert written["apiVersion"].endswith("/" + version)
    for text in (json.dumps(written), json.dumps({"apiVersion": "v1", "kind": "List", "items": [written]})):
        found = decode_documents(text)
        assert found.findings == ()
        assert found.of(type(item)) == (item,)


@pytest.mark.parametrize(("kind", "version"), KINDS_AND_VERSIONS)
@quick
@given(data=st.data())
def test_the_strict_decoder_takes_every_field_of_the_table(kind, version, data):
    """A document made of known fields decodes without a complaint and unchanged."""
    document = data.draw(documents(kind, version))
    assert decode_strict(document, kind, version, "1.37") == (document, ())


def _without_defaults(value):
    """Leave out what a model value does not write: fields at their default."""
    defaults = {"": (), "operator": ("Equal",)}
    if isinstance(value, dict):
        kept = {k: _without_defaults(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v not in ({}, [], *defaults.get(k, ()))}
    return [_without_defaults(v) for v in value] if isinstance(value, list | tuple) else value


REQUEST = {"name": "r"}


@pytest.mark.parametrize(
    ("flat", "is_exact"),
    [
        ({}, False),
        ({"deviceClassName": ""}, False),
        ({"count": 0}, False),
        ({"allocationMode": ""}, False),
        ({"count": 2}, True),
        ({"selectors": []}, True),
        ({"tolerations": []}, True),
        ({"adminAccess": False}, True),
        ({"capacity": {}}, True),
        ({"selectors": None}, False),
    ],
)
def test_any_set_field_makes_an_exact_request(flat, is_exact):
    """v1beta1: `exactly` exists when a flat field is set; empty lists and false are set, empty texts and 0 are not."""
    claim = {"kind": "ResourceClaim", "spec": {"devices": {"requests": [REQUEST | flat]}}}
    request = from_v1beta1(claim)["spec"]["devices"]["requests"][0]
    assert ("exactly" in request) == is_exact


def test_an_empty_node_choice_of_v1beta1_is_none():
    """v1beta1: `nodeName: ""` and `allNodes: false` mean unset in a slice, and only there."""
    spec = {"nodeName": "", "allNodes": False, "perDeviceNodeSelection": False, "devices": [{"name": "d"}]}
    upgraded = from_v1beta1({"kind": "ResourceSlice", "spec": spec})["spec"]
    assert upgraded == {"perDeviceNodeSelection": False, "devices": [{"name": "d"}]}


@pytest.mark.parametrize("value", [None, 3, "x", [], [None], {"devices": 3}, {"devices": [3, {"basic": 4}]}])
def test_what_has_another_form_stays_as_it_is(value):
    """Upgrading broken documents neither raises nor hides what is wrong with them."""
    for kind in ("ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"):
        assert from_v1beta1({"kind": kind, "spec": value}) == {"kind": kind, "spec": value}


def test_a_version_that_a_kind_does_not_have_is_refused_by_name():
    """The message names the kind, the version and the versions that are known."""
    with pytest.raises(ManifestError, match=r"DeviceTaintRule.*v1beta1.*v1beta2"):
        downgrade({"kind": "DeviceTaintRule"}, "v1beta1")


def test_null_is_unset():
    """`requests: null`, as the API server writes an empty list, reads as no requests; parameters keep their nulls."""
    opaque = {"driver": "d", "parameters": {"a": None}}
    devices = {"requests": None, "config": [{"opaque": opaque, "requests": None}]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "labels": None},
        "spec": {"devices": devices},
    }
    found = decode_documents(json.dumps(claim))
    assert found.findings == ()
    ((item, _),) = found.objects
    assert item.spec.devices.requests == ()
    assert item.spec.devices.config[0].opaque.parameters == {"a": None}


@pytest.mark.parametrize("members", [{"deviceClassName": "gpu"}, {"driver": "d", "selectors": [{"cel": {}}]}])
def test_a_taint_rule_that_selects_as_until_1_34_is_refused(members):
    """Without the members that are not read it would be a rule for every device, or for too many."""
    spec = {"deviceSelector": members, "taint": {"key": "k", "effect": "NoSchedule"}}
    rule = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": spec,
    }
    found = decode_documents(json.dumps(rule).encode(), "a.json")
    assert [finding.rule for finding in found.findings] == ["document-broken"]
    assert "adds the taint of this rule to no device" in found.findings[0].message
    none = {**rule, "spec": {**spec, "deviceSelector": {"driver": "d", "deviceClassName": None}}}
    assert len(decode_documents(json.dumps(none).encode(), "a.json").objects) == 1
