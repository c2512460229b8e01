"""The matrix in the text of `nvidia-smi topo -m`: header, rows, the columns after them, the legend."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Origin
from dra_lab.sources.foreign.inventory import Fact

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
