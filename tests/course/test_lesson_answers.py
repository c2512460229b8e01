"""Drawings of many shapes for every lesson: each correct one passes, and each that is subtly wrong does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dra_lab import check, load_cluster
from dra_lab.course.lesson_run import open_lesson
from dra_lab.manifests.plan_files import drawing_of
from dra_lab.model.sketch import DRAWING_VERSION, Drawing
from dra_lab.sketch.compile import compile_claim

GPU, CARD, CPU, AMD, SHARED = "gpu.nvidia.com", "dranet", "dra.cpu", "gpu.amd.com", "hami-core-gpu.project-hami.io"
RDMA = 'device.attributes["dra.net"].rdma == true'
NUMA, ROOT = "resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"
XID = "gpu.nvidia.com/xid"
WHERE = 'device.attributes["resource.kubernetes.io"]'


def request(name: str, device_class: str, count: int = 1, *selectors: str, **fields: Any) -> dict[str, Any]:
    cel = [{"cel": {"expression": one}} for one in selectors]
    return {"name": name, "exactly": {"deviceClassName": device_class, "count": count, "selectors": cel, **fields}}


def alternatives(name: str, device_class: str, *counts_and_selectors: tuple[int, str]) -> dict[str, Any]:
    """Return a request with alternatives `a`, `b` and so on."""
    first = [
        {
            "name": "abc"[at],
            "deviceClassName": device_class,
            "count": count,
            "selectors": [{"cel": {"expression": cel}}] if cel else [],
        }
        for at, (count, cel) in enumerate(counts_and_selectors)
    ]
    return {"name": name, "firstAvailable": first}


def amounts(**capacities: str) -> dict[str, Any]:
    return {"requests": {name.replace("__", "/").replace("_", "."): amount for name, amount in capacities.items()}}


def link(where: str, *ends: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": f"{where.rpartition(chr(47))[2].lower()}-{ends[0].replace(chr(47), chr(45))}",
        "requests": ends,
        "where": where,
        **fields,
    }


def claim(*parts: dict[str, Any], name: str = "x") -> dict[str, Any]:
    links = [part for part in parts if "where" in part]
    return {"name": name, "requests": [part for part in parts if "where" not in part], "links": links}


def drawing(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"sketch": claim(*parts)}


def gang(*parts: dict[str, Any], others: Sequence[dict[str, Any]] = (), **fields: Any) -> dict[str, Any]:
    """Return the drawing of a workload; with `fields` it is a gang."""
    pod = {"pod": "w", "claims": [claim(*parts, name="w")], **({"gang": fields} if fields else {})}
    return {"workloads": [pod, *others], "editing": "w"}


def read(plain: dict[str, Any]) -> Drawing:
    return drawing_of({"apiVersion": DRAWING_VERSION, "kind": "Drawing", **plain}, "test")


def tolerated(**fields: str) -> dict[str, Any]:
    return {"tolerations": [{"operator": "Exists", **fields}]}


G1, G2, G3 = (request("g", GPU, count) for count in (1, 2, 3))
C1, C2 = (request("c", CARD, count, RDMA) for count in (1, 2))
FOURTEEN = request("p", CPU, capacity=amounts(dra_cpu__cpu="14"))
AMD_PAIRS = [request(f"{kind}{at}", *of) for at in (1, 2, 3) for kind, of in (("g", (AMD,)), ("c", (CARD, 1, RDMA)))]
LINKED = [link("pcieRoot", f"g{at}", f"c{at}") for at in (1, 2, 3)]
HAMI = {"memory": "4Gi", "cores": "10"}
A0 = f'{WHERE}.pcieRoot == "pci0000:a0"'
ONE_TO_ONE = link("pcieRoot", "g", "c", how="pairwise")
PAIRS = G2, C2, ONE_TO_ONE
LEAF = "leaf switch"
RAILS_2, RAILS_3 = (
    f'device.attributes["dra.net"].pciAddress in {json.dumps(some)}'
    for some in (["0000:18:00.0", "0000:40:00.0"], ["0000:18:00.0", "0000:40:00.0", "0000:4f:00.0"])
)
DOMAIN = "NVLink domain"
OTHER_GANG = {"pod": "v", "gang": {"size": 12, "level": DOMAIN}, "claims": [claim(request("g", GPU), name="v")]}

CORRECT: dict[str, list[dict[str, Any]]] = {
    "01": [
        drawing(request("b", CARD), request("a", GPU)),
        drawing(request("a", GPU, 1, f"{WHERE}.numaNode == 1"), request("b", CARD)),
        drawing(request("a", GPU), request("b", CARD), link("numaNode", "a", "b")),
    ],
    "02": [
        drawing(request("c", CARD, 1, 'device.attributes["dra.net"].mtu == 9000')),
        drawing(request("c", CARD, 1, 'device.attributes["dra.net"].rdma')),
        drawing(request("c", CARD, 1, '"rdmaDevice" in device.attributes["dra.net"]')),
    ],
    "03": [
        drawing(request("a", GPU), request("b", GPU), link("numaNode", "a", "b")),
        drawing(G2, link(NUMA, "g")),
        drawing(request("g", GPU, 2, f"{WHERE}.numaNode == 1")),
        drawing(G2, link("numaNode", "g", must=False)),
    ],
    "04": [
        drawing(C1, request("a", GPU), request("b", GPU), link("numaNode", "c", "a", "b")),
        drawing(G2, request("c", CARD, 1, 'device.attributes["dra.net"].mtu == 9000'), link(NUMA, "g", "c")),
        drawing(C1, G2, link("numaNode", "g"), link("numaNode", "c", "g")),
    ],
    "05": [
        drawing(*PAIRS, *LINKED[:2]),
        drawing(C2, G2, link("pcieRoot", "c", "g", how="pairwise")),
        drawing(G2, C2, link(ROOT, "g", "c", how="pairwise")),
    ],
    "06": [
        drawing(FOURTEEN, C1, G1, link("numaNode", "p", "c", "g")),
        drawing(FOURTEEN, C1, G1, link("numaNode", "p", "g"), link("pcieRoot", "c", "g")),
        drawing(FOURTEEN, C1, G1, link("numaNode", "p", "g"), link(NUMA, "c", "p")),
    ],
    "07": [
        drawing(G3, link(NUMA, "g", must=False)),
        drawing(*(request(one, GPU) for one in "abc"), link("numaNode", "a", "b", "c", must=False)),
        drawing(request("a", GPU, 2), request("b", GPU), link("numaNode", "a", "b", must=False)),
        drawing(alternatives("g", GPU, (3, ""), (3, "")), link("numaNode", "g/a")),
    ],
    "08": [
        drawing(request("q", SHARED, capacity=amounts(**HAMI))),
        drawing(request("q", SHARED, capacity=amounts(memory="4400Mi", cores="20"))),
        drawing(request("q", SHARED, 1, f'device.driver == "{SHARED}"', capacity=amounts(memory="4Gi", cores="1"))),
    ],
    "09": [
        drawing(request("g", GPU, 6, **tolerated(key=XID))),
        drawing(request("g", GPU, 6, tolerations=[{"key": XID, "operator": "Equal", "value": "79"}])),
        drawing(request("g", GPU, 6, **tolerated())),
        drawing(request("a", GPU, 5, **tolerated(key=XID)), request("b", GPU, 1, **tolerated(key=XID))),
    ],
    "10": [
        drawing(C1, G1, link(ROOT, "c", "g")),
        drawing(G1, C1, link("pcieRoot", "g", "c", how="pairwise")),
        drawing(request("g", GPU, 1, A0), request("c", CARD, 1, A0)),
    ],
    "11": [
        drawing(C1, G1, link(ROOT, "c", "g")),
        drawing(request("a", GPU), C1, link("pcieRoot", "a", "c")),
        drawing(G1, request("c", CARD, 1, 'device.attributes["dra.net"].rdma'), link("pcieRoot", "g", "c")),
    ],
    "12": [
        gang(request("g", GPU, 4), size=12, level=DOMAIN),
        gang(request("a", GPU), request("b", GPU, 3), size=12, level=DOMAIN),
        gang(request("g", GPU, 4), link("numaNode", "g", must=False), size=12, level=DOMAIN),
    ],
    "13": [
        gang(*PAIRS, size=3, level=LEAF, same=["rail"]),
        gang(*PAIRS, size=4, min=3, level=LEAF, same=["dra.net/ifName"]),
        gang(*PAIRS, size=3, level=LEAF, same=["dra.net/pciAddress", ROOT]),
        gang(G2, request("c", CARD, 2, RAILS_2), ONE_TO_ONE, size=3, level=LEAF),
    ],
    "14": [
        drawing(*AMD_PAIRS, *LINKED, link("numaNode", "g1", "g2", "g3")),
        drawing(*AMD_PAIRS, *LINKED, link("numaNode", "c1", "c2", "c3")),
        drawing(
            request("g", AMD, 3),
            request("c", CARD, 3, RDMA),
            link(ROOT, "g", "c", how="pairwise"),
            link("numaNode", "g", must=False),
        ),
    ],
    "15": [
        drawing(C1, G1, link(ROOT, "c", "g")),
        drawing(G1, C1, link("pcieRoot", "g", "c", how="pairwise")),
        drawing(
            G1,
            request("c", CARD, 1, 'has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma'),
            link("pcieRoot", "g", "c"),
        ),
    ],
}

WRONG: dict[str, dict[str, dict[str, Any]]] = {
    "01": {
        "another device": drawing(G1, request("c", CARD), request("p", CPU)),
        "two cards": drawing(G1, request("c", CARD, 2)),
        "no card": drawing(G1),
        "no device is accepted": drawing(G1, request("c", CARD, 1, "false")),
    },
    "02": {
        "one card only": drawing(request("c", CARD, 1, RDMA, 'device.attributes["dra.net"].ifName == "rdma0"')),
        "the others": drawing(request("c", CARD, 1, 'device.attributes["dra.net"].rdma == false')),
        "fails where the attribute is missing": drawing(
            request("c", CARD, 1, 'device.attributes["dra.net"].rdmaDevice.startsWith("mlx")')
        ),
        "two cards": drawing(request("c", CARD, 2, RDMA)),
        "any card as well": drawing(alternatives("c", CARD, (1, RDMA), (1, ""))),
    },
    "03": {
        "too near": drawing(G2, link("pcieRoot", "g")),
        "a card as well": drawing(G2, request("c", CARD), link("numaNode", "g")),
        "three": drawing(G3, link("numaNode", "g")),
        "apart": drawing(G2, link("numaNode", "g", how="apart")),
    },
    "04": {
        "the card is not linked": drawing(G2, C1, link("numaNode", "g")),
        "any card": drawing(G2, request("c", CARD), link("numaNode", "g", "c")),
    },
    "05": {
        "one pair is not linked": drawing(*PAIRS, LINKED[0]),
        "all together": drawing(G2, C2, link("pcieRoot", "g", "c")),
        "not near enough": drawing(G2, C2, link("numaNode", "g", "c", how="pairwise")),
        "any card": drawing(G2, request("c", CARD, 2), link("pcieRoot", "g", "c", how="pairwise")),
        "three": drawing(G3, request("c", CARD, 3, RDMA), link("pcieRoot", "g", "c", how="pairwise")),
    },
    "06": {
        "one CPU": drawing(request("p", CPU, capacity=amounts(dra_cpu__cpu="1")), C1, G1, link(NUMA, "p", "c", "g")),
        "all CPUs": drawing(request("p", CPU), C1, G1, link(NUMA, "p", "c", "g")),
        "the CPUs are not linked": drawing(FOURTEEN, C1, G1, link("numaNode", "c", "g")),
        "two GPUs": drawing(FOURTEEN, C1, G2, link("numaNode", "p", "c", "g")),
    },
    "07": {
        "a demand": drawing(G3, link("numaNode", "g")),
        "nothing": drawing(G3),
        "apart": drawing(G3, link("numaNode", "g", must=False, how="apart")),
        "two of three": drawing(request("a", GPU, 2), request("b", GPU), link("numaNode", "a", must=False)),
        "another place": drawing(G3, link("pcieRoot", "g", must=False)),
        "other devices": drawing(G3, request("c", CARD), link("numaNode", "c", must=False)),
        "two": drawing(G2, link("numaNode", "g", must=False)),
    },
    "08": {
        "all cores": drawing(request("q", SHARED, capacity=amounts(memory="4Gi"))),
        "too little": drawing(request("q", SHARED, capacity=amounts(memory="1Gi", cores="10"))),
        "too much": drawing(request("q", SHARED, capacity=amounts(memory="5Gi", cores="20"))),
        "another class": drawing(request("q", GPU, capacity=amounts(memory="4Gi"))),
        "two": drawing(request("q", SHARED, 2, capacity=amounts(memory="4Gi", cores="5"))),
    },
    "09": {
        "another value": drawing(request("g", GPU, 6, tolerations=[{"key": XID, "operator": "Equal", "value": "48"}])),
        "another effect": drawing(request("g", GPU, 6, **tolerated(key=XID, effect="NoExecute"))),
        "five": drawing(request("g", GPU, 5)),
        "for an administrator": drawing(request("g", GPU, 6, adminAccess=True)),
    },
    "10": {
        "not near enough": drawing(C1, G1, link("numaNode", "c", "g")),
        "another device": drawing(C1, G1, request("p", CPU), link("pcieRoot", "c", "g")),
        "any card": drawing(request("c", CARD), G1, link("numaNode", "c", "g")),
    },
    "11": {
        "no link": drawing(C1, G1),
        "two pairs": drawing(C2, G2, link("pcieRoot", "c", "g", how="pairwise")),
        "any card": drawing(request("c", CARD), G1, link("pcieRoot", "c", "g")),
    },
    "12": {
        "no level": gang(request("g", GPU, 4), size=12),
        "eleven": gang(request("g", GPU, 4), size=11, level=DOMAIN),
        "one node": gang(request("g", GPU, 4), size=12, level="host"),
        "a level with both racks": gang(request("g", GPU, 4), size=12, level="zone", hierarchy="nvl72"),
        "a preferred level": gang(request("g", GPU, 4), size=12, preferLevel=DOMAIN),
        "starts with two": gang(request("g", GPU, 4), size=12, min=2, level=DOMAIN),
        "two GPUs": gang(request("g", GPU, 2), size=12, level=DOMAIN),
        "another workload": gang(request("g", GPU, 4), others=[OTHER_GANG]),
    },
    "13": {
        "no link between the pods": gang(*PAIRS, size=3, level=LEAF),
        "the same NUMA node": gang(*PAIRS, size=3, level=LEAF, same=[NUMA]),
        "more rails than NICs": gang(G2, request("c", CARD, 2, RAILS_3), ONE_TO_ONE, size=3, level=LEAF),
        "two pods": gang(*PAIRS, size=2, level=LEAF, same=["rail"]),
        "no leaf switch": gang(*PAIRS, size=3, same=["rail"]),
        "NICs elsewhere": gang(G2, C2, size=3, level=LEAF, same=["rail"]),
    },
    "14": {
        "on one NUMA node only": drawing(request("g", AMD, 3), request("c", CARD, 3, RDMA), link("numaNode", "g", "c")),
        "pairs only": drawing(*AMD_PAIRS, *LINKED),
    },
    "15": {
        "on one PCIe root by luck": drawing(G1, C1, link("numaNode", "g", "c")),
        "no link": drawing(G1, C1),
        "one PCIe root only": drawing(request("g", GPU, 1, A0), C1, link("pcieRoot", "g", "c")),
        "broken GPUs as well": drawing(request("g", GPU, 1, **tolerated()), C1, link("pcieRoot", "g", "c")),
    },
}


def cases(table: dict[str, Any]) -> list[Any]:
    pairs = ((name, enumerate(one) if isinstance(one, list) else one.items()) for name, one in table.items())
    return [pytest.param(name, answer, id=f"{name} {of}") for name, some in pairs for of, answer in some]


@pytest.mark.some(10)
@pytest.mark.parametrize(("lesson", "answer"), cases(CORRECT))
def test_any_correct_drawing_passes(lesson: str, answer: dict[str, Any], tmp_path):
    """Other names, orders, numbered requests, selectors and alternatives pass if kube-scheduler does what is asked."""
    judged = open_lesson(lesson, tmp_path).check(read(answer))
    assert [row.text for row in judged.rows if not row.kept] == []
    assert judged.passed


@pytest.mark.some(12)
@pytest.mark.parametrize(("lesson", "answer"), cases(WRONG))
def test_a_subtly_wrong_drawing_gets_a_need_that_is_not_met(lesson: str, answer: dict[str, Any], tmp_path):
    judged = open_lesson(lesson, tmp_path).check(read(answer))
    assert not judged.passed
    assert [row.text for row in judged.rows if not row.kept]


def test_a_preference_is_written_as_alternatives():
    cluster = load_cluster("sample:two-sockets")
    spec = compile_claim(read(CORRECT["07"][0]).sketch, cluster, cluster.target_release(None)).spec
    (only,), (near,) = spec.devices.requests, spec.devices.constraints
    assert [one.name for one in only.first_available] == ["aligned", "any"]
    assert near.requests == ("g/aligned",)


def test_the_final_exercise_says_what_the_planner_finds():
    cluster = load_cluster("sample:trouble")
    found = " ".join(f"{one.subject} {one.message}" for one in check(cluster))
    assert [node for node in cluster.node_names if node not in found] == ["n1-healthy", "n5-missing-attributes"]
