"""YAML text to plain values and back, with limits against hostile input and lines for messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import yaml
from msgspec import Struct

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.manifests.file_text import NO_MANIFEST, RENDER, is_template
from dra_lab.model.decoding import too_many, values_allowed
from dra_lab.model.quantity import unsigned_number

MAX_YAML_BYTES = 256 * 2**20
"""Larger YAML is refused: it would take minutes; JSON is the form for bulk."""

MAX_FLOW_BYTES = 16 * 2**20
MAX_DEPTH = 64

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
"""Where a document begins: a line with this at its start is in no value, not even in a block of text."""

_EMPTY = r"---(?:[ \t]+#.*|[ \t\r]*)\n(?:[ \t]*(?:#.*|\r)?\n)*"
_EMPTY_DOCUMENT = re.compile(_EMPTY)
_EMPTY_BEFORE_NEXT = re.compile(rf"^{_EMPTY}(?=---(?:\s|$))", re.MULTILINE)
_MANY = 100
"""The fewest documents in a row without a value that are counted and not parsed."""

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_NO_TEXT = re.compile(r"(?i)(?:y|n|yes|no|on|off|true|false|null|nan|inf)\Z")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _PlainLoader(_Loader):  # type: ignore[misc]
    """SafeLoader without timestamps: Kubernetes reads YAML as JSON, where a time is text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


class _Tidy:
    """Never writes aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML names it
        """Write every value out."""
        return True


class _TidyDumper(_Tidy, _Dumper):  # type: ignore[misc]
    """Writes lists as deep as their key."""


class _DeepLists(_Tidy, yaml.SafeDumper):
    """Writes the items of a list deeper than its key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Indent every list."""
        super().increase_indent(flow, False)


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


for _kind in (_TidyDumper, _DeepLists):
    _kind.add_representer(str, _text)
    _kind.add_representer(tuple, lambda dumper, value: dumper.represent_list(list(value)))


class YamlDocument(Struct, frozen=True):
    """One document: its value, its number (from 1), and the composed node, which knows the lines.

    The lines of the node count from `above`, the number of lines over the text that it was read from.
    """

    value: Any
    number: int
    node: Any
    above: int = 0

    def line(self, path: str = "") -> int:
        """Return the line (from 1) of a path such as `spec.devices[0].name`, or of its nearest known parent."""
        node = self.node
        for step in steps(path):
            child = child_of(node, str(step))
            if child is None:
                break
            node = child
        return self.above + int(node.start_mark.line) + 1 if node is not None else 0


def load_yaml(
    text: str, source: str = "", *, broken: Callable[[ManifestError], None] | None = None
) -> Iterator[YamlDocument]:
    """Yield the documents of a YAML text; empty documents are left out.

    Raises ManifestError with file and line for broken YAML and unknown tags. It also raises it for text of more than
    MAX_YAML_BYTES, nesting deeper than MAX_DEPTH, and more values than `values_allowed`, with an alias counted each
    time it is used. With `broken` it is given the errors of single documents, and the documents after them are read.
    """
    if len(text) > MAX_YAML_BYTES:
        size = MAX_YAML_BYTES // 2**20
        raise ManifestError(
            f"the YAML text is larger than {size} MiB; write it as JSON (kubectl get ... -o json)",
            origin=Origin(source),
        )
    done, room = 0, _Room(len(text))
    try:
        before, above, start = 0, 0, 0
        for run, end, number in (*_empty_runs(text), (len(text), len(text), 0)):
            part = text[start:run]
            counted: list[int] = []
            for document in _documents(part, source, before, above, room, counted):
                done = document.number
                yield document
            before += max(counted, default=0) + number
            above += text.count("\n", start, end)
            start = end
    except _TooMany:
        raise
    except ManifestError:
        # each document by itself: what is wrong with one says nothing about the next
        yield from _one_by_one(text, source, done, broken)


def _empty_runs(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield many documents in a row without a value: where they begin and end, and their number."""
    start, end, number = 0, 0, 0
    for found in _EMPTY_BEFORE_NEXT.finditer(text):
        if found.start() != end:
            if number >= _MANY:
                yield start, end, number
            start, number = found.start(), 0
        end, number = found.end(), number + 1
    if number >= _MANY:
        yield start, end, number


