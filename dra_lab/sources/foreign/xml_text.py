"""XML of topology files as a small tree with lines: no entities, no outside files, stated limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from dra_lab.errors import SourceError
from dra_lab.findings import Origin
from dra_lab.sources.foreign.inventory import MAX_BYTES

MAX_DEPTH = 200
"""Elements inside each other; a real server with three levels of PCIe switches has about 20."""

MAX_ELEMENTS = 250_000
"""Elements of a file; a real server of 24 NUMA nodes has some ten thousand."""

MAX_ATTRIBUTES = 1_000_000


@dataclass(slots=True)
class XmlElement:
    """An XML element: tag, attributes, children in order, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlElement] = field(default_factory=list)

    def get(self, name: str) -> str:
        """Return an attribute, "" where it is absent."""
        return self.attributes.get(name, "")

    def named(self, tag: str) -> Iterator[XmlElement]:
        """Yield the children with a tag."""
        return (child for child in self.children if child.tag == tag)


def parse_xml(data: bytes, source: str, encoding: str | None = None) -> XmlElement:
    """Return the root element of an XML text; `encoding` counts in place of the one that the text declares.

    A document type that only names a DTD, as hwloc writes one, is never fetched. Raises SourceError with the line for
    XML that is broken, declares markup of its own, or is beyond a limit.
    """
    if len(data) > MAX_BYTES:
        raise SourceError(f"it has {len(data):,} bytes; the limit is {MAX_BYTES:,}", origin=Origin(source))
    text = data.lstrip()  # XML refuses blank lines above its declaration
    reader = _Reader(source, encoding, above=data[: len(data) - len(text)].count(b"\n"))
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code) or "it is not XML"
        raise SourceError(
            f"the XML is broken: {what}; write the file again with the tool that made it",
            origin=Origin(source, line=reader.above + error.lineno),
        ) from None
    except (ValueError, LookupError) as error:
        raise SourceError(f"the XML is broken: {error}", origin=Origin(source)) from None
    if reader.root is None:
        raise SourceError("the XML is empty", origin=Origin(source))
    return reader.root


class _Reader:
    """Builds the tree while expat reads, and refuses what topology files never have."""

    def __init__(self, source: str, encoding: str | None, above: int) -> None:
        self.source = source
        self.above = above
        self.root: XmlElement | None = None
        self.open: list[XmlElement] = []
        self.count = self.attributes = 0
        self.parser = expat.ParserCreate(encoding)
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _tag: self.open.pop()
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.SkippedEntityHandler = lambda *_: self._refuse(
            "it uses its own entity, which topology files never do, so dra-lab does not read it"
        )

    def _refuse(self, what: str) -> NoReturn:
        raise SourceError(what, origin=Origin(self.source, line=self.above + self.parser.CurrentLineNumber))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            self._refuse(f"it has more than {MAX_ELEMENTS:,} elements, which is the limit")
        self.attributes += len(attributes)
        if self.attributes > MAX_ATTRIBUTES:
            self._refuse(f"it has more than {MAX_ATTRIBUTES:,} attributes, which is the limit")
        if len(self.open) >= MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} elements are nested, which is the limit")
        element = XmlElement(tag, attributes, self.above + self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_internal_subset: bool) -> None:  # noqa: FBT001 - the signature is expat's
        if has_internal_subset:
            self._refuse(
                "it declares its own markup (an internal DTD), which topology files never do, so dra-lab does not "
                "read it"
            )
