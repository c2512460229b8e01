"""The contexts of the kubeconfig files, by name: what a person may choose from. Nothing is connected to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from dra_lab.errors import SourceError

PREFIX = "context:"
IN_CLUSTER = "in-cluster"
"""The name under which the service account of a pod is reached, where no kubeconfig is."""

_SERVICE_HOST = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True, slots=True)
class Context:
    """One way to a cluster: `name` for `context:NAME`, its cluster, user, server (no credentials) and namespace.

    `current` is True for the one that kubectl would take.
    """

    name: str
    cluster: str = ""
    user: str = ""
    server: str = ""
    namespace: str = ""
    current: bool = False

    @property
    def source(self) -> str:
        """Return what `load_cluster` takes: `context:NAME`."""
        return f"{PREFIX}{self.name}"


def kubeconfig() -> str:
    """Return the list of kubeconfig files: KUBECONFIG as it is set now, else the file in the home folder."""
    return os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())


def contexts() -> tuple[Context, ...]:
    """Return the contexts of all kubeconfig files, sorted by name, the current one first; none where there is no file.

    Of two contexts of one name the first file's counts, as for kubectl. The service account of a pod comes last, as
    `in-cluster`. No plug-in is run and nothing is connected to. Raises SourceError for a file that is no kubeconfig.
    """
    found, current = _read(kubeconfig())
    if _SERVICE_HOST in os.environ:
        current = current if found else IN_CLUSTER
        found.setdefault(IN_CLUSTER, Context(IN_CLUSTER, user="the pod's service account"))
    listed = (replace(context, current=context.name == current) for context in found.values())
    return tuple(sorted(listed, key=lambda context: (not context.current, context.name)))


def find_context(name: str) -> Context:
    """Return the context of a name, "" for the current one. Raises SourceError with the names that there are."""
    known = contexts()
    for context in known:
        if context.name == name or (not name and context.current):
            return context
    files = kubeconfig()
    if not known:
        advice = "set KUBECONFIG, or log in so that a kubeconfig is written"
        raise SourceError(f"there is no kubeconfig with a context at {files!r}; {advice}")
    names = ", ".join(sorted(context.name for context in known))
    if not name:
        raise SourceError(f"no current context is set in {files!r}; choose one of: {names}")
    raise SourceError(f"there is no context {name!r} in {files!r}; contexts: {names}")


def bare_server(server: str) -> str:
    """Return a server's URL without the credentials that it might carry."""
    try:
        parts = urlsplit(server)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return ""


def _read(paths: str) -> tuple[dict[str, Context], str]:
    servers: dict[str, str] = {}
    found: dict[str, Mapping[str, Any]] = {}
    current = ""
    for document in _documents(paths):
        for name, cluster in _named(document, "clusters", "cluster"):
            servers.setdefault(name, str(cluster.get("server", "")))
        for name, context in _named(document, "contexts", "context"):
            found.setdefault(name, context)
        current = current or str(document.get("current-context") or "")
    return {name: _context(name, value, servers) for name, value in found.items()}, current


def _context(name: str, value: Mapping[str, Any], servers: Mapping[str, str]) -> Context:
    cluster, user, space = (str(value.get(key) or "") for key in ("cluster", "user", "namespace"))
    return Context(name, cluster, user, bare_server(servers.get(cluster, "")), space)


def _documents(paths: str) -> Iterator[Mapping[str, Any]]:
    for path in filter(None, paths.split(os.pathsep)):
        file = Path(path).expanduser()
        try:
            document = yaml.safe_load(file.read_bytes()) if file.is_file() else None
        except (OSError, yaml.YAMLError, RecursionError, UnicodeDecodeError, ValueError) as error:
            # the text of a YAML error shows the line, which may be a token
            raise SourceError(f"the kubeconfig {path!r} cannot be read: {_why(error)}; correct it") from None
        if document is None:
            continue
        if not isinstance(document, Mapping):
            raise SourceError(f"{path!r} is no kubeconfig: it is not an object with contexts, clusters and users")
        yield document


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    mark = getattr(error, "problem_mark", None)
    return f"it is no valid YAML (line {mark.line + 1})" if mark else f"it is no valid YAML ({type(error).__name__})"


def _named(document: Mapping[str, Any], key: str, inner: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = document.get(key)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            value = entry.get(inner)
            yield entry["name"], value if isinstance(value, Mapping) else {}
