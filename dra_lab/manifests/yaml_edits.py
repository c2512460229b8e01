"""Changes of a YAML or JSON text in place: only the characters of a changed value differ, in block and flow style.

An edit is (start, end, text) in characters. Positions come from the nodes of `load_yaml`. What is new has the style of
what is beside it: lists as deep, quotes, and KYAML (KEP-5295) in a file of KYAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from dra_lab.manifests.yaml_text import YamlDocument, child_of, dump_yaml, entry_of, flow_yaml, kyaml, kyaml_key, steps

Edit = tuple[int, int, str]
Path = str | tuple[str | int, ...]
"""Steps, or a printed path where no key has a dot."""

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_COMMA = re.compile(r"\s*,[ \t]*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_INDENTED_ITEM = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n(?:[ ]*#[^\n]*\n|[ ]*\n)*( *)- ", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*\Z")
_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")


class NotInTextError(Exception):
    """A value is not where its path says: a merge key or an alias has it."""


class EditableDocument:
    """A document of a text, to which edits are made."""

    def __init__(self, text: str, document: YamlDocument) -> None:
        """Remember where the lines of the text begin."""
        self._text = text
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._document = document
        self._end = "\r\n" if "\r\n" in text else "\n"
        self._deep_lists = _has_deep_lists(text)
        self._is_kyaml = _is_kyaml(document.node)

    def node(self, path: Path) -> Any:
        """Return the node at a path, None where there is none."""
        node = self._document.node
        for step in steps(path) if isinstance(path, str) else path:
            node = child_of(node, str(step))
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
        text = value if plain else json.dumps(value, ensure_ascii=False)
        if not plain and node.style == "'" and "\n" not in value:
            text = "'" + value.replace("'", "''") + "'"
        return [(self._start(node), self._stop(node), text)]

    def added(self, path: Path, after: str, key: str, value: Any) -> list[Edit]:
        """Return the edits that give the mapping at a path another entry, after one that it has."""
        parent = self.node(path)
        neighbour, node = entry_of(parent, after)
        if neighbour is None or node is None:
            return []
        if parent.flow_style:
            name = f"{self._name(key, neighbour)}: "
            return [self._flow_entry(parent, neighbour, self._end_of(neighbour, node), name, value)]
        indent = " " * neighbour.start_mark.column
        return [self._line_after(self._end_of(neighbour, node), _indented(self._dumped({key: value}), indent))]

    def appended(self, path: Path, value: Any) -> list[Edit]:
        """Return the edits that give the list at a path another item."""
        node = self.node(path)
        if not isinstance(node, yaml.SequenceNode):
            return []
        if not node.value:
            at = self._start(node) + 1
            return [(at, at, self._in_flow(value, json_like=self._text.lstrip()[:1] in "{[" and '"' in self._text))]
        last, end = node.value[-1], self._item_end(node, len(node.value) - 1)
        if node.flow_style:
            return [self._flow_entry(node, last, end, "", value)]
        above = self._text[self._line_start(last.start_mark.line) : self._start(last)].rstrip()
        column = len(above) - 1 if above.endswith("-") else node.start_mark.column
        return [self._line_after(end, _indented(self._dumped([value]), " " * column))]

    def entries(self, path: Path, gone: Collection[str], new: Mapping[str, Any]) -> list[Edit]:
        """Return the edits that remove entries of the mapping at a path and give it others, after those that stay.

        Comments behind or between lines that are removed stay, each on a line of its own.
        """
        parent = self._present(path)
        keys = [key.value for key, _ in parent.value]
        kept = [key for key in keys if key not in gone]
        if not kept and not parent.flow_style:
            return self._rewritten_block(parent, dict(new))
        edits = [edit for key, value in new.items() for edit in self.added(path, kept[-1], key, value)]
        if parent.flow_style:
            return edits + [self._without_flow(parent, *run) for run in _runs([key in gone for key in keys])]
        following = [*(key for key, _ in parent.value[1:]), None]
        return edits + [
            self._without_lines(key, node, after)
            for (key, node), after in zip(parent.value, following, strict=True)
            if key.value in gone
        ]

    def _present(self, path: Path) -> Any:
        node = self.node(path)
        if node is None:
            raise NotInTextError
        return node

    def _dumped(self, value: Any) -> str:
        """Return a value as lines, with lists as deep as most of the text has them."""
        return dump_yaml(value, deep_lists=self._deep_lists)

    def _without_lines(self, key: Any, node: Any, following: Any) -> Edit:
        """Return the edit that removes the lines of an entry in block style, or what is behind the dash of an item."""
        indent = " " * key.start_mark.column
        if self._begins_line(key):
            start, stop = self._line_start(key.start_mark.line), self._line_end(self._end_of(key, node))
            found = self._comments(start, stop, key, node)
            return start, stop, "".join(f"{indent}{comment}{self._end}" for comment in found)
        if following is None:
            raise NotInTextError
        start, stop = self._start(key), self._start(following)
        found = self._comments(start, stop, key, node)
        return start, stop, "".join(f"{comment}{self._end}{indent}" for comment in found)

    def _comments(self, start: int, stop: int, *nodes: Any) -> list[str]:
        """Return the comments of a part of the text, which are outside its scalars."""
        text = self._text[start:stop]
        for first, last in (pair for node in nodes for pair in self._scalars(node, start)):
            if 0 <= first <= last <= len(text):
                text = text[:first] + "x" * (last - first) + text[last:]
        return [found.rstrip() for found in _COMMENT.findall(text)]

    def _scalars(self, node: Any, start: int) -> Iterator[tuple[int, int]]:
        """Yield where the scalars of a node begin and end, from a position on."""
        if isinstance(node, yaml.ScalarNode):
            yield self._start(node) - start, self._stop(node) - start
            return
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                yield from self._scalars(part, start)

    def rewritten(self, path: Path, value: Any) -> list[Edit]:
        """Return the edits that replace a whole value."""
        node = self._present(path)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            return self._rewritten_block(node, value)
        start, stop = self._start(node), self._content_end(node)
        if isinstance(node, yaml.ScalarNode):
            like = node.style in ("'", '"') and isinstance(value, str)
            text = self.replaced(path, value)[0][2] if like else self._in_flow(value, json_like=_is_json(node))
            return [(start, stop, f" {text}" if self._text[start - 1 : start] == ":" else text)]
        is_one_line = bool(node.value) and node.start_mark.line == node.end_mark.line
        indent = _indent_of(self._line_of(node))
        return [(start, stop, self._lines(self._in_flow(value, indent, is_one_line=is_one_line)))]

    def _rewritten_block(self, node: Any, value: Any) -> list[Edit]:
        """Return the edit that replaces a value in block style; its comments are below the new one."""
        start, stop = self._start(node), self._content_end(node)
        indent = " " * node.start_mark.column
        text = self._dumped(value) if value and isinstance(value, Mapping | list) else flow_yaml(value)
        found = self._comments(start, stop, node)
        # a list may stand as deep as its key, and nothing else may
        deeper = "  " if isinstance(node, yaml.SequenceNode) and not (value and isinstance(value, list)) else ""
        new = _indented(text, indent + deeper)[len(indent) :].rstrip("\n")
        lines = [new, *(f"{indent}{comment}" for comment in found)]
        return [(start, stop, self._lines("\n".join(lines)))]

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
            name = self._name(under, head)
            if not self._begins_line(head):
                return [(start, start, f"{name}: {{"), (stop, stop, "}")]
            indent = " " * head.start_mark.column
            inner = self._end + indent + "  " + _deeper(text)
            comma = "" if head.style == '"' else ","
            return [(start, stop, f"{name}: {{{inner}{comma}{self._end}{indent}}}")]
        indent = " " * (head.start_mark.column + 2)
        return [(start, stop, f"{under}:{self._end}{indent}{_deeper(text)}")]

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
            name = self._name(under, parent.value[0][0])
            return [(start, stop, ", ".join((*kept, f"{name}: {{{', '.join(moved)}}}")))]
        indent = self._end + " " * parent.value[0][0].start_mark.column
        return [(start, stop, indent.join((*kept, f"{under}:", *(f"  {part}" for part in moved))))]

    def _flow_entry(self, parent: Any, neighbour: Any, at: int, name: str, value: Any) -> Edit:
        """Return the edit that puts an entry or item behind its neighbour, which ends at a position."""
        indent, is_json = _indent_of(self._line_of(neighbour)), _is_json_like(parent)
        if not name and neighbour.start_mark.line != neighbour.end_mark.line:
            return at, at, self._lines(f", {self._in_flow(value, indent, json_like=is_json)}")
        if self._begins_line(neighbour):
            return at, at, self._lines(f",\n{indent}{name}{self._in_flow(value, indent, json_like=is_json)}")
        return at, at, f", {name}{self._in_flow(value, json_like=is_json, is_one_line=True)}"

    def _in_flow(self, value: Any, indent: str = "", *, json_like: bool = False, is_one_line: bool = False) -> str:
        if json_like:
            return json.dumps(value, ensure_ascii=False)
        return kyaml(value, indent, one_line=is_one_line) if self._is_kyaml else flow_yaml(value)

    def _name(self, key: str, neighbour: Any) -> str:
        """Return a key in flow style as text."""
        if self._is_kyaml:
            return kyaml_key(key)
        return json.dumps(key) if neighbour.style == '"' else flow_yaml(key)

    def _without_flow(self, parent: Any, first: int, last: int) -> Edit:
        """Return the edit that removes neighbouring entries of a mapping in flow style, of which others stay."""
        start, stop = self._start(parent.value[first][0]), self._end_of(*parent.value[last])
        comma = _COMMA.match(self._text, stop)
        if comma is None:
            start = self._end_of(*parent.value[first - 1])
        else:
            stop = comma.end()
        found = self._comments(start, stop, parent)
        indent = self._end + _indent_of(self._line_of(parent.value[first][0]))
        if comma is None:
            return start, stop, "".join(f" {comment}{indent}" for comment in found)
        rest = self._text[stop : self._line_end(stop)].strip()
        if self._begins_line(parent.value[first][0]) and not rest:
            # the whole lines go
            start, stop = self._line_start(parent.value[first][0].start_mark.line), self._line_end(stop)
            return start, stop, "".join(f"{indent.lstrip(self._end)}{comment}{self._end}" for comment in found)
        return start, stop, "".join(f"{comment}{indent}" for comment in found)

    def _line_after(self, end: int, text: str) -> Edit:
        at = self._line_end(end)
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
        if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
            return self._stop(node)
        if isinstance(node, yaml.MappingNode):
            return self._end_of(*node.value[-1])
        return self._item_end(node, len(node.value) - 1)

    def _end_of(self, key: Any, node: Any) -> int:
        """Return where the value of an entry ends; the node of an alias is where its anchor is, above the key."""
        is_alias = self._start(node) < self._start(key)
        return self._alias_end(self._stop(key)) if is_alias else self._content_end(node)

    def _item_end(self, parent: Any, index: int) -> int:
        node = parent.value[index]
        if self._start(node) >= self._start(parent):
            return self._content_end(node)
        return self._alias_end(self._item_end(parent, index - 1) if index else self._start(parent))

    def _alias_end(self, at: int) -> int:
        found = _ALIAS.search(self._text, at)
        return found.end() if found else at


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits that do not overlap; what is inserted at one place keeps its order."""
    ordered = sorted((start, stop, order, new) for order, (start, stop, new) in enumerate(edits))
    for start, stop, _, new in reversed(ordered):
        text = text[:start] + new + text[stop:]
    return text


