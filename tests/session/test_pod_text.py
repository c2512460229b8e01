"""The claims of a pod as text: what is drawn comes back as it was, what is typed becomes a frame each."""

import random

import pytest
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch

from dra_lab import ClaimSketch, Session
from dra_lab.errors import ManifestError
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.session.claim_text import claim_text, edit_claim

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
def session():
    with_example = Session("sample:eks-p4d")
    yield with_example
    with_example.close()


@pytest.fixture
def two(session):
    drawn = session.sketch
    session.edit(pod_drawing("train", (replace(drawn, name="gpus"), replace(drawn, name="more"))))
    return session


@pytest.mark.parametrize("seed", range(12))
def test_the_text_of_one_to_three_claims_is_the_drawing(seed):
    """A text that was not edited changes nothing, whatever is drawn."""
    rng = random.Random(seed)
    claims = [replace(random_sketch(rng), name=f"claim-{number}") for number in range(1 + seed % 3)]
    session = Session(random_fleet(rng), sketch=pod_drawing("pod", claims), drawn=False)
    assert edit_claim(session, claim_text(session)) is False
    session.close()


def test_an_edit_of_one_claim_leaves_the_other_as_it_was_drawn(two):
    """The pairwise link of the other claim stays, which no YAML can say."""
    text = claim_text(two)
    before, after = text.split("---\n")
    edit_claim(two, f"{before}---\n{after.replace('count: 1', 'count: 2')}")
    assert claims_of(two.sketch)[0].links == claims_of(Session("sample:eks-p4d", drawn=False).sketch)[0].links


def test_a_second_template_becomes_a_second_claim(session):
    """The first keeps what was drawn, under the name of its template."""
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
    """What is left is a drawing of one claim, under the name of its template."""
    edit_claim(two, claim_text(two).split("---\n")[0])
    assert (two.sketch.name, two.sketch.claims) == ("train-gpus", ())


def test_two_templates_of_one_name_are_refused_with_the_line(session):
    """A name says which claim is meant."""
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
