"""`nvidia-smi topo -m` (and `-mp`) text: which GPUs and NICs are near each other, without addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.sources.foreign.inventory import MAX_BYTES, CpuNode, Fact, Inventory, InventoryDevice, list_numbers

FORMAT = "nvidia-smi topo -m"
MAX_COLUMNS = 512

# NVIDIA's own legend; SOC is how tools before 2017 spelt SYS.
_SAME_SWITCH = ("PIX",)
_SAME_ROOT = ("PIX", "PXB", "PHB")
_LETTERS = (*_SAME_ROOT, "NODE", "SYS", "SOC", "X")
_NVLINK = re.compile(r"NV\d+")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
_TAIL = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_GPU = re.compile(r"GPU\d+")
_LEGEND_ROW = re.compile(r"\s*(NIC\d+)\s*:\s*(\S+)")


def looks_like_topo(text: str) -> bool:
    """Say whether a text holds the matrix of `nvidia-smi topo -m`."""
    return any(_columns(line) is not None for line in text[: 2**16].splitlines())


@dataclass(slots=True)
class _Matrix:
    source: str
    names: tuple[str, ...]
    tail: tuple[str, ...]
    header: int
    rows: dict[str, Sequence[str]] = field(default_factory=dict)
    tails: dict[str, Mapping[str, str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    legend: dict[str, Fact] = field(default_factory=dict)

    def origin(self, row: str, column: str = "") -> Origin:
        return Origin(self.source, object=f"row {row}", path=f"column {column}" if column else "", line=self.lines[row])

    def refuse(self, what: str, line: int) -> NoReturn:
        advice = "save it anew with: nvidia-smi topo -m > topo.txt"
        raise SourceError(f"{what}; {advice}", origin=Origin(self.source, line=line))


def read_topo(text: str, source: str) -> Inventory:
    """Return what the matrix says: GPUs, NICs, which share a PCIe root or switch, and their NUMA nodes.

    PIX, PXB and PHB say that two devices share a root, PIX that they share the nearest switch; the root's name is not
    in the text (`rootGroup`). NVLink letters hide how two GPUs are tied by PCIe. A list of CPUs that the tool cut is
    not used, and a NUMA affinity of several nodes is unknown, unless all but one are the memory of GPUs (GB200).
    Raises SourceError with the line where the matrix is incomplete or contradicts itself.
    """
    if len(text) > MAX_BYTES:
        raise SourceError(f"it has {len(text):,} characters; the limit is {MAX_BYTES:,}", origin=Origin(source))
    matrix = _read(text, source)
    _check(matrix)
    roots, switches = _groups(matrix, _SAME_ROOT), _groups(matrix, _SAME_SWITCH)
    findings: list[Finding] = []
    gpu_memory = _gpu_memory_nodes(matrix)
    devices, numa_of = [], {}
    for name in matrix.names:
        facts, numa = _facts(matrix, name, gpu_memory)
        for key, groups in (("rootGroup", roots), ("switch", switches)):
            if name in groups:
                first, other = groups[name]
                facts[key] = Fact(f"of {first}", matrix.origin(name, other))
        numa_of[name] = numa
        devices.append(InventoryDevice("gpu" if _GPU.fullmatch(name) else "nic", name, matrix.origin(name), facts))
    _check_numa(matrix, roots, numa_of, findings)
    _tell_hidden(matrix, roots, findings)
    return Inventory(source, FORMAT, tuple(devices), _cpu_nodes(matrix, numa_of, findings), tuple(findings))


def _columns(line: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return (device columns, columns after them) of a header line, None for another line."""
    plain = _ESCAPES.sub("", line)
    tail = tuple(name for name in _TAIL if name in plain)
    for name in _TAIL:
        plain = plain.replace(name, " ")
    names = tuple(plain.split())
    if "GPU0" not in names or len(set(names)) != len(names) or any(_is_letter(name) for name in names):
        return None
    return names, tail


def _is_letter(cell: str) -> bool:
    return cell in _LETTERS or _NVLINK.fullmatch(cell) is not None


