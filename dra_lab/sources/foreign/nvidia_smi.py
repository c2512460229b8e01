"""`nvidia-smi topo -m` (and `-mp`) text: which GPUs and NICs are near each other, without addresses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.quantity import unsigned_number
from dra_lab.sources.foreign.inventory import MAX_BYTES, CpuNode, Fact, Inventory, InventoryDevice, list_numbers

MAX_COLUMNS = 512

SAME_SWITCH = ("PIX",)
SAME_ROOT = ("PIX", "PXB", "PHB")
SAME_NODE = (*SAME_ROOT, "NODE")
"""The letters, by NVIDIA's own legend, of devices with one switch, one host bridge, one NUMA node between them."""

# SOC is how tools before 2017 spelt SYS.
_LETTERS = (*SAME_NODE, "SYS", "SOC", "X")
NVLINK = re.compile(r"NV\d+", re.ASCII)
# the escape itself is often lost in copies, or spelt ^[
_ESCAPES = re.compile(r"(?:\x1b|\^\[)?\[[0-9;]{0,8}m|\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
_ADVICE = "save it again with: nvidia-smi topo -m > topo.txt"
_OTHER_TABLE = re.compile(r"\d+|XGMI|PCIE|True|False|MX|ETH|MTLK", re.ASCII).fullmatch
"""Cells of `rocm-smi --showtopo` (weights, hops, link types, access), `mx-smi topo -m` and `mthreads-gmi topo -m`."""
_TAIL = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_LEGEND_ROW = re.compile(r"\s*(NIC\d+)\s*:\s*(\S+)", re.ASCII)


def looks_like_topo(text: str) -> bool:
    """Say whether a text holds the matrix of `nvidia-smi topo -m`."""
    return any(_columns(line) is not None for line in text[: 2**16].splitlines())


@dataclass(slots=True)
class Matrix:
    """The cells of the matrix: letters by row, the columns after them by row and heading, lines, the NIC legend."""

    source: str
    names: tuple[str, ...]
    tail: tuple[str, ...]
    header: int
    rows: dict[str, Sequence[str]] = field(default_factory=dict)
    tails: dict[str, Mapping[str, str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    legend: dict[str, Fact] = field(default_factory=dict)

    def origin(self, row: str, column: str = "") -> Origin:
        """Return the place of a row, or of its cell in a column."""
        return Origin(self.source, object=f"row {row}", path=f"column {column}" if column else "", line=self.lines[row])

    def refuse(self, what: str, line: int, advice: str = _ADVICE) -> NoReturn:
        """Raise SourceError with the line."""
        raise SourceError(f"{what}; {advice}", origin=Origin(self.source, line=line))


def _columns(line: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return (device columns, columns after them) of a header line, None for another line."""
    plain = _ESCAPES.sub("", line)
    tail = tuple(name for name in _TAIL if name in plain)
    if tail:
        # later versions of the tool may add columns at the end, as they did before
        tail += tuple(plain.rpartition(tail[-1])[2].split())
        plain = plain.partition(tail[0])[0]
    names = tuple(plain.split())
    if "GPU0" not in names or len(set(names)) != len(names) or any(_is_letter(name) for name in names):
        return None
    return names, tail


def _is_letter(cell: str) -> bool:
    return cell in _LETTERS or NVLINK.fullmatch(cell) is not None


def read_matrix(text: str, source: str) -> Matrix:
    """Return the matrix of a text. Raises SourceError where there is none, or where it is cut or has other letters."""
    matrix: Matrix | None = None
    in_matrix = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = _ESCAPES.sub("", line).split()
        if matrix is None:
            found = _columns(line)
            if found is not None:
                if len(found[0]) > MAX_COLUMNS:
                    what = f"the matrix has {len(found[0])} columns; the limit is {MAX_COLUMNS}"
                    raise SourceError(what, origin=Origin(source, line=number))
                matrix, in_matrix = Matrix(source, *found, number), True
            continue
        if in_matrix and cells and cells[0] in matrix.names:
            _row(matrix, cells, number)
        elif cells and (legend := _LEGEND_ROW.match(_ESCAPES.sub("", line))) and legend[1] in matrix.names:
            in_matrix = False
            matrix.legend[legend[1]] = Fact(legend[2], Origin(source, object=f"NIC legend {legend[1]}", line=number))
        elif cells and cells[0].startswith("Legend"):
            in_matrix = False
        elif cells and in_matrix and len(matrix.rows) < len(matrix.names):
            what = f"{' '.join(cells)[:40]!r} is between the rows and is not a row, so lines were wrapped or mixed"
            matrix.refuse(what, number)
    if matrix is None:
        raise SourceError(
            "it contains no matrix with a column GPU0; write the file with: nvidia-smi topo -m > topo.txt",
            origin=Origin(source),
        )
    missing = [name for name in matrix.names if name not in matrix.rows]
    if missing:
        matrix.refuse(
            f"the matrix has a column but no row for {', '.join(missing)}, so it is incomplete", matrix.header
        )
    return matrix


def _row(matrix: Matrix, cells: Sequence[str], line: int) -> None:
    name, letters, rest = cells[0], cells[1 : len(matrix.names) + 1], cells[len(matrix.names) + 1 :]
    if name in matrix.rows:
        matrix.refuse(f"the row {name} appears twice", line)
    if len(letters) < len(matrix.names):
        matrix.refuse(f"the row {name} has {len(letters)} of {len(matrix.names)} cells", line)
    wrong = next((cell for cell in letters if not _is_letter(cell)), None)
    if wrong is not None:
        what = f"{wrong[:40]!r} in the row {name} is none of NV#, {', '.join(_LETTERS)}"
        # tools of other vendors have rows of the same names
        advice = "this table is from another tool; give lstopo topology.xml" if _OTHER_TABLE(wrong) else _ADVICE
        matrix.refuse(what, line, advice)
    if len(rest) > len(matrix.tail):
        matrix.refuse(f"the row {name} has more cells than the header has columns", line)
    matrix.rows[name] = letters
    # NIC rows often lack the last columns; what is missing is not known
    matrix.tails[name] = {column: cell for column, cell in zip(matrix.tail, rest, strict=False) if cell != "N/A"}
    matrix.lines[name] = line


def check_matrix(matrix: Matrix) -> None:
    """Raise SourceError, with the line, for a matrix that is not symmetric or has an X outside the diagonal."""
    at = {name: index for index, name in enumerate(matrix.names)}
    for name, letters in matrix.rows.items():
        for other, letter in zip(matrix.names, letters, strict=True):
            back = matrix.rows[other][at[name]]
            if (name == other) != (letter == "X"):
                matrix.refuse(f"the row {name} has {letter} in the column {other}", matrix.lines[name])
            if spelt(letter) != spelt(back):
                what = f"{name} is {letter} to {other}, but {other} is {back} to {name} (line {matrix.lines[other]})"
                matrix.refuse(what, matrix.lines[name])


def spelt(letter: str) -> str:
    """Return a letter in today's spelling."""
    return "SYS" if letter == "SOC" else letter


FORMAT = "nvidia-smi topo -m"

_GPU = re.compile(r"GPU\d+", re.ASCII)
_NODES_OF_A_GPU = 8
"""NUMA nodes that NVIDIA's driver makes of one GPU's memory: one, and one for each of seven MIG instances."""


def read_topo(text: str, source: str) -> Inventory:
    """Return the content of the matrix: GPUs, NICs, which share a PCIe root or switch, and their NUMA nodes.

    PIX, PXB and PHB say that two devices share a root, PIX that they share the nearest switch; the root's name is not
    in the text (`rootGroup`). A NIC whose row lacks its NUMA node has that of the devices to which it is tied so, or by
    NODE. NVLink letters hide how two GPUs are tied by PCIe. A list of CPUs that the tool cut is not used. A NUMA
    affinity may list the memory of GPUs too (GB200, GH200): only the node with CPUs counts (`_node_with_cpus`). If
    several nodes may have CPUs, the NUMA node is unknown, and a Finding reports it.
    Raises SourceError with the line where the matrix is incomplete or contradicts itself.
    """
    if len(text) > MAX_BYTES:
        raise SourceError(f"it has {len(text):,} characters; the limit is {MAX_BYTES:,}", origin=Origin(source))
    matrix = read_matrix(text, source)
    check_matrix(matrix)
    roots, switches = _groups(matrix, SAME_ROOT), _groups(matrix, SAME_SWITCH)
    with_cpus = _nodes_with_cpus(matrix)
    facts_of = {name: _facts(matrix, name, with_cpus[name]) for name in matrix.names}
    numa_of = {name: facts.get("numaNode") for name, facts in facts_of.items()}
    for name, facts in facts_of.items():
        for key, groups in (("rootGroup", roots), ("switch", switches)):
            if name in groups:
                first, other = groups[name]
                facts[key] = Fact(f"of {first}", matrix.origin(name, other))
        # else that of the devices which the matrix puts on the same node, if they agree
        beside = zip(matrix.names, matrix.rows[name], strict=True)
        near = [fact for other, letter in beside if letter in SAME_NODE and (fact := numa_of[other]) is not None]
        if numa_of[name] is None and len({fact.value for fact in near}) == 1:
            facts["numaNode"] = near[0]
    devices = [
        InventoryDevice("gpu" if _GPU.fullmatch(name) else "nic", name, matrix.origin(name), facts)
        for name, facts in facts_of.items()
    ]
    findings = list(_findings(matrix, roots, with_cpus, numa_of))
    return Inventory(source, FORMAT, tuple(devices), _cpu_nodes(matrix, numa_of, findings), tuple(findings))


def _findings(
    matrix: Matrix,
    roots: Mapping[str, tuple[str, str]],
    with_cpus: Mapping[str, tuple[int, ...]],
    numa_of: Mapping[str, Fact | None],
) -> Iterator[Finding]:
    rows: dict[tuple[int, ...], list[str]] = {}
    for name, nodes in with_cpus.items():
        if len(nodes) > 1:
            rows.setdefault(nodes, []).append(name)
    for names in rows.values():
        message = (
            f"the NUMA affinity is {matrix.tails[names[0]]['NUMA Affinity'][:40]}, which are several nodes that may "
            "all have CPUs, so the NUMA node is not known"
        )
        advice, where = "Give an hwloc XML instead: lstopo topology.xml", matrix.origin(names[0], "NUMA Affinity")
        yield Finding("topology-several-numa-nodes", Severity.WARNING, ", ".join(names), message, advice, where)
    for name, (_, other) in roots.items():
        here, there = (None if fact is None else fact.value for fact in (numa_of[name], numa_of[other]))
        if here is not None and there is not None and here != there and name < other:
            message = f"{name} and {other} share a PCIe root, but their NUMA affinity is {here} and {there}"
            advice = "One of the two is wrong. The firmware of virtual machines often reports such values."
            where = matrix.origin(name, "NUMA Affinity")
            yield Finding("topology-contradiction", Severity.WARNING, name, message, advice, where)
    linked = (name for name in matrix.names if any(NVLINK.fullmatch(letter) for letter in matrix.rows[name]))
    hidden = [name for name in linked if _GPU.fullmatch(name) and name not in roots]
    if hidden:
        message = "the table shows NVLink for these GPUs, so it does not show whether they share a PCIe root"
        advice = "Write the file with: nvidia-smi topo -mp, or give an hwloc XML instead."
        where = Origin(matrix.source, line=matrix.header)
        yield Finding("topology-hidden-by-nvlink", Severity.NOTE, ", ".join(hidden), message, advice, where)


def _groups(matrix: Matrix, letters: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return, for devices tied to others by such letters, (first of the group, the device it is tied to).

    Refuses a matrix in which two devices of one group are far from each other.
    """
    group: dict[str, list[str]] = {name: [name] for name in matrix.names}
    tied: dict[str, str] = {}
    for name, row in matrix.rows.items():
        for other, letter in zip(matrix.names, row, strict=True):
            if letter in letters:
                tied.setdefault(name, other)
                if group[name] is not group[other]:
                    joined = group[name] + group[other]
                    group.update(dict.fromkeys(joined, joined))
    if letters == SAME_ROOT:
        for name, row in matrix.rows.items():
            for other, letter in zip(matrix.names, row, strict=True):
                if spelt(letter) in ("NODE", "SYS") and group[name] is group[other]:
                    what = f"{name} is {letter} to {other}, but other entries put both on one PCIe root"
                    matrix.refuse(what, matrix.lines[name])
    order = {name: index for index, name in enumerate(matrix.names)}
    first = {id(members): min(members, key=order.__getitem__) for members in group.values()}
    return {name: (first[id(group[name])], other) for name, other in tied.items()}


def _nodes_with_cpus(matrix: Matrix) -> dict[str, tuple[int, ...]]:
    """Return the NUMA nodes of each row that have CPUs, as far as the rows show which have none."""
    nodes: dict[str, tuple[int, ...]] = {}
    for name in matrix.names:
        text = matrix.tails[name].get("NUMA Affinity", "")
        listed = list_numbers(text) if text else ()
        if listed is None:
            matrix.refuse(f"{text[:40]!r} is not a list of NUMA nodes", matrix.lines[name])
        nodes[name] = listed
    cpus = {name: tail.get("CPU Affinity", "") for name, tail in matrix.tails.items()}
    alone = {(found[0], cpus[name]) for name, found in nodes.items() if len(found) == 1}
    memory = (unsigned_number(tail.get("GPU NUMA ID", "")) for tail in matrix.tails.values())
    lowest = min((number for number in memory if number is not None), default=None)
    for name, found in nodes.items():
        if len(found) > 1:
            host = tuple(node for node in found if lowest is None or node < lowest)
            same = tuple(node for node in host if (node, cpus[name]) in alone)
            nodes[name] = same if len(same) == 1 else _node_with_cpus(host, {node for node, _ in alone})
    return nodes


def _node_with_cpus(nodes: tuple[int, ...], alone: Collection[int]) -> tuple[int, ...]:
    """Return the node with CPUs of a list, all of the list if that is not certain.

    `alone` are the nodes that a row names alone, so they have CPUs. The driver of a GPU with memory of its own numbers
    eight nodes for each GPU, behind all nodes with CPUs, and the list may lack the first of the eight (GB200: `0,2-17`,
    or `0,3-9,11-17`; GH200: `0-8`).
    """
    if len(nodes) < 2:
        return nodes
    first, *others = nodes
    ends = [node for node in others if not {node - 1, node + 1} <= set(others)]
    in_runs = all({node - 1, node + 1} & set(others) for node in ends)
    behind = in_runs if others[0] > first + 1 else len(ends) == 2 and len(others) % _NODES_OF_A_GPU == 0
    return (first,) if behind and not set(others) & set(alone) else nodes


def _facts(matrix: Matrix, name: str, with_cpus: tuple[int, ...]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    if _GPU.fullmatch(name):
        facts["index"] = Fact(int(name[3:]), matrix.origin(name))
        facts["vendor"] = Fact("10de", matrix.origin(name))
    elif name in matrix.legend:
        facts["rdmaDevice"] = matrix.legend[name]
    elif not re.fullmatch(r"NIC\d+", name):
        # tools before 2021 head the column with the name itself
        facts["rdmaDevice"] = Fact(name, matrix.origin(name))
    if len(with_cpus) == 1:
        facts["numaNode"] = Fact(with_cpus[0], matrix.origin(name, "NUMA Affinity"))
    return facts


def _cpu_nodes(matrix: Matrix, numa_of: Mapping[str, Fact | None], findings: list[Finding]) -> tuple[CpuNode, ...]:
    """Return the NUMA nodes that are named, with their CPUs where the list was not cut and all rows agree."""
    rows: dict[int, list[str]] = {}
    for name, fact in numa_of.items():
        if fact is not None:
            rows.setdefault(int(fact.value), []).append(name)
    nodes = []
    for numa, names in sorted(rows.items()):
        texts = {text: name for name in reversed(names) if (text := matrix.tails[name].get("CPU Affinity", ""))}
        # the tool cuts long lists: then it ends early, or has several single numbers and no range ("0,2,4,6,8,10")
        broken = (
            name
            for text, name in texts.items()
            if list_numbers(text) is None or text.endswith((",", "-")) or ("-" not in text and text.count(",") >= 2)
        )
        cut = next(broken, "")
        if cut:
            message = "the list of its CPUs is incomplete or broken in this text, so the number of CPUs is not known"
            advice, where = "Give an hwloc XML instead: lstopo topology.xml", matrix.origin(cut, "CPU Affinity")
            findings.append(Finding("topology-cpus-cut", Severity.NOTE, f"NUMA node {numa}", message, advice, where))
        # rows of one node that differ list the neighbours of a device, not the CPUs of the node
        cpus = list_numbers(next(iter(texts))) if len(texts) == 1 and not cut else None
        nodes.append(CpuNode(numa, matrix.origin(next(iter(texts.values()), names[0]), "CPU Affinity"), cpus))
    return tuple(nodes)