def _one_by_one(
    text: str, source: str, done: int, broken: Callable[[ManifestError], None] | None
) -> Iterator[YamlDocument]:
    """Yield the documents after the first `done`; report a broken one, or raise if there is nothing to report to."""
    starts = [match.start() for match in _MARKER.finditer(text)]
    number, above, room = 0, 0, _Room(len(text))
    for start, end in zip((0, *starts), (*starts, len(text)), strict=True):
        part = text[start:end]
        counted: list[int] = []
        if _EMPTY_DOCUMENT.fullmatch(part):
            number, above = number + 1, above + part.count("\n")
            continue
        try:
            for document in _documents(part, source, number, above, room, counted):
                if document.number > done:
                    yield document
        except ManifestError as error:
            if broken is None or isinstance(error, _TooMany):
                raise
            broken(error)
            counted = counted or [1]
        number += max(counted, default=0)
        above += part.count("\n")


def _documents(
    text: str, source: str, before: int, above: int, room: _Room, counted: list[int]
) -> Iterator[YamlDocument]:
    """Yield the documents of a text with `before` documents and `above` lines over it; tell `counted` how many."""
    number, loader, looked = 0, None, False
    try:
        _check_values(text, source, before, above, room)
        loader = _PlainLoader(text)
        while loader.check_node():
            counted.append(number := number + 1)
            node = loader.get_node()
            if "*" in text:
                _check_aliases(node, source, before + number, above, room)
            value = loader.construct_document(node)
            if isinstance(value, str | list) and not looked:
                looked = True
                _refuse_shell_lines(text, source, before + number, above)
            if value is not None:
                yield YamlDocument(value, before + number, node, above)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if not number:
            counted.append(number := 1)
        _refuse_shell_lines(text, source, before + number, above)
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        parts = (getattr(error, "context", ""), getattr(error, "problem", ""))
        problem = " ".join(part for part in parts if part) if mark else str(error)
        if mark and "".join(text.split("\n")[mark.line : mark.line + 1])[mark.column :].startswith("\t"):
            problem = "a tab is in the place of a value or an indentation; indent YAML with spaces"
        place = Origin(source, before + number, line=above + mark.line + 1 if mark else 0)
        why = f"{NO_MANIFEST}. {RENDER}" if is_template(text) else f"this is not valid YAML: {problem}"
        raise ManifestError(why, origin=place) from None
    finally:
        if loader is not None:
            loader.dispose()


def _refuse_shell_lines(text: str, source: str, number: int, above: int) -> None:
    """Raise ManifestError where a text that is no YAML object has lines of a terminal: they are the reason."""
    from dra_lab.manifests.file_text import shell_lines, shell_message

    lines = tuple((above + line, words) for line, words in shell_lines(text))
    if lines:
        raise ManifestError(shell_message(lines), origin=Origin(source, number, line=lines[0][0])) from None


def is_flow_yaml(data: bytes) -> bool:
    """Say whether a text with a bracket first that is no JSON is YAML in flow style, a template, or has shell lines.

    A text of more than MAX_FLOW_BYTES is not looked at: bulk comes as JSON, or as KYAML under its header `---`.
    """
    if len(data) > MAX_FLOW_BYTES:
        return False
    from dra_lab.manifests.file_text import shell_lines

    try:
        text = data.decode()
        return (
            text.lstrip().startswith("{{")
            or bool(shell_lines(text))
            or all(isinstance(d.value, dict | list) for d in load_yaml(text))
        )
    except (UnicodeDecodeError, ManifestError):
        return False


def dump_yaml(document: Any, *, deep_lists: bool = False) -> str:
    """Return a value as YAML: keys in the order given, no aliases, no wrapping; the same text every time.

    `deep_lists` puts the items of a list deeper than its key.
    """
    dumper = _DeepLists if deep_lists else _TidyDumper
    text: str = yaml.dump(
        document, Dumper=dumper, sort_keys=False, width=2**20, default_flow_style=False, allow_unicode=True
    )
    return text


def flow_yaml(value: Any) -> str:
    """Return a value as YAML in flow style, on one line."""
    text: str = yaml.dump(
        [value], Dumper=_TidyDumper, sort_keys=False, width=2**20, default_flow_style=True, allow_unicode=True
    )
    return text.strip()[1:-1]


