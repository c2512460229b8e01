"""The contexts of the kubeconfig files, by name: what a person may choose from. Nothing is connected to."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from dra_lab.errors import SourceError
from dra_lab.sources.files import CONTEXT
from dra_lab.sources.live.kubeconfig import KubeconfigFiles, Settings, kubeconfig, read_kubeconfig

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
    found, current = _read()
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


def _read() -> tuple[dict[str, Context], str]:
    files = read_kubeconfig(kubeconfig())
    return {name: _context(name, value, files) for name, value in files.contexts.items()}, files.current


def _context(name: str, value: Settings, files: KubeconfigFiles) -> Context:
    cluster, user, space = (str(value.get(key) or "") for key in ("cluster", "user", "namespace"))
    server = bare_server(str(files.clusters.get(cluster, {}).get("server", "")))
    return Context(name, cluster, user, server, space, acts_as=str(files.users.get(user, {}).get("as", "")))
