"""The recorded answers of an API server 1.36.2 to 3,000 objects (`tests/conformance/validation.ndjson.gz`)."""

import gzip
import json
from pathlib import Path

import pytest

from dra_lab.checks.admission import BAD_REQUEST, CREATED, admit
from dra_lab.checks.replay_validation import RECORDED, replay_validation
from dra_lab.manifests.versions import short_version

CASES = Path(__file__).parents[1] / "conformance" / "validation.ndjson.gz"


@pytest.fixture(scope="module")
def cases():
    with gzip.open(CASES) as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def answers(cases):
    return [(case, replay_validation(case)) for case in cases]


def test_every_object_is_accepted_or_refused_alike(answers):
    """Acceptance agrees in every case."""
    assert [case["id"] for case, answer in answers if answer["accepted"] != case["accepted"]] == []
    assert len(answers) == 3000


def test_the_decoder_refuses_what_it_refused(cases):
    """Status 400 and 422 agree: an object that the decoder refuses is not validated."""
    wrong = [case["id"] for case in cases if admit(case["object"], RECORDED).status != case["status"]]
    assert wrong == []


def test_every_refusal_names_the_same_fields(answers):
    """The set of fields agrees in every case that validation refused."""
    refused = [(case, answer) for case, answer in answers if not case["accepted"] and case["status"] != BAD_REQUEST]
    wrong = [
        (case["id"], fields, wanted)
        for case, answer in refused
        if (fields := {c["field"] for c in answer["causes"]}) != (wanted := {c["field"] for c in case["causes"]})
    ]
    assert wrong == []
    assert len(refused) == 1605


def test_every_stored_object_is_the_same(answers):
    """Defaults, empty lists, always written fields: the stored spec agrees in every accepted case."""
    accepted = [(case, answer) for case, answer in answers if case["accepted"]]
    assert [case["id"] for case, answer in accepted if answer["stored"]["spec"] != case["stored"]["spec"]] == []
    assert len(accepted) == 1079


def test_the_recorded_clock_is_all_that_is_taken_from_an_answer(cases):
    """Without the recorded answer, only the time of new taints differs, and it is that of this machine's clock."""
    for case in cases:
        if not case["accepted"]:
            continue
        alone = replay_validation({"id": case["id"], "object": case["object"]})["stored"]["spec"]
        assert _without_times(alone) == _without_times(case["stored"]["spec"]), case["id"]


def test_what_was_stored_is_accepted_again(cases):
    """A stored object, sent again, is accepted and stored as it is: defaults and canonical forms are final."""
    for case in cases:
        if case["accepted"]:
            stored = {**case["stored"], "metadata": case["object"]["metadata"]}
            answer = admit(stored, RECORDED)
            assert (answer.status, answer.stored["spec"]) == (CREATED, stored["spec"]), case["id"]


def test_all_three_versions_are_among_the_accepted(cases):
    """Every version of the API is tested by objects that it stores."""
    versions = {short_version(c["object"]["apiVersion"], c["object"]["kind"]) for c in cases if c["accepted"]}
    assert versions == {"v1", "v1beta1", "v1beta2"}


def _without_times(value):
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key != "timeAdded"}
    return [_without_times(item) for item in value] if isinstance(value, list) else value
