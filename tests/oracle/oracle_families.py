"""The families of claims, and how the claims of one or two workloads of a family are drawn at random."""

from __future__ import annotations

import random

from oracle_claims import Apart, Claim, Cores, OneToOne, Partition, Together, WithCores
from oracle_clusters import PROFILES
from oracle_drawings import NODE, NUMAS, ROOTS, Ask, Drawn, link
from random_devices import CPU, GPU, NIC

from dra_lab.model.sketch import How

COUNTED = (
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
"""Families whose packing is counted."""

MODELLED = (
    "GPUs and NICs anywhere",
    "one to one, near if possible",
    "together if possible",
    "pair and GPUs on a NUMA node",
    "apart on roots of a NUMA node",
    "pairs with CPUs",
    "one to one and pairs",
    "apart and pairs",
    "several partitions",
    "any links",
)
"""Families whose packing is modelled: CBC solves the model."""

FAMILIES = COUNTED + MODELLED


def most_nodes(family: str) -> int:
    """Return how many nodes a cluster of a family has at most."""
    return 4 if family in MODELLED else 50


def random_claims(rng: random.Random, family: str) -> tuple[Claim | Drawn, ...]:
    """Draw the claims of one or two workloads."""
    return (_modelled if family in MODELLED else _counted)(rng, family)


def _counted(rng: random.Random, family: str) -> tuple[Claim, ...]:
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


def _modelled(rng: random.Random, family: str) -> tuple[Drawn, ...]:
    two, level = rng.choice([1, 2, 2]), rng.choice([ROOTS, NUMAS])
    gpus, nics = Ask("gpu", GPU, 2), Ask("nic", NIC, 2)
    cpu = Ask("cpu", CPU, cores=rng.choice([2, 5, 8]))
    one_to_one = link(level, "gpu", "nic", how=How.PAIRWISE)
    maybe = rng.choice([How.TOGETHER, How.PAIRWISE])
    apart = link(level, "gpu", how=How.APART, must=rng.random() < 0.5)
    part = Ask("gpu", GPU, two, rng.choice(list(PROFILES)))
    drawn: dict[str, tuple[Drawn, ...]] = {
        "GPUs and NICs anywhere": (Drawn((gpus, Ask("nic", NIC, two))),),
        "one to one, near if possible": (Drawn((gpus, nics), (one_to_one, link(NUMAS, "gpu", "nic", must=False))),),
        "together if possible": (
            Drawn((gpus, Ask("nic", NIC, two)), (link(level, "gpu", "nic", how=maybe, must=False),)),
        ),
        "pair and GPUs on a NUMA node": (
            Drawn(
                (Ask("gpu", GPU), Ask("nic", NIC), Ask("more", GPU, two)),
                (link(ROOTS, "gpu", "nic"), link(NUMAS, "gpu", "more")),
            ),
        ),
        "apart on roots of a NUMA node": (
            Drawn((gpus, Ask("nic", NIC)), (link(ROOTS, "gpu", how=How.APART), link(NUMAS, "gpu", "nic"))),
        ),
        "pairs with CPUs": (Drawn((gpus, nics, cpu), (one_to_one, link(NUMAS, rng.choice(["gpu", "nic"]), "cpu"))),),
        "one to one and pairs": (Drawn((gpus, nics), (one_to_one,)), Together(1, 1, rng.choice([NUMAS, NODE])).drawn()),
        "apart and pairs": (Drawn((gpus,), (apart,)), Together(1, 1, level).drawn()),
        "several partitions": (Drawn((part, Ask("nic", NIC)), (link(level, "gpu", "nic", must=rng.random() < 0.5),)),),
        "any links": (_any(rng),),
    }
    return drawn[family]


def _any(rng: random.Random) -> Drawn:
    """Draw one to three requests and up to three links; only one of them is one to one, so that they form no ring."""
    drivers = [GPU, rng.choice([GPU, NIC]), rng.choice([NIC, CPU])][: rng.choice([1, 2, 3, 3])]
    asks = [
        Ask(f"r{at}", driver, 1 if driver == CPU or at > 1 else rng.choice([1, 2, 2, 3]), cores=4 * (driver == CPU))
        for at, driver in enumerate(drivers)
    ]
    links = {}
    for number in range(rng.choice([0, 1, 2, 3])):
        how = How.PAIRWISE if number == 0 and len(asks) > 1 else rng.choice([How.TOGETHER, How.APART])
        tied = rng.sample(asks, 2 if how is How.PAIRWISE else rng.randint(1, len(asks)))
        level = NUMAS if any(ask.driver == CPU for ask in tied) else rng.choice([ROOTS, NUMAS])
        made = link(level, *sorted(ask.name for ask in tied), how=how, must=rng.random() < 0.6)
        links[made.name] = made
    return Drawn(tuple(asks), tuple(links.values()))
