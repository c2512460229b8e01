"""Broken documents give an answer or one of our errors, never another exception."""

import random

import pytest
from mutated_documents import READERS, mutate, small_objects

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import DraLabError
from dra_lab.manifests.documents import decode_documents

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
