"""Under pseudonyms: a secret planted in every field of every kind, and what may stay said field by field."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_lab.model.cluster import Cluster
from dra_lab.model.queues import Configuration
from dra_lab.sources import load_texts
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.snapshots import make_snapshot

DOCUMENTS = tuple(yaml.safe_load_all(Path(__file__).with_name("planted.yaml").read_text(encoding="utf-8")))
"""A document of every kind that is read, with a word in every field that may hold a secret."""
NAMED = ("@node", "@pool", "@claim", "@pod", "@team", "@entry")
"""Words that stand in several places: planted words too, the same everywhere."""
WORD = re.compile(r"@[a-z]+|[?]")


def planted() -> tuple[list[Any], dict[str, str]]:
    """The documents, with a word of its own in the place of every `?`, and where each word was planted."""
    count, where = itertools.count(1), {}

    def word(path: str) -> str:
        made = f"zorq{next(count):04d}x"
        where[made] = path
        return made

    names = {name: word(name) for name in NAMED}

    def fill(value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {fill(key, path): fill(item, f"{path}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item, f"{path}[]") for item in value]
        if not isinstance(value, str):
            return value
        return WORD.sub(lambda found: names[found[0]] if found[0] in names else word(path), value)

    return [fill(document, document["kind"]) for document in DOCUMENTS], where


@pytest.fixture
def cluster():
    documents, _ = planted()
    return load_texts({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})})


NEVER = re.compile(
    r"annotations|managedFields|finalizers|ownerReferences|parameters|env|image|command|args|(?<!meta)data\b|networkData|message"
    r"|reason|machineID|addresses|systemUUID|[a-z]+IP\b|(?<!^Node\.metadata\.)labels"
)


def test_no_secret_leaves_in_a_snapshot_under_the_real_names(cluster):
    """Annotations, labels except those of nodes, opaque parameters, environment and data of devices stay behind."""
    _, where = planted()
    made = make_snapshot(cluster)
    plain = b"\n".join(made.files.values()).decode()
    kept = [path for word, path in where.items() if word in plain]
    assert len(kept) > 40
    assert [path for path in kept if NEVER.search(path)] == []
    assert made.info.left_out["config"] == 3


def test_nothing_that_was_planted_is_left(cluster):
    """No planted text is left in names, labels, annotations, messages, parameters, literals, comments or references."""
    _, where = planted()
    assert [finding for finding in cluster.findings if finding.rule != "claims-one-namespace"] == []
    hidden = anonymise(cluster)
    made = make_snapshot(hidden.cluster, replaced=hidden.counts)
    text = b"\n".join(made.files.values()).decode()
    assert {word: path for word, path in where.items() if word in text} == {}
    assert "628944397725" not in text


def test_what_refers_to_each_other_still_does(cluster):
    """A pod's entries, the claim that it uses and the health of its devices have one name each, wherever they stand."""
    hidden = anonymise(cluster).cluster
    [pod] = hidden.pods
    [claim] = hidden.claims
    [entry, _] = pod.spec.resource_claims
    [status] = pod.status.container_statuses
    [health] = status.allocated_resources_status
    assert entry.resource_claim_name == claim.metadata.name
    assert pod.spec.containers[0].resources.claims[0].name == entry.name
    assert pod.status.resource_claim_statuses[0].name == entry.name
    assert health.name == f"claim:{entry.name}/nic"
    assert claim.status.reserved_for[0].name == pod.metadata.name
    assert hidden.nodes[0].status.node_info.kubelet_version == "v1.36.2"


def test_gates_of_kueue_stay():
    """Answers about Kueue depend on them; names that are no gates of it are left out."""
    gates = {"KueueDRADeviceFeasibility": True, "PlantedByAcme": True}
    (found,) = anonymise(Cluster(queues=(Configuration(feature_gates=gates),))).cluster.queues
    assert found.feature_gates == {"KueueDRADeviceFeasibility": True}
