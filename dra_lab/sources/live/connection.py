"""From a context to a connection, made by the `kubernetes` package: kubeconfig, plug-ins, certificates, proxy."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dra_lab.errors import SourceError
from dra_lab.sources.live.contexts import IN_CLUSTER, Context, bare_server, kubeconfig
from dra_lab.sources.live.hanging_up import Sockets


@dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """What the package made of a context: the pool of connections, the configuration that knows the credentials.

    `server` is the URL without credentials. Neither of the other two is ever printed: they hold secrets.
    """

    pool: Any
    configuration: Any
    server: str
    agent: str
    sockets: Sockets

    def headers(self) -> dict[str, str]:
        """Return the headers that say who asks, credentials renewed where the package knows how (plug-ins, tokens).

        Raises SourceError when that fails.
        """
        try:
            settings = self.configuration.auth_settings()
        except Exception as error:  # noqa: BLE001  plug-ins and token files fail in every way
            raise SourceError(f"the credentials for {self.server} cannot be renewed: {_words(error)}") from None
        found = {"Accept": "application/json", "User-Agent": self.agent}
        for setting in settings.values():
            if setting["in"] == "header" and setting["value"]:
                found[setting["key"]] = setting["value"]
        return found

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self.pool.clear()

    def hang_up(self) -> None:
        """Shut all connections: threads that wait for an answer come back with an error. Nothing is sent after it."""
        self.sockets.hang_up()


def connect(context: Context) -> Connection:
    """Return a connection for a context; plug-ins of the kubeconfig run now. Raises SourceError."""
    from dra_lab import __version__

    configuration = _package("client").Configuration()
    # What stops a connection that died without a word; otherwise hours can pass.
    configuration.keep_alive = True
    try:
        _configure(context, configuration)
        client = _package("client").ApiClient(configuration)
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001  files, YAML, certificates, plug-ins: all of it is the kubeconfig's
        words = f"the context {context.name!r} cannot be used: {_words(error)}"
        raise SourceError(f"{words}; see whether it works with: kubectl --context {context.name} get nodes") from None
    server = bare_server(configuration.host) or context.server
    pool = client.rest_client.pool_manager
    return Connection(pool, configuration, server, f"dra-lab/{__version__}", Sockets(pool))


def _configure(context: Context, configuration: Any) -> None:
    if context.name == IN_CLUSTER and not context.server:
        _package("config").load_incluster_config(client_configuration=configuration)
        return
    _package("config").load_kube_config(kubeconfig(), context=context.name, client_configuration=configuration)
    command = _plugin(context)
    # The package logs why a plug-in failed and goes on without credentials: the server would only say 401 or 403.
    if command and not configuration.api_key and not configuration.cert_file:
        raise SourceError(
            f"the plug-in {command!r} that the context {context.name!r} gets its credentials from gave none; is it "
            f"installed, are you logged in? It says why with: kubectl --context {context.name} get nodes"
        )


def _plugin(context: Context) -> str:
    """Return the command of the plug-in that gives a context its credentials, or ""."""
    users = _package("config.kube_config").KubeConfigMerger(kubeconfig()).config["users"]
    user = users.get_with_name(context.user, safe=True) if context.user else None
    value = user.safe_get("user") if user else None
    plugin = value.get("exec") if isinstance(value, dict) else None
    return str(plugin.get("command") or "") if isinstance(plugin, dict) else ""


def _package(module: str) -> Any:
    # a part of it has types and a part has not, which differs between its releases
    return import_module(f"kubernetes.{module}")


def _words(error: Exception) -> str:
    # what the package and the files say may quote a line with a token, so only kinds of errors with known texts speak
    known = isinstance(error, _package("config").ConfigException | FileNotFoundError | PermissionError)
    text = " ".join(str(error).split()) if known else type(error).__name__
    return text[:300]
