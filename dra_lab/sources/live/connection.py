"""From the contexts of kubeconfig files to a connection: credentials, plug-ins, certificates, proxy."""

from __future__ import annotations

import os
import shlex
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import yaml

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import expanded
from dra_lab.sources.files import CONTEXT
from dra_lab.version import __version__

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


KEPT = 10.0
"""Seconds for which the headers of a connection are used again."""


@dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """What the package made of a context: the pool of connections, the configuration that knows the credentials.

    `server` is the URL without credentials, `acts_as` the headers of impersonation, `kept` the headers that were used
    last and when they were made. None of it but the server is ever printed: it holds secrets.
    """

    pool: Any
    configuration: Any
    server: str
    agent: str
    acts_as: tuple[tuple[str, str], ...] = ()
    kept: list[tuple[float, Any]] = field(default_factory=list)

    def headers(self) -> Any:
        """Return the headers that say who asks, credentials renewed where the package knows how (plug-ins, tokens).

        They are asked for again after KEPT seconds: the package renews a token with each request from five minutes
        before its end, and some plug-ins give none that is good for longer. Raises SourceError when that fails.
        """
        from urllib3 import HTTPHeaderDict

        if self.kept and time.monotonic() - self.kept[0][0] < KEPT:
            return HTTPHeaderDict(self.kept[0][1])
        try:
            settings = self.configuration.auth_settings()
        except Exception as error:  # noqa: BLE001  plug-ins and token files fail in every way
            raise SourceError(f"the credentials for {self.server} cannot be renewed: {_words(error)}") from None
        found = HTTPHeaderDict({"Accept": "application/json", "User-Agent": self.agent})
        for setting in settings.values():
            if setting["in"] == "header" and setting["value"]:
                found[setting["key"]] = _one_line(str(setting["value"]), self.server)
        for name, value in self.acts_as:
            found.add(name, value)
        self.kept[:] = [(time.monotonic(), found)]
        return HTTPHeaderDict(found)

    @property
    def verified(self) -> bool:
        """Say whether the server's certificate is looked at."""
        return bool(self.configuration.verify_ssl)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self.pool.clear()


def connect(context: Context) -> Connection:
    """Return a connection for a context; plug-ins of the kubeconfig run now. Raises SourceError."""
    from kubernetes import client as kubernetes
    from urllib3.util import make_headers, parse_url

    configuration = kubernetes.Configuration()
    # What stops a connection that died without a word; otherwise hours can pass.
    configuration.keep_alive = True
    try:
        user = _configure(context, configuration)
        _check(context, configuration)
        who = parse_url(configuration.proxy).auth if configuration.proxy else None
        if who and not configuration.proxy_headers:  # the package does not give the proxy its name and password
            configuration.proxy_headers = make_headers(proxy_basic_auth=unquote(who))
        client = kubernetes.ApiClient(configuration)
        acts_as = impersonation(user)
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001  files, YAML, certificates, plug-ins: all of it is the kubeconfig's
        words = f"the context {context.name!r} cannot be used: {_words(error)}"
        raise SourceError(f"{words}; check whether this works: kubectl get nodes{context.option}") from None
    server = bare_server(configuration.host) or context.server
    pool = client.rest_client.pool_manager
    return Connection(pool, configuration, server, f"dra-lab/{__version__}", acts_as)


def _configure(context: Context, configuration: Any) -> Settings:
    """Let the package read the context; returns the entry of its user."""
    from kubernetes.config import load_incluster_config, load_kube_config_from_dict

    if context.name == IN_CLUSTER and not context.server:
        load_incluster_config(client_configuration=configuration)
        return {}
    found = read_kubeconfig(kubeconfig()).of(context.name)
    user: Settings = found["users"][0]["user"] if found["users"] else {}
    if user.get("auth-provider"):
        _configure_with_provider(context, user, configuration)
    else:
        load_kube_config_from_dict(found, context=context.name, client_configuration=configuration)
    plugin = user.get("exec")
    plugin = plugin if isinstance(plugin, dict) else {}
    command = plugin.get("command")
    # The package logs why a plug-in failed and goes on without credentials: the server would only say 401 or 403.
    if command and not configuration.api_key and not configuration.cert_file:
        hint = plugin.get("installHint")  # where to get the plug-in
        hint = (
            f". The kubeconfig says: {' '.join(hint.split())[:300]}" if isinstance(hint, str) and hint.strip() else ""
        )
        raise SourceError(
            f"the credential plug-in {command!r} of the context {context.name!r} returned no credentials; is it "
            f"installed, and are you logged in? To see its message: kubectl get nodes{context.option}{hint}"
        )
    return user