def kyaml(value: Any, indent: str = "", *, one_line: bool = False) -> str:
    """Return a value as KYAML (KEP-5295), without its header; lines after the first begin with `indent`."""
    if isinstance(value, Mapping):
        inner = indent + "  "
        entries = [f"{kyaml_key(key)}: {kyaml(item, inner, one_line=one_line)}" for key, item in value.items()]
        return _enclosed("{", entries, "}", indent, one_line=one_line)
    if isinstance(value, list | tuple):
        if value and not one_line and all(isinstance(item, Mapping) and item for item in value):
            return f"[{', '.join(kyaml(item, indent) for item in value)}]"
        entries = [kyaml(item, indent + "  ", one_line=one_line) for item in value]
        return _enclosed("[", entries, "]", indent, one_line=one_line)
    return json.dumps(value, ensure_ascii=False)


def _enclosed(first: str, entries: list[str], last: str, indent: str, *, one_line: bool) -> str:
    if one_line or not entries:
        return first + ", ".join(entries) + last
    lines = "".join(f"{indent}  {entry},\n" for entry in entries)
    return f"{first}\n{lines}{indent}{last}"


def kyaml_key(key: object) -> str:
    """Return a key as KYAML."""
    text = str(key)
    return text if _KEY.match(text) and not _NO_TEXT.match(text) else json.dumps(text, ensure_ascii=False)


def dump_all(documents: Iterable[Any]) -> str:
    """Return several values as YAML documents, separated by `---`."""
    return "---\n".join(dump_yaml(document) for document in documents)


class _TooMany(ManifestError):
    """A text has too many values; the documents after the present one are part of it."""


class _Room:
    """How many values of a text may still come."""

    def __init__(self, size: int) -> None:
        self.limit = self.left = values_allowed(size)

    def take(self, count: int, source: str, number: int, line: int) -> None:
        """Count values. Raises _TooMany."""
        self.left -= count
        if self.left < 0:
            why = f"dra-lab refuses this YAML: {too_many(self.limit)}"
            raise _TooMany(why, origin=Origin(source, number, line=line))


def _check_values(text: str, source: str, before: int, above: int, room: _Room) -> None:
    # events come without recursion, while composing nodes recurses in C and would end the process
    depth = count = 0
    for event in yaml.parse(text, Loader=_PlainLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                _refuse(f"it is nested deeper than {MAX_DEPTH} levels", source, before + 1, above, event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        count += isinstance(event, yaml.NodeEvent)
        if count > room.left:
            break
    room.take(count, source, before + 1, above + 1)


def _check_aliases(root: Any, source: str, number: int, above: int, room: _Room) -> None:
    """Count the values of a document again, with an alias counted each time it is used."""
    # sizes of shared nodes are stored, as aliases share them
    sizes: dict[int, int] = {}
    stack: list[tuple[Any, bool]] = [(root, False)]
    open_nodes: set[int] = set()
    while stack:
        node, done = stack.pop()
        key = id(node)
        children = _children(node)
        if done:
            open_nodes.discard(key)
            sizes[key] = 1 + sum(sizes.get(id(child), 1) for child in children)
            if sizes[key] - len(sizes) > room.left:
                break
            continue
        if key in sizes:
            continue
        if key in open_nodes:
            _refuse("an alias contains itself", source, number, above, node)
        open_nodes.add(key)
        stack.append((node, True))
        stack.extend((child, False) for child in children)
    room.take(max(sizes.values(), default=0) - len(sizes), source, number, above + root.start_mark.line + 1)


def _refuse(why: str, source: str, number: int, above: int, node: Any) -> None:
    place = Origin(source, number, line=above + node.start_mark.line + 1)
    raise ManifestError(f"dra-lab refuses this YAML: {why}", origin=place)


def _children(node: Any) -> list[Any]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def steps(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path such as `spec.devices[0].name`."""
    return tuple(int(index) if index else key for index, key in _STEP.findall(path))


def value_at(value: Any, path: str) -> Any:
    """Return what a path such as `spec.tasks[0].template` leads to, None where there is nothing."""
    for step in steps(path):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def entry_of(node: Any, key: str) -> tuple[Any, Any]:
    """Return the key and the value of an entry of a mapping; the last one of a key that is there twice."""
    pairs = reversed(node.value) if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if getattr(pair[0], "value", None) == key), (None, None))


def child_of(node: Any, step: str) -> Any:
    """Return the value of a key, or the item of an index; None where there is none."""
    if isinstance(node, yaml.SequenceNode):
        at = unsigned_number(step)
        return node.value[at] if at is not None and at < len(node.value) else None
    return entry_of(node, step)[1]
