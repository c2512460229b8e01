"""Fleets of pairs that were called full, proven, although more pods fit: the reported files, and our own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle_cases import Case
from oracle_claims import Together
from oracle_clusters import node_of
from oracle_drawings import ROOTS

from dra_lab.cli import main

SHARED = Path(__file__).parents[2].parent / "shared"
FILES = (
    "real-files/repro-fleet-3111-1111.txt",
    "real-files/topology/nvidia-smi/dell-h100-12nic-mooncake-2049.txt",
)

NODES = {
    "3111-1111": ([1] * 8, [3, 1, 1, 1, 1, 1, 1, 1]),
    "3111-3111": ([1] * 8, [3, 1, 1, 1, 3, 1, 1, 1]),
    "six roots": ([0, 1, 0, 1, 2, 1], [3, 3, 0, 1, 2, 1]),
    "eleven roots": ([1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 1, 1, 3, 1, 3]),
    "fifteen roots": ([2, 1, 2, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 1, 1, 1, 0, 2, 0, 0, 1, 4, 3, 2, 1]),
}
"""GPUs and NICs on each PCIe root of a node; the first half of the roots is on one NUMA node, the rest on the other."""


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_every_pair_that_counting_finds_is_placed(name, more):
    """On each root as many pairs fit as it has of the rarer device; no plan that places fewer is called proven."""
    gpus, nics = NODES[name]
    node = node_of(gpus, nics, [int(2 * at >= len(gpus)) for at in range(len(gpus))])
    pairs = sum(map(min, gpus, nics))
    case = Case(name, [node], (Together(1, 1, ROOTS),), (pairs + more,))
    case.ask_after(case.ask_fleet())
    assert case.truth.total(0) == pairs
    assert case.wrong == []


@pytest.mark.parametrize("file", FILES)
def test_reported_files_place_all_eight_pairs(file, capsys):
    """`plan` of eight pairs on the reported servers places all eight, and does not call fewer proven."""
    if not (SHARED / file).exists():
        pytest.skip(f"{file} is not there")
    claim = SHARED / "real-files/repro-pair-root.yaml"
    status = main(["plan", "--topology", str(SHARED / file), "--claim", str(claim), "--replicas", "8"])
    said = capsys.readouterr().out
    assert "8 of 8 replicas placed" in said
    assert "more, proven" not in said.replace("0 more, proven", "")
    assert status == 0