def _read(text: str, source: str) -> _Matrix:
    matrix: _Matrix | None = None
    in_matrix = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = _ESCAPES.sub("", line).split()
        if matrix is None:
            found = _columns(line)
            if found is not None:
                if len(found[0]) > MAX_COLUMNS:
                    what = f"the matrix has {len(found[0])} columns; the limit is {MAX_COLUMNS}"
                    raise SourceError(what, origin=Origin(source, line=number))
                matrix, in_matrix = _Matrix(source, *found, number), True
            continue
        if in_matrix and cells and cells[0] in matrix.names:
            _row(matrix, cells, number)
        elif cells and (legend := _LEGEND_ROW.match(_ESCAPES.sub("", line))) and legend[1] in matrix.names:
            in_matrix = False
            matrix.legend[legend[1]] = Fact(legend[2], Origin(source, object=f"NIC legend {legend[1]}", line=number))
        elif cells and cells[0].startswith("Legend"):
            in_matrix = False
    if matrix is None:
        raise SourceError(
            "there is no matrix with a column GPU0 in it; write the file with: nvidia-smi topo -m > topo.txt",
            origin=Origin(source),
        )
    missing = [name for name in matrix.names if name not in matrix.rows]
    if missing:
        matrix.refuse(f"the matrix has a column but no row for {', '.join(missing)}, so it was cut", matrix.header)
    return matrix


def _row(matrix: _Matrix, cells: Sequence[str], line: int) -> None:
    name, letters, rest = cells[0], cells[1 : len(matrix.names) + 1], cells[len(matrix.names) + 1 :]
    if name in matrix.rows:
        matrix.refuse(f"the row {name} is there twice", line)
    if len(letters) < len(matrix.names):
        matrix.refuse(f"the row {name} has {len(letters)} of {len(matrix.names)} cells", line)
    wrong = next((cell for cell in letters if not _is_letter(cell)), None)
    if wrong is not None:
        matrix.refuse(f"{wrong[:40]!r} in the row {name} is none of NV#, {', '.join(_LETTERS)}", line)
    if len(rest) > len(matrix.tail):
        matrix.refuse(f"the row {name} has more cells than the header has columns", line)
    matrix.rows[name] = letters
    # NIC rows often lack the last columns; what is missing is not known
    matrix.tails[name] = {column: cell for column, cell in zip(matrix.tail, rest, strict=False) if cell != "N/A"}
    matrix.lines[name] = line


def _check(matrix: _Matrix) -> None:
    at = {name: index for index, name in enumerate(matrix.names)}
    for name, letters in matrix.rows.items():
        for other, letter in zip(matrix.names, letters, strict=True):
            back = matrix.rows[other][at[name]]
            if (name == other) != (letter == "X"):
                matrix.refuse(f"the row {name} has {letter} in the column {other}", matrix.lines[name])
            if _spelt(letter) != _spelt(back):
                what = f"{name} is {letter} to {other}, but {other} is {back} to {name} (line {matrix.lines[other]})"
                matrix.refuse(what, matrix.lines[name])


def _spelt(letter: str) -> str:
    return "SYS" if letter == "SOC" else letter


