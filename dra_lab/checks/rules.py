"""The shapes that the API server's rules share (lists with a limit, sets, maps) and the formats of names and values.

Formats: docs/semantics.md 1.3. Lengths are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dra_lab.manifests.strict import FieldError
from dra_lab.model.release import KubernetesRelease

Errors = Iterator[FieldError]
Rule = Callable[[Any, str], Errors]

_MAX_KEY = 16
"""A key of a path is never cut shorter than this (`truncateIfTooLong`)."""


def required(path: str, why: str = "") -> FieldError:
    """Return the complaint about a missing value."""
    return FieldError(path, f"a value is required: {why}" if why else "a value is required")


def invalid(path: str, value: object, why: str) -> FieldError:
    """Return the complaint about a value; long values are shortened."""
    text = repr(value)
    return FieldError(path, f"{text if len(text) <= 80 else text[:77] + '...'} is invalid: {why}")


def too_many(path: str, count: int, limit: int) -> FieldError:
    """Return the complaint about a list or map with too many entries."""
    return FieldError(path, f"{count} entries are too many: at most {limit} are allowed")


def too_long(path: str, limit: int) -> FieldError:
    """Return the complaint about a text with too many bytes."""
    return FieldError(path, f"too long: at most {limit} bytes are allowed")


def size(text: str) -> int:
    """Return the length of a text in bytes of UTF-8, as the API server counts."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def check_list(items: Sequence[Any] | None, limit: int, rule: Rule, path: str) -> Errors:
    """Yield what is wrong with a list. Above its limit it yields only that and does not check the items."""
    items = items or ()
    if len(items) > limit:
        yield too_many(path, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{path}[{index}]")


def check_set(
    items: Sequence[Any] | None, limit: int, rule: Rule, path: str, key: Callable[[Any], Hashable] = lambda item: item
) -> Errors:
    """Do what `check_list` does for a list whose items must differ in their key."""
    items = items or ()
    yield from check_list(items, limit, rule, path)
    if len(items) <= limit:
        yield from check_unique(map(key, items), path)


def check_unique(keys: Iterable[Hashable], path: str) -> Errors:
    """Yield every entry of a list that was there before."""
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield FieldError(f"{path}[{index}]", f"{key!r} appears twice")
        seen.add(key)


def check_map(
    items: Mapping[str, Any] | None, limit: int, key_length: int, key_rule: Rule, rule: Rule, path: str
) -> Errors:
    """Yield what is wrong with a map.

    Problems with keys refer to the map, problems with values to their key. `limit` below 0 means none.
    """
    items = items or {}
    if 0 <= limit < len(items):
        yield too_many(path, len(items), limit)
        return
    for key, item in items.items():
        yield from key_rule(key, path)
        yield from rule(item, f"{path}[{shortened(key, key_length)}]")


def shortened(key: str, length: int) -> str:
    """Return a key as paths print it: cut in the middle when it is longer than a valid one could be."""
    length = max(length, _MAX_KEY)
    if len(key) <= length:
        return key
    rest = length - 3
    return key[: (rest + 1) // 2] + "..." + key[len(key) - rest // 2 :]


def nothing_to_check(value: object, path: str) -> Errors:
    """Yield nothing: any decoded value is valid."""
    del value, path
    yield from ()


_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\Z")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME_PART = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
MAX_DRIVER = 63
MAX_IDENTIFIER = 32
MAX_POOL = 253
MAX_QUALIFIED = MAX_DRIVER + 1 + MAX_IDENTIFIER

_LABEL_RULE = "use lower-case letters, digits and '-', beginning and ending with a letter or digit"
_SUBDOMAIN_RULE = "use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"


def is_subdomain(name: str) -> bool:
    """Say whether a name is a DNS-1123 subdomain of at most 253 bytes."""
    return len(name) <= MAX_SUBDOMAIN and _DNS_SUBDOMAIN.match(name) is not None


def check_label(name: str, path: str) -> Errors:
    """Yield why a name is no DNS-1123 label (device, request, counter and counter-set names)."""
    if size(name) > MAX_LABEL:
        yield invalid(path, name, f"at most {MAX_LABEL} characters are allowed")
    if _DNS_LABEL.match(name) is None:
        yield invalid(path, name, _LABEL_RULE)


def check_subdomain(name: str, path: str) -> Errors:
    """Yield why a name is no DNS-1123 subdomain (class and object names)."""
    if size(name) > MAX_SUBDOMAIN:
        yield invalid(path, name, f"at most {MAX_SUBDOMAIN} characters are allowed")
    if _DNS_SUBDOMAIN.match(name) is None:
        yield invalid(path, name, _SUBDOMAIN_RULE)


def check_driver(name: str, path: str) -> Errors:
    """Yield why a name is no driver name: the CSI driver rule, for which upper case passes."""
    if not name:
        yield required(path)
        return
    if size(name) > MAX_DRIVER:
        yield too_long(path, MAX_DRIVER)
    yield from check_subdomain(name.lower(), path)


def check_pool(name: str, path: str) -> Errors:
    """Yield why a name is no pool name: subdomains with slashes between them."""
    if not name:
        yield required(path)
        return
    if size(name) > MAX_POOL:
        yield too_long(path, MAX_POOL)
    for part in name.split("/"):
        yield from check_subdomain(part, path)


def check_identifier(name: str, path: str) -> Errors:
    """Yield why a name is no C identifier of at most 32 bytes."""
    if size(name) > MAX_IDENTIFIER:
        yield too_long(path, MAX_IDENTIFIER)
    if _C_IDENTIFIER.match(name) is None:
        yield invalid(path, name, "use letters, digits and '_', not beginning with a digit")


def check_qualified(name: str, path: str, release: KubernetesRelease) -> Errors:
    """Yield why a name is no QualifiedName (`identifier` or `domain/identifier`).

    To 1.37 the API server accepts a name with two or more slashes without any check (docs/semantics.md 1.3.1).
    """
    parts = name.split("/")
    if len(parts) > 2 and release.is_at_least("1.38"):
        yield invalid(path, name, "write it as name or domain/name; a second '/' is not allowed")
    if len(parts) == 1:
        yield from check_identifier(name, path)
    if len(parts) != 2:
        return
    domain, identifier = parts
    if domain:
        yield from check_driver(domain, path)
    else:
        yield invalid(path, name, "the domain must not be empty")
    if identifier:
        yield from check_identifier(identifier, path)
    else:
        yield invalid(path, name, "the name must not be empty")


def check_fully_qualified(name: str, path: str, release: KubernetesRelease) -> Errors:
    """Yield why a name is no FullyQualifiedName (`domain/identifier`)."""
    yield from check_qualified(name, path, release)
    if "/" not in name:
        yield invalid(path, name, "write it with its domain: domain/name")


def check_label_name(name: str, path: str) -> Errors:
    """Yield why a name is no label name (`[prefix/]name`): taint keys, binding conditions, labels."""
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, "a name with an optional DNS subdomain and one '/' in front of it is allowed")
        return
    if len(parts) == 2:
        if not parts[0]:
            yield invalid(path, name, "the prefix must not be empty")
        else:
            yield from check_subdomain(parts[0], path)
    if not parts[-1]:
        yield invalid(path, name, "the name must not be empty")
    elif size(parts[-1]) > MAX_LABEL:
        yield invalid(path, name, f"at most {MAX_LABEL} characters are allowed")
    if _NAME_PART.match(parts[-1]) is None:
        yield invalid(path, name, "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit")


def check_label_value(value: str, path: str) -> Errors:
    """Yield why a value is no label value; empty is one."""
    if size(value) > MAX_LABEL:
        yield invalid(path, value, f"at most {MAX_LABEL} characters are allowed")
    if value and _NAME_PART.match(value) is None:
        yield invalid(path, value, "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit")


def check_extended_resource(name: str, path: str) -> Errors:
    """Yield why a name is no extended resource: it needs a domain that is not Kubernetes' own and no `requests.`."""
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests.") or any(check_label_name(f"requests.{name}", path)):
        why = "use domain/name with a domain of your own (not kubernetes.io) and without requests. in front"
        yield invalid(path, name, why)


# --------------------------------------------------------------------- fields of core types
# What core Kubernetes validates: `metadata` of objects and templates, and node selectors.

MAX_ANNOTATIONS = 256 * 1024
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")


def check_metadata(metadata: Mapping[str, Any], *, namespaced: bool, path: str = "metadata") -> Errors:
    """Yield what is wrong with the `metadata` of an object whose name is a DNS subdomain."""
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if prefix:
        # what is generated goes behind the prefix, so that its last character may be a dash
        masked = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        yield from check_subdomain(masked, f"{path}.generateName")
    if name:
        yield from check_subdomain(name, f"{path}.name")
    elif not prefix:
        yield required(f"{path}.name", "name or generateName")
    if namespaced and metadata.get("namespace"):
        yield from check_label(metadata["namespace"], f"{path}.namespace")
    if (metadata.get("generation") or 0) < 0:
        yield invalid(f"{path}.generation", metadata["generation"], "it must not be negative")
    yield from _check_notes(metadata, path)
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        for field in _OWNER_FIELDS:
            if not owner.get(field):
                yield invalid(f"{path}.ownerReferences[{index}].{field}", "", "it must not be empty")
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        yield from check_label_name(finalizer, f"{path}.finalizers[{index}]")


def check_template_metadata(metadata: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `spec.metadata` of a template, which may carry labels and annotations only."""
    yield from _check_notes(metadata, path)
    for name, value in metadata.items():
        if name not in ("labels", "annotations") and value not in ("", 0, None, [], {}):
            shown = {"uid": "uID"}.get(name, name)
            yield FieldError(f"{path}.{shown}", "only labels and annotations can be set here")


def _check_notes(metadata: Mapping[str, Any], path: str) -> Errors:
    for name, value in (metadata.get("labels") or {}).items():
        yield from check_label_name(name, f"{path}.labels")
        yield from check_label_value(value, f"{path}.labels")
    annotations = metadata.get("annotations") or {}
    for name in annotations:
        yield from check_label_name(name.lower(), f"{path}.annotations")
    total = sum(size(name) + size(value) for name, value in annotations.items())
    if total > MAX_ANNOTATIONS:
        yield invalid(f"{path}.annotations", f"{total} bytes", f"at most {MAX_ANNOTATIONS} bytes are allowed")


def check_node_selector(selector: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with a node selector: it needs a term, and each requirement the values of its operator."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "at least one term")
    for index, term in enumerate(terms):
        place = f"{path}.nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.get("matchExpressions") or ()):
            yield from _check_expression(requirement, f"{place}.matchExpressions[{number}]")
        for number, requirement in enumerate(term.get("matchFields") or ()):
            yield from _check_field(requirement, f"{place}.matchFields[{number}]")


def _check_expression(requirement: Mapping[str, Any], path: str) -> Errors:
    values = requirement.get("values") or ()
    match requirement.get("operator") or "":
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", "In and NotIn need values")
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError(f"{path}.values", "Exists and DoesNotExist take no values")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(f"{path}.values", "Gt and Lt need one value")
        case other:
            yield invalid(f"{path}.operator", other, "use In, NotIn, Exists, DoesNotExist, Gt or Lt")
    yield from check_label_name(requirement.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        yield from check_label_value(value, f"{path}.values[{index}]")


def _check_field(requirement: Mapping[str, Any], path: str) -> Errors:
    values, key = requirement.get("values") or (), requirement.get("key") or ""
    operator = requirement.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "use In or NotIn")
    elif len(values) != 1:
        yield required(f"{path}.values", "one value")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "the only field is metadata.name")
        return
    for index, value in enumerate(values):
        yield from check_subdomain(value, f"{path}.values[{index}]")
