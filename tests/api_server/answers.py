"""What the server says: discovery, lists, Status objects, events. The words are those of Kubernetes 1.36.2."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from .store import GROUP, KINDS, Store, in_version

RECORDED = Path(__file__).parent / "exchanges.ndjson.gz"
DISCOVERY = ("/version", "/api", "/apis", f"/apis/{GROUP}")
VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")


class Refused(Exception):
    """An answer with a status of failure."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        """Make the Status object; details come before the code, as the API server writes them."""
        super().__init__(message)
        self.code = code
        self.headers: dict[str, str] = {}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
        rest = {} if details is None else {"details": details}
        self.body: dict[str, Any] = {**head, "reason": reason, **rest, "code": code}


@cache
def recorded() -> tuple[dict[str, Any], ...]:
    """Return the recorded exchanges with a real API server."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def unauthorized() -> Refused:
    """Return the 401."""
    return Refused(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, plural: str, namespace: str) -> Refused:
    """Return the 403 of a user without the right."""
    group = "" if plural not in KINDS or KINDS[plural][1] == "v1" else GROUP
    resource = f"{plural}.{group}" if group else plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    message = f'{resource} is forbidden: User "{user}" cannot {verb} resource "{plural}" in API group "{group}" {where}'
    return Refused(403, "Forbidden", message, {**({"group": group} if group else {}), "kind": plural})


def not_found() -> Refused:
    """Return the 404 of a path in a group that is known."""
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def expired(
    message: str = "The provided continue parameter is too old to display a consistent list result.",
) -> Refused:
    """Return the 410: Status of reason Expired, as apimachinery's NewResourceExpired writes it."""
    return Refused(410, "Expired", message)


def discovery(path: str, versions: Collection[str]) -> bytes | None:
    """Return the recorded answer of a discovery path, without the versions that this server does not have."""
    parts = path.removeprefix(f"/apis/{GROUP}/")
    if path not in DISCOVERY and not (parts in VERSIONS and parts in versions):
        return None
    if path.startswith(f"/apis/{GROUP}") and not versions:
        return None
    body = next(entry["body"] for entry in recorded() if entry["path"] == path and entry["as"] == "admin")
    if path != f"/apis/{GROUP}":
        return body.encode()
    group = json.loads(body)
    group["versions"] = [entry for entry in group["versions"] if entry["version"] in versions]
    group["preferredVersion"] = group["versions"][0]
    return json.dumps(group).encode()


def list_page(store: Store, plural: str, version: str, namespace: str, query: dict[str, str]) -> bytes:
    """Return a list, or a page of it where `limit` is given."""
    kind = KINDS[plural][0]
    limit = max(0, int(query.get("limit") or 0))
    at, start = _token(query["continue"]) if query.get("continue") else (None, "")
    now, items = store.moment(plural, namespace, at)
    items = _selected(items, query.get("fieldSelector", ""))
    first = next((i for i, (key, _) in enumerate(items) if _path(key, namespace) + "\0" > start), len(items))
    page = items[first : first + limit] if limit else items[first:]
    left = len(items) - first - len(page)
    meta: dict[str, Any] = {"resourceVersion": str(now)}
    if left:
        store.remember(plural, namespace, now, items)
        meta |= {"continue": _make_token(now, _path(page[-1][0], namespace)), "remainingItemCount": left}
    group = GROUP if KINDS[plural][1] != "v1" else ""
    head = {"kind": f"{kind}List", "apiVersion": f"{group}/{version}" if group else version, "metadata": meta}
    bodies = b",".join(in_version(body, kind, version) for _, body in page)
    return json.dumps(head, separators=(",", ":")).encode()[:-1] + b',"items":[' + bodies + b"]}\n"


def metadata_of(page: bytes) -> bytes:
    """Return a list as `as=PartialObjectMetadataList;g=meta.k8s.io;v=v1` asks for it."""
    found = json.loads(page)
    head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": found["metadata"]}
    one = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return json.dumps({**head, "items": [{**one, "metadata": item["metadata"]} for item in found["items"]]}).encode()


def event_line(type_: str, plural: str, version: str, body: bytes) -> bytes:
    """Return one line of a watch; objects of events carry kind and apiVersion."""
    kind, stored, _ = KINDS[plural]
    api = version if stored == "v1" else f"{GROUP}/{version}"
    head = json.dumps({"kind": kind, "apiVersion": api}, separators=(",", ":")).encode()[:-1]
    return b'{"type":"%s","object":%s,%s}\n' % (type_.encode(), head, in_version(body, kind, version)[1:])


def bookmark_line(plural: str, version: str, at: int) -> bytes:
    """Return a bookmark; a claim's has null for its requests, as the API server writes it."""
    body: dict[str, Any] = {"metadata": {"resourceVersion": str(at)}}
    if plural == "resourceclaims":
        body |= {"spec": {"devices": {"requests": None}}, "status": {}}
    elif plural == "resourceslices":
        body |= {
            "spec": {"driver": "", "pool": {"name": "", "generation": 0, "resourceSliceCount": 0}, "devices": None}
        }
    line = event_line("BOOKMARK", plural, "v1", json.dumps(body, separators=(",", ":")).encode())
    return line.replace(f"{GROUP}/v1".encode(), f"{GROUP}/{version}".encode(), 1)


def _selected(items: list[Any], selector: str) -> list[Any]:
    field, _, value = selector.partition("=")
    if field != "spec.nodeName":
        return items
    return [(key, body) for key, body in items if json.loads(body)["spec"].get("nodeName") == value]


def _path(key: tuple[str, str], namespace: str) -> str:
    return f"/{key[0]}/{key[1]}" if key[0] and not namespace else f"/{key[1]}"


def _make_token(version: int, last: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": last + "\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _token(text: str) -> tuple[int, str]:
    try:
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return int(found["rv"]), str(found["start"])
    except (ValueError, KeyError, TypeError, binascii.Error):
        why = "continue key is not valid: invalid character '\\u0081' looking for beginning of value"
        raise Refused(400, "BadRequest", f"invalid continue token: {why}") from None