def _groups(matrix: _Matrix, letters: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return, for devices tied to others by such letters, (first of the group, the device it is tied to).

    Refuses a matrix in which two devices of one group are said to be far from each other.
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
    if letters == _SAME_ROOT:
        for name, row in matrix.rows.items():
            for other, letter in zip(matrix.names, row, strict=True):
                if _spelt(letter) in ("NODE", "SYS") and group[name] is group[other]:
                    what = f"{name} is {letter} to {other}, but others tie both to one PCIe root"
                    matrix.refuse(what, matrix.lines[name])
    order = {name: index for index, name in enumerate(matrix.names)}
    first = {id(members): min(members, key=order.__getitem__) for members in group.values()}
    return {name: (first[id(group[name])], other) for name, other in tied.items()}


def _gpu_memory_nodes(matrix: _Matrix) -> int | None:
    """Return the lowest NUMA id that is a GPU's memory (GB200, GH200), None where there is none."""
    ids = [int(cell) for tail in matrix.tails.values() if (cell := tail.get("GPU NUMA ID", "")).isdecimal()]
    return min(ids, default=None)


def _facts(matrix: _Matrix, name: str, gpu_memory: int | None) -> tuple[dict[str, Fact], int | None]:
    facts: dict[str, Fact] = {}
    if _GPU.fullmatch(name):
        facts["index"] = Fact(int(name[3:]), matrix.origin(name))
        facts["vendor"] = Fact("10de", matrix.origin(name))
    elif name in matrix.legend:
        facts["rdmaDevice"] = matrix.legend[name]
    elif not re.fullmatch(r"NIC\d+", name):
        # tools before 2021 head the column with the name itself
        facts["rdmaDevice"] = Fact(name, matrix.origin(name))
    text = matrix.tails[name].get("NUMA Affinity", "")
    nodes = list_numbers(text) if text else ()
    if nodes is None:
        matrix.refuse(f"{text[:40]!r} is no list of NUMA nodes", matrix.lines[name])
    host = [node for node in nodes if gpu_memory is None or node < gpu_memory]
    numa = host[0] if len(host) == 1 else None
    if numa is not None:
        facts["numaNode"] = Fact(numa, matrix.origin(name, "NUMA Affinity"))
    return facts, numa


def _check_numa(
    matrix: _Matrix, roots: Mapping[str, tuple[str, str]], numa_of: dict[str, int | None], findings: list[Finding]
) -> None:
    for name, (_, other) in roots.items():
        here, there = numa_of[name], numa_of[other]
        if here is not None and there is not None and here != there and name < other:
            findings.append(
                Finding(
                    "topology-contradiction",
                    Severity.WARNING,
                    name,
                    f"{name} and {other} share a PCIe root, but their NUMA affinity is {here} and {there}",
                    "One of both is wrong; a virtual machine's firmware often gives such answers.",
                    matrix.origin(name, "NUMA Affinity"),
                )
            )


def _tell_hidden(matrix: _Matrix, roots: Mapping[str, tuple[str, str]], findings: list[Finding]) -> None:
    hidden = [name for name in matrix.names if _GPU.fullmatch(name) and name not in roots and _has_nvlink(matrix, name)]
    if hidden:
        findings.append(
            Finding(
                "topology-hidden-by-nvlink",
                Severity.NOTE,
                ", ".join(hidden),
                "the letters of NVLink hide whether these GPUs share a PCIe root with each other",
                "Write the file with: nvidia-smi topo -mp, or give an hwloc XML beside it.",
                Origin(matrix.source, line=matrix.header),
            )
        )


def _has_nvlink(matrix: _Matrix, name: str) -> bool:
    return any(_NVLINK.fullmatch(letter) for letter in matrix.rows[name])


def _cpu_nodes(matrix: _Matrix, numa_of: Mapping[str, int | None], findings: list[Finding]) -> tuple[CpuNode, ...]:
    """Return the NUMA nodes that are named, with their CPUs where the list was not cut and all rows agree."""
    lists: dict[int, dict[tuple[int, ...], str]] = {}
    cut: dict[int, str] = {}
    for name, numa in numa_of.items():
        if numa is None:
            continue
        text = matrix.tails[name].get("CPU Affinity", "")
        numbers = list_numbers(text) if text else None
        lists.setdefault(numa, {})
        if text and (numbers is None or _was_cut(text)):
            cut.setdefault(numa, name)
        elif numbers:
            lists[numa].setdefault(numbers, name)
    for numa, name in sorted(cut.items()):
        findings.append(
            Finding(
                "topology-cpus-cut",
                Severity.NOTE,
                f"NUMA node {numa}",
                "the list of its CPUs is cut or broken in this text, so the number of CPUs is not known",
                "Give an hwloc XML beside it: lstopo topology.xml",
                matrix.origin(name, "CPU Affinity"),
            )
        )
    nodes = []
    for numa, found in sorted(lists.items()):
        first = next(iter(found.values()), next(name for name, node in numa_of.items() if node == numa))
        # rows of one node that differ list the neighbours of a device, not the CPUs of the node
        cpus = next(iter(found)) if len(found) == 1 and numa not in cut else None
        nodes.append(CpuNode(numa, matrix.origin(first, "CPU Affinity"), cpus))
    return tuple(nodes)


def _was_cut(text: str) -> bool:
    """Say whether a list shows the tool's habit of cutting: several single numbers and no range ("0,2,4,6,8,10")."""
    return text.endswith((",", "-")) or ("-" not in text and text.count(",") >= 2)
