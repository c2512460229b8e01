"""Documents with something broken in them: what a fuzzer feeds to everything that reads documents."""

import copy
import gzip
import json
import random
from itertools import islice
from pathlib import Path

from dra_lab.checks.document_checks import RECORDED, admit, check_object, check_text
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.versions import from_v1beta1, to_v1beta1
from dra_lab.manifests.yaml_text import dump_yaml

CASES = Path(__file__).parent / "conformance" / "validation.ndjson.gz"

WEIRD = (
    None, True, False, 0, -1, 1, 2**63, -(2**63), 1.5, float("inf"), "", " ", "a", "A" * 300, "a/b/c", "ü\ud800",
    "\x00", "1Gi",
    "1e999", "9" * 400, "1e-999", "2026-02-30T00:00:00Z", "true", "(", 'device.driver == "x"', "=" * 11_000,
    [], {}, [None], [[]], {"": None}, {"a": {}}, [{}], ["a", "a"], [1, "a"], {"value": "ten"}, {1: 2}, b"bytes",
    [{"name": "a"}] * 200, {str(i): {"int": i} for i in range(100)},
)  # fmt: skip
KEYS = ("name", "exactly", "firstAvailable", "basic", "devices", "spec", "", "a/b/c", "requests", "items", "kind", 7)


def small_objects(count):
    """The first objects of the recorded cases that are not large."""
    with gzip.open(CASES) as lines:
        objects = [json.loads(line)["object"] for line in islice(lines, count)]
    return [document for document in objects if len(json.dumps(document)) < 20_000]


def deep(levels):
    """A value nested so deep that careless recursion ends."""
    value = []
    for _ in range(levels):
        value = [value] if levels % 2 else {"spec": value}
    return value


def places(value, found):
    """All containers of a value, the value itself first."""
    found.append(value)
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            places(item, found)
    return found


def mutate(document, rng: random.Random):
    """A copy of a document with one to four changes: values replaced, removed, added, moved, deeply nested."""
    result = copy.deepcopy(document)
    for _ in range(rng.randint(1, 4)):
        target = rng.choice(places(result, []))
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        value = copy.deepcopy(rng.choice(WEIRD)) if rng.random() < 0.97 else deep(rng.choice((50, 400, 3001)))
        action = rng.random()
        if keys and action < 0.6:
            target[rng.choice(keys)] = value
        elif keys and action < 0.75:
            target.pop(rng.choice(keys))
        elif isinstance(target, dict):
            target[rng.choice(KEYS)] = value
        else:
            target.append(value)
        if value is not None and isinstance(value, dict | list):
            return result
    return result


def read_admit(mutant):
    answer = admit(mutant, RECORDED)
    assert answer.accepted == (answer.stored is not None)
    assert answer.accepted == (not answer.errors)


def read_findings(mutant):
    check_object(mutant)


def read_upgrade(mutant):
    to_v1beta1(from_v1beta1(mutant))


def read_json(mutant):
    try:
        text = json.dumps(mutant)
    except (TypeError, RecursionError):
        return
    decode_documents(text)
    check_text(text)


def read_yaml(mutant):
    try:
        text = dump_yaml(mutant)
    except (RecursionError, UnicodeEncodeError):  # no text of this kind exists
        return
    decode_documents(text)
    check_text(text)


READERS = (read_admit, read_findings, read_upgrade, read_json, read_yaml)
