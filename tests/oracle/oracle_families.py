"""The families of claims, and how the claims of one or two workloads of a family are drawn at random."""

from __future__ import annotations

import random

from oracle_claims import Apart, Claim, Cores, OneToOne, Partition, Together, WithCores
from oracle_clusters import PROFILES
from oracle_drawings import NODE, NUMAS, ROOTS

FAMILIES = (
    "pairs on a root",
    "pairs on a NUMA node",
    "pairs anywhere",
    "GPUs and NICs together",
    "GPUs and one NIC",
    "one to one on roots",
    "one to one on NUMA nodes",
    "one to one on roots of one NUMA node",
    "two GPUs to one NIC",
    "apart on roots",
    "apart on NUMA nodes",
    "pairs apart on roots",
    "GPU, NIC and CPUs",
    "shares",
    "two shares",
    "partitions",
    "partitions with a NIC",
    "two sizes of partitions",
    "two workloads on roots",
    "two workloads on NUMA nodes",
    "pairs and GPUs",
    "near and far",
)
"""Families of claims whose best packing can be counted."""


def random_claims(rng: random.Random, family: str) -> tuple[Claim, ...]:
    """Draw the claims of one or two workloads."""
    small, cores = rng.choice([1, 1, 2, 3, 4]), rng.choice([1, 2, 3, 5, 8])
    first, second = rng.sample(list(PROFILES), 2)
    drawn: dict[str, tuple[Claim, ...]] = {
        "pairs on a root": (Together(1, 1, ROOTS),),
        "pairs on a NUMA node": (Together(1, 1, NUMAS),),
        "pairs anywhere": (Together(1, 1, NODE),),
        "GPUs and NICs together": (Together(small, rng.choice([1, 2, 3]), rng.choice([ROOTS, NUMAS])),),
        "GPUs and one NIC": (Together(rng.choice([2, 3, 4]), 1, rng.choice([ROOTS, NUMAS])),),
        "one to one on roots": (OneToOne(rng.choice([2, 3, 4, 8])),),
        "one to one on NUMA nodes": (OneToOne(rng.choice([2, 3, 4]), level=NUMAS),),
        "one to one on roots of one NUMA node": (OneToOne(rng.choice([2, 3, 4]), near=True),),
        "two GPUs to one NIC": (OneToOne(rng.choice([1, 2, 3]), j=2),),
        "apart on roots": (Apart(rng.choice([2, 3, 4])),),
        "apart on NUMA nodes": (Apart(2, NUMAS),),
        "pairs apart on roots": (Apart(rng.choice([2, 3]), nics=True),),
        "GPU, NIC and CPUs": (WithCores(rng.choice([1, 1, 2]), 1, cores),),
        "shares": (Cores(cores),),
        "two shares": (Cores(cores), Cores(rng.choice([4, 6, 7, 8]))),
        "partitions": (Partition(first, k=rng.choice([1, 1, 2])),),
        "partitions with a NIC": (Partition(first, True, rng.choice([1, 1, 2])),),
        "two sizes of partitions": (Partition(first), Partition(second)),
        "two workloads on roots": (Together(1, 1, ROOTS), Together(rng.choice([1, 2]), rng.choice([0, 1, 2]), ROOTS)),
        "two workloads on NUMA nodes": (Together(1, 1, NUMAS), Together(rng.choice([2, 3]), rng.choice([0, 1]), NUMAS)),
        "pairs and GPUs": (Together(1, 1, ROOTS), Together(small, 0, rng.choice([NUMAS, NODE]))),
        "near and far": (
            Together(rng.choice([1, 2]), 1, ROOTS),
            Together(rng.choice([1, 2]), 1, rng.choice([NUMAS, NODE])),
        ),
    }
    return drawn[family]
