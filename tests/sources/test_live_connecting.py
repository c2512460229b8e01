"""Ways to a cluster: kubeconfig lists, tokens, certificates, plug-ins, proxies, the service account of a pod."""

import logging

import kubernetes.config.incluster_config as incluster
import pytest
from api_server.kubeconfig import certificate_user, plugin_user, write_kubeconfig
from api_server.proxy import Proxy
from api_server.server import ApiServer
from api_server.small_cluster import recorded_store

from dra_lab.errors import SourceError
from dra_lab.sources.live import ReadLimits, contexts, load_context

QUICK = ReadLimits(connect=2, read=2, overall=20, attempts=2, backoff_first=0.001, backoff_most=0.002)


@pytest.fixture
def server(monkeypatch):
    """The recorded cluster, served; no way to it is set up."""
    for name in ("KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ApiServer(recorded_store()) as made:
        yield made


def test_a_token_file(server, use, tmp_path):
    """A token that stands in a file of its own."""
    (tmp_path / "token").write_text("good-token")
    use({"tokenFile": str(tmp_path / "token")})
    assert load_context("test", limits=QUICK).slices
    assert set(server.users) == {"admin"}


def test_a_client_certificate(server, use, tmp_path):
    """A certificate and key, named relative to the kubeconfig."""
    use(certificate_user(tmp_path, server, "carla"))
    assert load_context("test", limits=QUICK).slices
    assert set(server.users) == {"carla"}


def test_no_credentials_at_all(server, use):
    """The server accepts no user, and the error names the missing rights."""
    use({})
    with pytest.raises(SourceError, match=r"anonymous|can-i"):
        load_context("test", limits=QUICK)


def test_a_plugin_gives_the_token(server, use, tmp_path):
    """An exec plug-in is run once for a whole reading."""
    use(plugin_user(tmp_path, {"token": "good-token"}))
    assert load_context("test", limits=QUICK).slices
    assert (tmp_path / "plugin-runs").read_text() == "x"


def test_a_plugins_token_that_is_refused_is_asked_for_once_more(server, use, tmp_path):
    """A 401 runs the plug-in again, as its token may have expired; a second one ends it."""
    use(plugin_user(tmp_path, {"token": "old-token"}))
    with pytest.raises(SourceError, match="Log in again"):
        load_context("test", limits=QUICK)
    assert (tmp_path / "plugin-runs").read_text() == "xx"


def test_a_plugin_that_fails_is_named(server, use, tmp_path, caplog):
    """Not a 401 of the server: the plug-in, and the command that shows what it says."""
    use(plugin_user(tmp_path, None, fails=True))
    with (
        caplog.at_level(logging.CRITICAL),
        pytest.raises(SourceError, match=r"plug-in .*kubectl get nodes"),
    ):
        load_context("test", limits=QUICK)


def test_a_plugin_that_is_not_installed_is_named(server, use):
    """The same for a command that does not exist."""
    api = "client.authentication.k8s.io/v1"
    use({"exec": {"apiVersion": api, "command": "no-such-plugin", "interactiveMode": "Never"}})
    with pytest.raises(SourceError, match="no-such-plugin"):
        load_context("test", limits=QUICK)


def test_what_a_kubeconfig_says_about_its_plugin_is_reported(server, use):
    """`installHint`, which clouds write for a missing plugin, is shown in one line and cut if it is endless."""
    api = "client.authentication.k8s.io/v1"
    hint = "Install no-such-plugin\n  from https://cloud.example/docs" + " x" * 1000
    use({"exec": {"apiVersion": api, "command": "no-such-plugin", "installHint": hint, "interactiveMode": "Never"}})
    with pytest.raises(SourceError, match=r"says: Install no-such-plugin from https://cloud.example/docs x") as caught:
        load_context("test", limits=QUICK)
    assert len(str(caught.value)) < 1000


def test_a_list_of_kubeconfigs(server, tmp_path, monkeypatch):
    """KUBECONFIG may name several files, also some that do not exist; the first current context counts."""
    one = write_kubeconfig(tmp_path, server, name="one", current=False)
    two = write_kubeconfig(tmp_path, server, name="two")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}:{one}:{two}")
    assert load_context(limits=QUICK).name == "context:two"
    assert load_context("one", limits=QUICK).read_as == "one-user"
    assert [context.name for context in contexts()] == ["two", "one"]


def test_the_first_of_two_current_contexts_counts_as_for_kubectl(server, tmp_path, monkeypatch):
    """Otherwise one would plan on another cluster than kubectl talks to."""
    one = write_kubeconfig(tmp_path, server, name="one")
    two = write_kubeconfig(tmp_path, server, name="two")
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}")
    assert load_context(limits=QUICK).name == "context:one"


def test_a_proxy_of_the_kubeconfig(server, use):
    """`proxy-url` is obeyed: the proxy is asked to connect, the server is reached through it."""
    with Proxy() as proxy:
        use(cluster={"proxy-url": proxy.url})
        assert load_context("test", limits=QUICK).slices
        assert set(proxy.targets) == {f"127.0.0.1:{server.port}"}


def test_a_proxy_of_the_environment(server, use, monkeypatch):
    """HTTPS_PROXY is obeyed, and NO_PROXY as well."""
    with Proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        use()
        assert load_context("test", limits=QUICK).slices
        assert proxy.targets
        proxy.targets.clear()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert load_context("test", limits=QUICK).slices
        assert not proxy.targets


def test_a_proxy_that_refuses_is_named(server, use):
    """The proxy, not the server, is what is in the way."""
    with Proxy(refuses=True) as proxy:
        use(cluster={"proxy-url": proxy.url})
        with pytest.raises(SourceError, match="proxy"):
            load_context("test", limits=QUICK)


def test_an_authority_given_as_data_and_a_server_name(server, use, tmp_path):
    """certificate-authority-data, tls-server-name: as the package handles them."""
    import base64

    data = base64.b64encode(server.authority.cert_pem.bytes()).decode()
    cluster = {"certificate-authority-data": data, "certificate-authority": None, "tls-server-name": "localhost"}
    use(cluster=cluster)
    assert load_context("test", limits=QUICK).slices


def test_the_service_account_of_a_pod(server, tmp_path, monkeypatch):
    """Without a kubeconfig, in a pod: its mounted token and authority."""
    (tmp_path / "token").write_text("good-token")
    server.authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    # where the kubelet mounts them is fixed; a test cannot write there
    monkeypatch.setattr(incluster, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    cluster = load_context(limits=QUICK)
    assert cluster.name == "context:in-cluster"
    assert cluster.slices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("[1]", "is not a kubeconfig"),
        ("current-context: x\n", "no kubeconfig with a context"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: []\n", "cannot be used"),
    ],
)
def test_a_broken_kubeconfig_is_reported(server, tmp_path, monkeypatch, text, words):
    """Which file, and what is wrong with it; its lines are not shown, as they may hold secrets."""
    (tmp_path / "config").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with pytest.raises(SourceError, match=words):
        load_context(limits=QUICK)