def _has_deep_lists(text: str) -> bool:
    """Say whether most lists of a text stand deeper than the key that they belong to."""
    lines = text.replace("\r\n", "\n")
    deeper = [len(item) > len(key) for key, item in _INDENTED_ITEM.findall(lines)]
    return sum(deeper) * 2 > len(deeper)


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where each run of True begins and ends."""
    starts = [at for at, mark in enumerate(marks) if mark and not (at and marks[at - 1])]
    ends = [at for at, mark in enumerate(marks) if mark and not (at + 1 < len(marks) and marks[at + 1])]
    return list(zip(starts, ends, strict=True))


def _is_kyaml(node: Any) -> bool:
    """Say whether a document is KYAML: in flow style, with keys that are not quoted and texts that are."""
    if not isinstance(node, yaml.MappingNode) or not node.flow_style:
        return False
    texts = (value.style for _, value in node.value if isinstance(value, yaml.ScalarNode))
    return not _is_json_like(node) and next(texts, "") == '"'


def _is_json(node: Any) -> bool:
    return bool(node.style == '"')


def _is_json_like(parent: Any) -> bool:
    key = parent.value[0]
    key = key[0] if isinstance(key, tuple) else key
    while isinstance(key, yaml.MappingNode) and key.value:
        key = key.value[0][0]
    return getattr(key, "style", None) == '"'


def _indented(text: str, indent: str) -> str:
    return "".join(indent + line for line in text.splitlines(keepends=True))


def _deeper(text: str) -> str:
    return re.sub(r"(\n)(?=[^\r\n])", r"\1  ", text)


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]
