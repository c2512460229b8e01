"""The claims of a session as text: what is drawn comes back as it was, and what is typed is drawn."""

import random

import pytest
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch

from dra_lab import ClaimSketch, How, Session
from dra_lab.errors import ManifestError
from dra_lab.model.claims import CELDeviceSelector, DeviceSelector
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.session.claim_text import claim_text, edit_claim, open_drawable
from dra_lab.session.drawables import drawables


@pytest.fixture
def session():
    made = Session()
    made.plan()
    yield made
    made.close()


def _line(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_selector_that_looks_like_the_end_of_a_document_is_whole(session):
    ask = session.sketch.requests[0]
    text = CELDeviceSelector(expression="true || // see ---\nfalse")
    asked = replace(ask, exactly=replace(ask.exactly, selectors=(DeviceSelector(cel=text),)))
    session.edit(replace(session.sketch, requests=(asked, *session.sketch.requests[1:])))
    assert edit_claim(session, claim_text(session)) is False


def test_an_edit_is_one_step_and_keeps_what_it_left_alone(session):
    """Comments and letters may stay in the text; the pairwise link stays, as nothing of it was touched."""
    before = session.sketch
    assert edit_claim(session, claim_text(session).replace("name: gpu-nic-pairs", "name: renamed"))
    assert (session.sketch.name, session.sketch.links[0].how) == ("renamed", How.PAIRWISE)
    assert session.undo()
    assert session.sketch == before


def test_a_document_beside_the_claim_is_refused_with_its_line(session):
    """Only the claim is kept of an edited text, so a Pod beside it would be lost without a word."""
    text = f"{claim_text(session)}---\napiVersion: v1\nkind: Pod\n"
    with pytest.raises(ManifestError, match="document of kind Pod is not the claim") as caught:
        edit_claim(session, text)
    assert caught.value.origin.line == _line(text, "kind: Pod") - 1


@pytest.mark.parametrize(
    ("old", "new", "words", "at"),
    [
        ("count: 1", "count: many", "count", "count: many"),
        ("deviceClassName", "deviceClas", "unknown field 'deviceClas'; did you mean 'deviceClassName'", "deviceClas:"),
        ("  spec:\n", "  spec: [\n", "not valid YAML", ""),
        ("kind: ResourceClaimTemplate", "kind: Pod", "keep one", ""),
        ("allocationMode: ExactCount", "allocationMode: Some", "allocationMode", "allocationMode: Some"),
    ],
)
def test_a_broken_text_is_reported_with_its_line_and_changes_nothing(session, old, new, words, at):
    before, text = session.sketch, claim_text(session).replace(old, new, 1)
    with pytest.raises(ManifestError, match=words) as caught:
        edit_claim(session, text)
    assert session.sketch == before
    if at:
        assert caught.value.origin.line == _line(text, at)


def test_a_claim_of_anybody_opens_as_the_drawing(session):
    """A ResourceClaim's requests and constraints are drawn; what has no box on the canvas stays in its YAML."""
    text = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: theirs}
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
    constraints:
    - {matchAttribute: resource.kubernetes.io/pcieRoot}
    config:
    - opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: x/v1, kind: Sharing}}
"""
    open_drawable(session, drawables({"": text}).found[0])
    assert [request.name for request in session.sketch.requests] == ["a"]
    assert session.sketch.links[0].where == "pcieRoot"
    assert "kind: Sharing" in claim_text(session)
    assert session.undo()


POD = """---
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  resourceClaims:
  - {name: gpus, resourceClaimTemplateName: gpu-nic-pairs}
  - {name: more, resourceClaimTemplateName: other}
  containers: [{name: main, image: x}]
"""


@pytest.fixture
def two(session):
    drawn = session.sketch
    session.edit(pod_drawing("train", (replace(drawn, name="gpus"), replace(drawn, name="more"))))
    return session


@pytest.mark.parametrize("seed", range(12))
def test_the_text_of_one_to_three_claims_is_the_drawing(seed):
    rng = random.Random(seed)
    claims = [replace(random_sketch(rng), name=f"claim-{number}") for number in range(1 + seed % 3)]
    session = Session(random_fleet(rng), sketch=pod_drawing("pod", claims), drawn=False)
    assert edit_claim(session, claim_text(session)) is False
    assert not session.undo()
    session.close()


def test_an_edit_of_one_claim_leaves_the_other_as_it_was_drawn(two):
    """The pairwise link of the other claim stays, which no YAML can say."""
    text = claim_text(two)
    before, after = text.split("---\n")
    edit_claim(two, f"{before}---\n{after.replace('count: 1', 'count: 2')}")
    assert claims_of(two.sketch)[0].links == claims_of(Session("sample:eks-p4d", drawn=False).sketch)[0].links


def test_a_second_template_becomes_a_second_claim(session):
    text = claim_text(session)
    second = text.replace("name: gpu-nic-pairs", "name: other")
    edit_claim(session, f"{text}---\n{second}")
    assert session.sketch.claims == ("gpu-nic-pairs", "other")
    assert claims_of(session.sketch)[0].links


def test_the_pod_in_the_text_names_the_claims(session):
    """`spec.resourceClaims[].name` is the name of the frame, the pod's name that of the drawing."""
    text = claim_text(session)
    second = text.replace("name: gpu-nic-pairs", "name: other")
    edit_claim(session, f"{text}---\n{second}{POD}")
    assert (session.sketch.name, session.sketch.claims) == ("trainer", ("gpus", "more"))


def test_a_claim_that_is_taken_out_of_the_text_is_deleted(two):
    edit_claim(two, claim_text(two).split("---\n")[0])
    assert (two.sketch.name, two.sketch.claims) == ("train-gpus", ())


def test_two_templates_of_one_name_are_refused_with_the_line(session):
    text = claim_text(session)
    with pytest.raises(ManifestError, match="two claims are called gpu-nic-pairs") as error:
        edit_claim(session, f"{text}---\n{text}")
    assert error.value.origin.line > text.count("\n")


def test_a_drawing_is_kept_with_its_requests_claim_by_claim(session):
    """Letters and colours go by the order of requests, also after the file was read again."""
    one = session.sketch.requests[0]
    mixed = [replace(one, name=name) for name in ("a:x", "b:x", "a:y")]
    session.edit(ClaimSketch(name="pod", requests=tuple(mixed), claims=("a", "b")))
    assert [request.name for request in session.sketch.requests] == ["a:x", "a:y", "b:x"]
