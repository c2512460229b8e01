"""The recorded answers of an API server 1.36.2 to 3,000 objects (`tests/conformance/validation.ndjson.gz`)."""

import gzip
import json
import random
from functools import cache
from pathlib import Path

import pytest
from mutated_documents import READERS, mutate, small_objects

from dra_lab.checks.document_checks import BAD_REQUEST, CREATED, RECORDED, admit, check_text, replay_validation
from dra_lab.errors import DraLabError
from dra_lab.manifests.documents import decode_documents

CASES = Path(__file__).parents[1] / "conformance" / "validation.ndjson.gz"
COUNTS = {
    "DeviceClass": (274, 92),
    "ResourceClaim": (480, 168),
    "ResourceClaimTemplate": (1253, 455),
    "ResourceSlice": (993, 364),
}
"""The recorded objects of each kind: all, and those that were accepted."""


@cache
def cases(kind):
    with gzip.open(CASES, "rt") as lines:
        found = [case for case in map(json.loads, lines) if case["object"]["kind"] == kind]
    assert (len(found), sum(case["accepted"] for case in found)) == COUNTS[kind]
    return found


def fields(answer):
    return {cause["field"] for cause in answer["causes"]}


@pytest.mark.parametrize("kind", COUNTS)
def test_an_object_is_accepted_or_refused_as_recorded(kind):
    """The fields of a refusal and the stored object agree: defaults, empty lists, always written fields."""
    wrong = []
    for case in cases(kind):
        answer, refused = replay_validation(case), not case["accepted"] and case["status"] != BAD_REQUEST
        same = answer["accepted"] == case["accepted"] and (not refused or fields(answer) == fields(case))
        if case["accepted"]:
            same = same and answer["stored"]["spec"] == case["stored"]["spec"]
        wrong += [] if same else [case["id"]]
    assert wrong == []


@pytest.mark.parametrize("kind", COUNTS)
def test_the_decoder_refuses_what_it_refused(kind):
    """Status 400 and 422 agree: an object that the decoder refuses is not validated."""
    assert [case["id"] for case in cases(kind) if admit(case["object"], RECORDED).status != case["status"]] == []


@pytest.mark.parametrize("kind", COUNTS)
def test_what_was_stored_is_accepted_again(kind):
    """A stored object, sent again, is accepted and stored as it is: defaults and canonical forms are final."""
    for case in cases(kind):
        if case["accepted"]:
            stored = {**case["stored"], "metadata": case["object"]["metadata"]}
            answer = admit(stored, RECORDED)
            assert (answer.status, answer.stored["spec"]) == (CREATED, stored["spec"]), case["id"]


@pytest.mark.parametrize("kind", COUNTS)
def test_only_the_recorded_clock_is_read_from_an_answer(kind):
    """Without the recorded answer, only the time of new taints differs."""
    for case in cases(kind):
        if case["accepted"]:
            alone = replay_validation({"id": case["id"], "object": case["object"]})["stored"]["spec"]
            assert _without_times(alone) == _without_times(case["stored"]["spec"]), case["id"]


def _without_times(value):
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key != "timeAdded"}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


MUTANTS = 250
"""Mutants of one case."""


@pytest.fixture(scope="module")
def objects():
    return small_objects(400)


@pytest.mark.parametrize("seed", range(20))
def test_no_broken_document_raises_anything_but_ours(objects, seed):
    """Admission, findings, conversion, reading as JSON and as YAML: for every mutant an answer or a DraLabError."""
    rng = random.Random(seed)
    for number in range(MUTANTS):
        mutant = mutate(rng.choice(objects), rng)
        for reader in READERS[number % len(READERS)], READERS[0]:
            try:
                reader(mutant)
            except DraLabError:
                continue
            except Exception as error:
                message = f"seed {seed}, mutant {number}, {reader.__name__}: {type(error).__name__}: {error}"
                raise AssertionError(message) from error


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("levels", [100, 900, 5000, 100_000])
@pytest.mark.parametrize("place", ["parameters", "unknown"])
def test_bottomless_json_is_read_or_refused(version, levels, place):
    """However deep a List of objects goes, reading and checking end with an answer or a DraLabError."""
    deep = '{"a":' * levels + "1" + "}" * levels
    spec = f'{{"config":[{{"opaque":{{"driver":"d","{place}":{deep}}}}}]}}'
    head = f'"apiVersion":"resource.k8s.io/{version}","kind":"DeviceClass","metadata":{{"name":"c"}}'
    text = f'{{"kind":"List","apiVersion":"v1","items":[{{{head},"spec":{spec}}}]}}'
    for read in (decode_documents, check_text):
        try:
            read(text)
        except DraLabError:
            continue
