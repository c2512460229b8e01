"""Changes of a YAML or JSON text in place: only the characters of a changed value differ, in block and flow style.

An edit is (start, end, text) in characters. Positions come from the nodes of `load_yaml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.manifests.kyaml import kyaml_text
from dra_lab.manifests.yaml_text import YamlDocument, dump_yaml, load_yaml

Edit = tuple[int, int, str]
Path = str | tuple[str | int, ...]
"""Steps, or a printed path where no key has a dot."""

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_INDENTED_ITEM = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n(?:[ ]*#[^\n]*\n|[ ]*\n)*( *)- ", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*\Z")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class EditableDocument:
    """A document of a text, to which edits are made."""

    def __init__(self, text: str, document: YamlDocument) -> None:
        """Remember where the lines of the text begin."""
        self._text = text
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._document = document
        self._end = "\r\n" if "\r\n" in text else "\n"
        self._deep_lists = has_deep_lists(text)

    def node(self, path: Path) -> Any:
        """Return the node at a path, None where there is none."""
        node = self._document.node
        for step in _steps(path):
            if isinstance(step, int) and isinstance(node, yaml.SequenceNode) and step < len(node.value):
                node = node.value[step]
            elif isinstance(step, str) and isinstance(node, yaml.MappingNode):
                node = _entry(node, step)[1]
            else:
                return None
        return node

    def is_block(self, path: Path) -> bool:
        """Say whether a mapping in block style is at a path."""
        node = self.node(path)
        return isinstance(node, yaml.MappingNode) and not node.flow_style and self._begins_line(node)

    def replaced(self, path: Path, value: str) -> list[Edit]:
        """Return the edits that put another text in the place of a scalar, quoted as it was."""
        node = self.node(path)
        if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
            return []
        plain = not node.style and _PLAIN.match(value)
        text = value if plain else f"'{value}'" if node.style == "'" else json.dumps(value, ensure_ascii=False)
        return [(self._start(node), self._stop(node), text)]

    def added(self, path: Path, after: str, key: str, value: Any) -> list[Edit]:
        """Return the edits that give the mapping at a path another entry, after one that it has."""
        parent = self.node(path)
        neighbour, node = _entry(parent, after)
        if neighbour is None or node is None:
            return []
        if parent.flow_style:
            return [self._flow_entry(parent, neighbour, node, f"{_quoted(key, neighbour)}: ", value)]
        indent = " " * neighbour.start_mark.column
        return [self._line_after(node, _indented(self._dumped({key: value}), indent))]

    def appended(self, path: Path, value: Any) -> list[Edit]:
        """Return the edits that give the list at a path another item."""
        node = self.node(path)
        if not isinstance(node, yaml.SequenceNode):
            return []
        if not node.value:
            at = self._start(node) + 1
            return [(at, at, _in_flow(value, json_like=self._text.lstrip()[:1] in "{[" and '"' in self._text))]
        last = node.value[-1]
        if node.flow_style:
            return [self._flow_entry(node, last, last, "", value)]
        return [self._line_after(last, _indented(dump_yaml([value]), " " * node.start_mark.column))]

    def entries(self, path: Path, gone: Collection[str], new: Mapping[str, Any]) -> list[Edit]:
        """Return the edits that remove entries of the mapping at a path and give it others, after those that stay.

        Comments behind or between lines that are removed stay, each on a line of its own.
        """
        parent = self.node(path)
        keys = [key.value for key, _ in parent.value]
        kept = [key for key in keys if key not in gone]
        if parent.flow_style:
            runs = _runs([key in gone for key in keys])
            edits = [self._without_flow(parent, *run) for run in runs]
            return edits + [edit for key, value in new.items() for edit in self.added(path, kept[-1], key, value)]
        edits = [self._without_lines(*pair) for pair in parent.value if pair[0].value in gone]
        if kept:
            return edits + [edit for key, value in new.items() for edit in self.added(path, kept[-1], key, value)]
        first = parent.value[0][0]
        at = self._line_start(first.start_mark.line)
        text = _indented(self._dumped(dict(new)), " " * first.start_mark.column)
        return [(at, at, self._lines(text)), *edits]

    def _dumped(self, value: Any) -> str:
        """Return a value as lines, with lists as deep as most of the text has them."""
        return dump_yaml(value, deep_lists=self._deep_lists)

    def _without_lines(self, key: Any, node: Any) -> Edit:
        """Return the edit that removes the lines of an entry in block style."""
        start, stop = self._line_start(key.start_mark.line), self._line_end(self._content_end(node))
        indent = " " * key.start_mark.column
        found = _comments(self._text[start:stop], [*self._scalars(key, start), *self._scalars(node, start)])
        return start, stop, "".join(f"{indent}{comment}{self._end}" for comment in found)

    def _scalars(self, node: Any, start: int) -> Iterator[tuple[int, int]]:
        """Yield where the scalars of a node begin and end, from a position on."""
        if isinstance(node, yaml.ScalarNode):
            yield self._start(node) - start, self._stop(node) - start
            return
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                yield from self._scalars(part, start)

    def rewritten(self, path: Path, value: Any) -> list[Edit]:
        """Return the edits that replace a whole value in flow style."""
        node = self.node(path)
        one_line = bool(node.value) and node.start_mark.line == node.end_mark.line
        text = kyaml_text(value, _indent_of(self._line_of(node)), one_line=one_line)
        text = f" {text}" if self._text[self._start(node) - 1 : self._stop(node)] == ":" else text
        return [(self._start(node), self._stop(node), self._lines(text))]

    def nested(self, path: Path, keys: Iterable[str], under: str) -> list[Edit]:
        """Return the edits that move neighbouring entries of the mapping at a path into a mapping of their own."""
        parent, wanted = self.node(path), frozenset(keys)
        if not isinstance(parent, yaml.MappingNode):
            return []
        inside = [getattr(key, "value", None) in wanted for key, _ in parent.value]
        if not inside or sum(inside) != len(wanted):
            return []  # some come from elsewhere, by a merge key
        first = inside.index(True)
        last = len(inside) - 1 - inside[::-1].index(True)
        if not all(inside[first : last + 1]):
            return self._rearranged(parent, inside, under)
        head, (_, tail) = parent.value[first][0], parent.value[last]
        start, stop = self._start(head), self._content_end(tail)
        text = self._text[start:stop]
        if parent.flow_style:
            name = _quoted(under, head)
            if not self._begins_line(head):
                return [(start, start, f"{name}: {{"), (stop, stop, "}")]
            indent = " " * head.start_mark.column
            inner = self._end + indent + "  " + _deeper(text)
            comma = "" if head.style == '"' else ","
            return [(start, stop, f"{name}: {{{inner}{comma}{self._end}{indent}}}")]
        indent = " " * (head.start_mark.column + 2)
        return [(start, stop, f"{under}:{self._end}{indent}{_deeper(text)}")]

    def lifted(self, path: Path, key: str) -> list[Edit]:
        """Return the edits that put the only entry of a mapping `key` in the place of that mapping."""
        outer, node = _entry(self.node(path), key)
        if outer is None or not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
            return []
        inner, value = node.value[0]
        between = self._text[self._start(outer) : self._start(inner)]
        if "#" in between:
            return []
        kept = self._text[self._start(inner) : self._content_end(value)]
        stop = self._stop(node) if node.flow_style else self._content_end(value)
        return [(self._start(outer), stop, kept)]

    def _rearranged(self, parent: Any, inside: list[bool], under: str) -> list[Edit]:
        """Return the edit that puts the entries to be nested last; for entries of one line each."""
        if any(key.start_mark.line != value.end_mark.line for key, value in parent.value):
            return []
        parts = [self._text[self._start(key) : self._stop(value)] for key, value in parent.value]
        start, stop = self._start(parent.value[0][0]), self._stop(parent.value[-1][1])
        kept = [part for part, is_inside in zip(parts, inside, strict=True) if not is_inside]
        moved = [part for part, is_inside in zip(parts, inside, strict=True) if is_inside]
        if "#" in re.sub(r"\"[^\"]*\"|'[^']*'", "", self._text[start:stop]):
            return []
        if parent.flow_style:
            name = _quoted(under, parent.value[0][0])
            return [(start, stop, ", ".join((*kept, f"{name}: {{{', '.join(moved)}}}")))]
        indent = self._end + " " * parent.value[0][0].start_mark.column
        return [(start, stop, indent.join((*kept, f"{under}:", *(f"  {part}" for part in moved))))]

    def _flow_entry(self, parent: Any, neighbour: Any, node: Any, name: str, value: Any) -> Edit:
        at, json_like = self._stop(node), _is_json_like(parent)
        indent = _indent_of(self._line_of(neighbour))
        if not name and isinstance(node, yaml.MappingNode) and node.start_mark.line != node.end_mark.line:
            return at, at, self._lines(f", {kyaml_text(value, indent)}")
        if self._begins_line(neighbour):
            text = _in_flow(value, json_like=True) if json_like else kyaml_text(value, indent)
            return at, at, self._lines(f",\n{indent}{name}{text}")
        return at, at, f", {name}{_in_flow(value, json_like=json_like)}"

    def _without_flow(self, parent: Any, first: int, last: int) -> Edit:
        """Return the edit that removes neighbouring entries of a mapping in flow style, of which others stay."""
        if last + 1 < len(parent.value):
            return self._start(parent.value[first][0]), self._start(parent.value[last + 1][0]), ""
        return self._stop(parent.value[first - 1][1]), self._stop(parent.value[last][1]), ""

    def _line_after(self, node: Any, text: str) -> Edit:
        at = self._line_end(self._content_end(node))
        ended = at == 0 or self._text[at - 1 : at] in ("\n", "\r")
        return at, at, self._lines(text if ended else "\n" + text.rstrip("\n"))

    def _lines(self, text: str) -> str:
        return text.replace("\n", self._end)

    def _begins_line(self, node: Any) -> bool:
        return not self._text[self._line_start(node.start_mark.line) : self._start(node)].strip()

    def _line_of(self, node: Any) -> str:
        start = self._line_start(node.start_mark.line)
        return self._text[start : self._line_end(start)]

    def _line_start(self, line: int) -> int:
        return self._starts[self._document.above + line]

    def _line_end(self, at: int) -> int:
        """Return the end of the line of a position, its line break included."""
        found = _BREAK.search(self._text, at)
        return found.end() if found else len(self._text)

    def _start(self, node: Any) -> int:
        return self._line_start(node.start_mark.line) + int(node.start_mark.column)

    def _stop(self, node: Any) -> int:
        return self._line_start(node.end_mark.line) + int(node.end_mark.column)

    def _content_end(self, node: Any) -> int:
        """Return where the last line of a value ends: the end of a block is behind blank lines and comments."""
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            start = self._start(node)
            return start + len(self._text[start : self._stop(node)].rstrip())
        children = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else node.value
        if isinstance(node, yaml.ScalarNode) or node.flow_style or not children:
            return self._stop(node)
        return self._content_end(children[-1])


def with_values(text: str, values: Sequence[Any]) -> str:
    """Return a text whose documents have other values; what did not change stays as it is.

    Raises ManifestError for a value that an anchor shares with another place, and for what cannot be edited in place.
    """
    edits: list[Edit] = []
    documents = [*load_yaml(text)]
    for document, value in zip(documents, values, strict=True):
        if document.value != value:
            edits += changes(EditableDocument(text, document), (), document.value, value)
    after = apply_edits(text, edits)
    try:
        found = [document.value for document in load_yaml(after)]
    except ManifestError:
        found = []
    for number, (document, value) in enumerate(zip(documents, values, strict=True)):
        if document.value != value and found[number : number + 1] != [value]:
            message = (
                "it cannot be changed in place: an anchor (&) shares a value, or a key stands on the line of another"
            )
            raise ManifestError(f"{message}. Write the value out first", origin=Origin("", document.number))
    return after


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits that do not overlap; what is inserted at one place keeps its order."""
    ordered = sorted((start, stop, order, new) for order, (start, stop, new) in enumerate(edits))
    for start, stop, _, new in reversed(ordered):
        text = text[:start] + new + text[stop:]
    return text


