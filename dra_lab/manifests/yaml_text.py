"""YAML text to plain values and back, with limits against hostile input and lines for messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin

MAX_YAML_BYTES = 256 * 2**20
"""Larger YAML is refused: it would take minutes; JSON is the form for bulk."""

MAX_DEPTH = 64
MAX_EXPANDED_NODES = 20_000_000
"""Most values a document may hold once its aliases are counted as often as they are used."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _PlainLoader(_Loader):  # type: ignore[misc]
    """SafeLoader without timestamps: Kubernetes reads YAML as JSON, where a time is text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


class _TidyDumper(_Dumper):  # type: ignore[misc]
    """SafeDumper that never writes aliases and puts several lines of text into a block."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML names it
        """Write every value out."""
        return True


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_TidyDumper.add_representer(str, _text)
_TidyDumper.add_representer(tuple, lambda dumper, value: dumper.represent_list(list(value)))


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document: its value, its number (from 1), and the composed node, which knows the lines."""

    value: Any
    number: int
    node: Any

    def line(self, path: str = "") -> int:
        """Return the line (from 1) of a path such as `spec.devices[0].name`, or of its nearest known parent."""
        node = self.node
        for step in _steps(path):
            child = _child(node, step)
            if child is None:
                break
            node = child
        return int(node.start_mark.line) + 1 if node is not None else 0


def load_yaml(text: str, source: str = "") -> Iterator[YamlDocument]:
    """Yield the documents of a YAML text; empty documents are left out.

    Raises ManifestError with file and line for broken YAML, for unknown tags, for text of more than MAX_YAML_BYTES,
    nesting deeper than MAX_DEPTH and aliases that expand to more than MAX_EXPANDED_NODES values.
    """
    if len(text) > MAX_YAML_BYTES:
        size = MAX_YAML_BYTES // 2**20
        raise ManifestError(
            f"the YAML text is larger than {size} MiB; write it as JSON (kubectl get ... -o json)",
            origin=Origin(source),
        )
    number = 0
    loader = None
    try:
        _check_depth(text, source)
        loader = _PlainLoader(text)
        while loader.check_node():
            node = loader.get_node()
            number += 1
            _check_size(node, source, number)
            value = loader.construct_document(node)
            if value is not None:
                yield YamlDocument(value, number, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise ManifestError(f"this is no valid YAML: {problem}", origin=Origin(source, number + 1, line=line)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(f"this is no valid YAML: {error}", origin=Origin(source, number + 1)) from None
    finally:
        if loader is not None:
            loader.dispose()


def dump_yaml(document: Any) -> str:
    """Return a value as YAML: keys in the order given, no aliases, no wrapping; the same text every time."""
    text: str = yaml.dump(
        document, Dumper=_TidyDumper, sort_keys=False, width=2**20, default_flow_style=False, allow_unicode=True
    )
    return text


def dump_all(documents: Iterable[Any]) -> str:
    """Return several values as YAML documents, separated by `---`."""
    return "---\n".join(dump_yaml(document) for document in documents)


def _check_depth(text: str, source: str) -> None:
    # events come without recursion, while composing nodes recurses in C and would end the process
    depth = 0
    for event in yaml.parse(text, Loader=_PlainLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                _refuse(f"it is nested deeper than {MAX_DEPTH} levels", source, 0, event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_size(root: Any, source: str, number: int) -> None:
    # sizes of shared nodes are remembered, as aliases share them
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
            if sizes[key] > MAX_EXPANDED_NODES:
                _refuse(f"its aliases expand to more than {MAX_EXPANDED_NODES:,} values", source, number, node)
            continue
        if key in sizes:
            continue
        if key in open_nodes:
            _refuse("an alias contains itself", source, number, node)
        open_nodes.add(key)
        stack.append((node, True))
        stack.extend((child, False) for child in children)


def _refuse(why: str, source: str, number: int, node: Any) -> None:
    raise ManifestError(f"this YAML is refused: {why}", origin=Origin(source, number, line=node.start_mark.line + 1))


def _children(node: Any) -> list[Any]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _steps(path: str) -> list[str]:
    return [step for step in path.replace("[", ".").replace("]", "").split(".") if step]


def _child(node: Any, step: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if getattr(key, "value", None) == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        return node.value[int(step)]
    return None
