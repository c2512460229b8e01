"""Errors in values that a template tool must still fill in: the object is not checked, and not refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import NOT_RENDERED, TEMPLATE_RULE, Document, Manifests
from dra_lab.gitops.references import Claims
from dra_lab.manifests.templates import RENDER, has_variables

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_WHOLE_OBJECT = ("api-undecodable", "version-unknown")


def without_templates(manifests: Manifests, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with one warning in place of each error about a value that is still a template's."""
    documents = {d.at("").key: d for d in manifests.documents}
    return [_as_warning(finding, documents) for finding in findings]


def rendered_claims(claims: Claims, findings: Iterable[Finding]) -> Claims:
    """Return the claims without those in which a template's value was found: they cannot be planned."""
    left = {f.origin.key for f in findings if f.rule == TEMPLATE_RULE and f.origin is not None}
    return {key: tuple(one for one in some if one.document.at("").key not in left) for key, some in claims.items()}


def _as_warning(finding: Finding, documents: Mapping[tuple[str, int, str], Document]) -> Finding:
    place = finding.origin
    if finding.severity is not Severity.ERROR or place is None:
        return finding
    document = documents.get(place.key)
    if document is None or not _is_template(document, place.path, whole=finding.rule in _WHOLE_OBJECT):
        return finding
    return replace(finding, rule=TEMPLATE_RULE, severity=Severity.WARNING, message=NOT_RENDERED, advice=RENDER)


def _is_template(document: Document, path: str, *, whole: bool) -> bool:
    """Say whether the value at a path contains a template's mark, or any value of the object if `whole`."""
    if not path or whole:
        return whole and any(has_variables(text) for text in _texts(document.value))
    value: Any = document.value
    for index, key in _STEP.findall(path):
        if isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            break
    if isinstance(value, Mapping) and not any(isinstance(item, Mapping | list) for item in value.values()):
        return any(has_variables(text) for text in _texts(value))
    return isinstance(value, str) and has_variables(value)


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str):
            yield item