def has_deep_lists(text: str) -> bool:
    """Say whether most lists of a text stand deeper than the key that they belong to."""
    deeper = [len(item) > len(key) for key, item in _INDENTED_ITEM.findall(text)]
    return sum(deeper) * 2 > len(deeper)


def _comments(text: str, scalars: Iterable[tuple[int, int]]) -> list[str]:
    """Return the comments of a text, which are outside its scalars."""
    for start, stop in scalars:
        text = text[:start] + "x" * (stop - start) + text[stop:]
    return [found.rstrip() for found in _COMMENT.findall(text)]


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where each run of True begins and ends."""
    starts = [at for at, mark in enumerate(marks) if mark and not (at and marks[at - 1])]
    ends = [at for at, mark in enumerate(marks) if mark and not (at + 1 < len(marks) and marks[at + 1])]
    return list(zip(starts, ends, strict=True))


def _entry(node: Any, key: str) -> tuple[Any, Any]:
    if not isinstance(node, yaml.MappingNode):
        return None, None
    found = (pair for pair in reversed(node.value) if getattr(pair[0], "value", None) == key)
    return next(found, (None, None))


def _quoted(key: str, neighbour: Any) -> str:
    return json.dumps(key) if neighbour.style == '"' else key


def _is_json_like(parent: Any) -> bool:
    key = parent.value[0]
    key = key[0] if isinstance(key, tuple) else key
    while isinstance(key, yaml.MappingNode) and key.value:
        key = key.value[0][0]
    return getattr(key, "style", None) == '"'


def _in_flow(value: Any, *, json_like: bool) -> str:
    return json.dumps(value, ensure_ascii=False) if json_like else kyaml_text(value, one_line=True)


def _indented(text: str, indent: str) -> str:
    return "".join(indent + line for line in text.splitlines(keepends=True))


def _deeper(text: str) -> str:
    return re.sub(r"(\n)(?=[^\r\n])", r"\1  ", text)


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _steps(path: Path) -> tuple[str | int, ...]:
    if isinstance(path, tuple):
        return path
    return tuple(int(index) if index else key for index, key in _STEP.findall(path))


def changes(document: EditableDocument, path: tuple[str | int, ...], old: Any, new: Any) -> list[Edit]:
    """Return the edits that make a value in flow style another one; only what differs changes."""
    if old == new:
        return []
    kept = isinstance(old, Mapping) and isinstance(new, Mapping) and [key for key in old if key in new]
    if kept or (new and isinstance(new, Mapping) and document.is_block(path)):
        inside = [edit for key in kept or () for edit in changes(document, (*path, key), old[key], new[key])]
        more = {key: value for key, value in new.items() if key not in old}
        return inside + document.entries(path, old.keys() - new.keys(), more)
    if isinstance(old, list) and isinstance(new, list) and old and len(new) >= len(old):
        pairs = enumerate(zip(old, new, strict=False))
        edits = [edit for index, pair in pairs for edit in changes(document, (*path, index), *pair)]
        return edits + [edit for item in new[len(old) :] for edit in document.appended(path, item)]
    return document.rewritten(path, new)
