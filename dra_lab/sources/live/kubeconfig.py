"""The kubeconfig files as kubectl merges them, and their contexts. Nothing is connected to."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import expanded
from dra_lab.sources.files import CONTEXT

Settings = Mapping[str, Any]
_PATHS = {"cluster": ("certificate-authority",), "user": ("client-certificate", "client-key", "tokenFile")}


@dataclass(frozen=True, slots=True, repr=False)
class KubeconfigFiles:
    """The entries of all files by name; values hold secrets and are never shown.

    Paths in `clusters` and `users` are absolute; what is null is left out.
    """

    clusters: Mapping[str, Settings]
    users: Mapping[str, Settings]
    contexts: Mapping[str, Settings]
    current: str

    def of(self, context: str) -> dict[str, Any]:
        """Return a kubeconfig with this context alone, its cluster and its user."""
        value = self.contexts.get(context, {})
        cluster, user = str(value.get("cluster") or ""), str(value.get("user") or "")
        return {
            "current-context": context,
            "contexts": [{"name": context, "context": dict(value)}],
            "clusters": [{"name": n, "cluster": dict(v)} for n, v in self.clusters.items() if n == cluster],
            "users": [{"name": n, "user": dict(v)} for n, v in self.users.items() if n == user],
        }


def kubeconfig() -> str:
    """Return the list of kubeconfig files: KUBECONFIG as it is set now, else the file in the home folder."""
    return os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())


def read_kubeconfig(paths: str) -> KubeconfigFiles:
    """Return what the files of a list say; files that do not exist or are empty say nothing.

    Raises SourceError for a file that is no kubeconfig.
    """
    found: dict[str, dict[str, Settings]] = {"cluster": {}, "user": {}, "context": {}}
    current = ""
    for folder, document in _documents(paths):
        for inner, entries in found.items():
            for name, value in _named(document, f"{inner}s", inner):
                entries.setdefault(name, _placed(inner, value, folder))
        current = current or str(document.get("current-context") or "")
    return KubeconfigFiles(found["cluster"], found["user"], found["context"], current)


def _placed(inner: str, value: Settings, folder: Path) -> Settings:
    """Return an entry without what is null, its relative paths made absolute, as kubectl reads them."""
    kept = {key: item for key, item in value.items() if item is not None}
    for key in _PATHS.get(inner, ()):
        if isinstance(kept.get(key), str) and kept[key]:
            kept[key] = str(folder / kept[key])
        elif key in kept:
            del kept[key]
    if isinstance(kept.get("token"), str | int | float):
        kept["token"] = str(kept["token"]).strip()
    if "tokenFile" in kept and "token" in kept and Path(kept["tokenFile"]).is_file():
        # kubectl reads the file again and again, and what stood there last counts
        del kept["token"]
    plugin = kept.get("exec")
    if isinstance(plugin, dict):
        command = str(plugin.get("command") or "")
        # a bare name is looked for in PATH
        placed = str(folder / command) if Path(command).name != command else command
        kept["exec"] = {**{key: item for key, item in plugin.items() if item is not None}, "command": placed}
    return kept


def _documents(paths: str) -> Iterator[tuple[Path, Settings]]:
    for path in filter(None, paths.split(os.pathsep)):
        file = expanded(path)
        try:
            document = yaml.safe_load(file.read_bytes()) if file.is_file() else None
        except (OSError, yaml.YAMLError, RecursionError, UnicodeDecodeError, ValueError) as error:
            # the text of a YAML error shows the line, which may be a token
            mark = getattr(error, "problem_mark", None)
            why = f"it is not valid YAML ({f'line {mark.line + 1}' if mark else type(error).__name__})"
            if isinstance(error, OSError):
                why = error.strerror or type(error).__name__
            raise SourceError(f"the kubeconfig {path!r} cannot be read: {why}; correct it") from None
        if document is None:
            continue
        if not isinstance(document, Mapping):
            raise SourceError(f"{path!r} is not a kubeconfig, which is an object with contexts, clusters and users")
        yield file.absolute().parent, document


def _named(document: Settings, key: str, inner: str) -> Iterator[tuple[str, Settings]]:
    entries = document.get(key)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            value = entry.get(inner)
            yield entry["name"], value if isinstance(value, Mapping) else {}


PREFIX = CONTEXT
IN_CLUSTER = "in-cluster"
"""The name under which the service account of a pod is reached, where no kubeconfig is."""

_SERVICE_HOST = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True, slots=True)
class Context:
    """One way to a cluster: `name` for `context:NAME`, its cluster, user, server (no credentials) and namespace.

    `current` is True for the one that kubectl would take; `acts_as` is whom the user impersonates (`as`), or "".
    """

    name: str
    cluster: str = ""
    user: str = ""
    server: str = ""
    namespace: str = ""
    current: bool = False
    acts_as: str = ""

    @property
    def source(self) -> str:
        """Return what `load_cluster` takes: `context:NAME`."""
        return f"{PREFIX}{self.name}"

    @property
    def who(self) -> str:
        """Return whose rights count, in words: the user, or the one whom the user acts as; "" if no one is named."""
        return f"{self.acts_as} ({self.user})" if self.acts_as else self.user

    @property
    def option(self) -> str:
        """Return the option that makes kubectl use the context; "" in a pod, where it takes the account by itself."""
        return "" if self.name == IN_CLUSTER and not self.server else f" --context {shlex.quote(self.name)}"


def contexts() -> tuple[Context, ...]:
    """Return the contexts of all kubeconfig files, sorted by name, the current one first; none where there is no file.

    If two contexts have one name, the first file's counts, as for kubectl. The service account of a pod comes last, as
    `in-cluster`. No plug-in is run and nothing is connected to. Raises SourceError for a file that is no kubeconfig.
    """
    files = read_kubeconfig(kubeconfig())
    found, current = {}, files.current
    for name, value in files.contexts.items():
        cluster, user, space = (str(value.get(key) or "") for key in ("cluster", "user", "namespace"))
        server = bare_server(str(files.clusters.get(cluster, {}).get("server", "")))
        found[name] = Context(name, cluster, user, server, space, acts_as=str(files.users.get(user, {}).get("as", "")))
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
        advice = "set KUBECONFIG, or log in to write a kubeconfig"
        raise SourceError(f"there is no kubeconfig with a context in {files!r}; {advice}")
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
