"""From a context to a connection, made by the `kubernetes` package: kubeconfig, plug-ins, certificates, proxy."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from dra_lab.errors import SourceError
from dra_lab.sources.live.kubeconfig import IN_CLUSTER, Context, Settings, bare_server, kubeconfig, read_kubeconfig
from dra_lab.version import __version__

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