def _configure_with_provider(context: Context, user: Settings, configuration: Any) -> None:
    """Let the package ask an `auth-provider`, the way before plug-ins; it knows OpenID Connect."""
    from kubernetes.config import load_kube_config

    try:
        # a refreshed token goes back to its file, as the old one is worth nothing after it
        load_kube_config(kubeconfig(), context=context.name, client_configuration=configuration)
    except (AttributeError, LookupError, TypeError, ValueError):
        # of a provider that the package does not know any more, or an entry that lacks something
        configuration.api_key = {}
    if configuration.api_key or configuration.cert_file:
        return
    provider = user["auth-provider"]
    name = provider.get("name") if isinstance(provider, dict) else provider
    raise SourceError(
        f"the auth-provider {str(name)[:40]!r} of the context {context.name!r} returned no credentials; log in "
        "again. Kubernetes 1.26 removed the auth-providers of clouds (gcp, azure); their command line writes an "
        "exec plug-in instead (gke-gcloud-auth-plugin, kubelogin)"
    )


def impersonation(user: Settings) -> tuple[tuple[str, str], ...]:
    """Return the headers that a kubeconfig user's `as`, `as-uid`, `as-groups` and `as-user-extra` ask for.

    Raises SourceError when there are groups and the like without `as`, which kubectl refuses as well.
    """
    groups, extra = user.get("as-groups"), user.get("as-user-extra")
    found = [("Impersonate-Uid", str(user["as-uid"]))] if user.get("as-uid") else []
    found += [("Impersonate-Group", str(group)) for group in groups] if isinstance(groups, list) else []
    for key, values in extra.items() if isinstance(extra, dict) else ():
        name = f"Impersonate-Extra-{quote(str(key), safe='')}"
        found += [(name, str(value)) for value in values or ()]
    if user.get("as"):
        return ("Impersonate-User", str(user["as"])), *found
    if found:
        raise SourceError("the user of the kubeconfig has as-groups, as-uid or as-user-extra without as; add as")
    return ()


def _check(context: Context, configuration: Any) -> None:
    """Look at the URL and the certificates now: a request would only say that it failed. Raises SourceError."""
    import urllib3

    refused = f"the context {context.name!r} cannot be used: "
    if not str(configuration.host).startswith(("https://", "http://")):
        raise SourceError(f"{refused}the server of its cluster is not a URL that begins with https://")
    if not configuration.verify_ssl:
        # a Finding reports it once, not with every request
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if configuration.ssl_ca_cert and configuration.verify_ssl:
            trust.load_verify_locations(configuration.ssl_ca_cert)
    except ssl.SSLError:
        raise SourceError(f"{refused}its certificate-authority (or -data) contains no certificate in PEM") from None
    try:
        if configuration.cert_file:
            # a password, so that no terminal asks for one; the key is then refused
            trust.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
    except ssl.SSLError:
        what = "its client-certificate and client-key (or -data) are not a certificate and its key in PEM"
        raise SourceError(f"{refused}{what}; a key with a password cannot be used") from None


def _one_line(value: str, server: str) -> str:
    """Return a header's value without what surrounds it; what http.client says of one it refuses shows the token."""
    bare = value.strip()
    if not bare.isprintable() or not bare.isascii():
        raise SourceError(
            f"the token for {server} has characters that a token cannot have; is its file the right one? Log in again"
        )
    return bare


def _words(error: Exception) -> str:
    from kubernetes.config import ConfigException

    # what the package and the files say may quote a line with a token, so only kinds of errors with known texts speak
    if isinstance(error, ModuleNotFoundError) and error.name == "socks":
        return "a SOCKS proxy needs the package PySocks (pip install PySocks)"
    known = isinstance(error, ConfigException | FileNotFoundError | PermissionError)
    text = " ".join(str(error).split()) if known else type(error).__name__
    return text.partition("{")[0][:300]  # the package quotes whole entries, which begin so
