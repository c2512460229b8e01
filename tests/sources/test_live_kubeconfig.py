"""Ways to a cluster: kubeconfigs, tokens, certificates, plug-ins, proxies, impersonation; no message has a secret."""

import base64
import dataclasses
import logging
import sys
import warnings
from datetime import UTC, datetime, timedelta

import kubernetes.config.incluster_config as incluster
import pytest
import yaml
from api_server.kubeconfig import certificate_user, plugin_user, write_kubeconfig
from api_server.proxy import Proxy
from api_server.server import ApiServer
from api_server.small_cluster import recorded_store

from dra_lab.errors import SourceError
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.connection import contexts
from dra_lab.sources.live.reading import load_context

QUICK = ReadLimits(connect=2, read=2, overall=20, attempts=2, backoff_first=0.001, backoff_most=0.002)
SECRET = "s3cr3t-of-nobody"


@pytest.fixture(scope="module")
def served():
    """The recorded cluster, served for all tests of this file."""
    with ApiServer(recorded_store()) as made:
        yield made


@pytest.fixture
def server(served, monkeypatch):
    """The same server; it denies no request yet, and no way to connect is set up."""
    for name in ("KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    served.denied, served.impersonated = set(), []
    served.users.clear()
    return served


def refused() -> str:
    with pytest.raises(SourceError) as caught:
        load_context("test", limits=QUICK)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_paths_begin_at_the_file_in_which_they_stand(server, tmp_path, monkeypatch):
    """A user in one file and its cluster in another: each path is relative to its own file, as for kubectl."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    file = write_kubeconfig(one, server, {})
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "users": []}))
    users = [{"name": "test-user", "user": certificate_user(two, server, "carla")}]
    (two / "config").write_text(yaml.safe_dump({"users": users}))
    monkeypatch.setenv("KUBECONFIG", f"{file}:{two / 'config'}")
    assert load_context("test", limits=QUICK).slices
    assert server.users[-1] == "carla"


def test_of_two_users_of_one_name_the_first_counts(server, tmp_path, monkeypatch):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    files = [write_kubeconfig(f, server, {"token": t}) for f, t in zip(folders, ("good-token", SECRET), strict=True)]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    assert load_context("test", limits=QUICK).slices


def test_an_empty_file_of_the_list_says_nothing(use, tmp_path, monkeypatch):
    """Nor does a folder; kubectl passes over both."""
    file = use()
    (tmp_path / "empty").touch()
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'empty'}:{tmp_path}:{file}")
    assert load_context("test", limits=QUICK).slices


@pytest.mark.parametrize(
    "user", [{"token": "good-token\n"}, {"tokenFile": "file"}, {"token": "old-token", "tokenFile": "file"}]
)
def test_a_token_is_that_of_its_file_without_its_line_end(use, tmp_path, user):
    """As for kubectl, which reads the file again and again; the token beside it is what it began with."""
    (tmp_path / "file").write_text("good-token\n")
    use(user)
    assert load_context("test", limits=QUICK).slices


def test_a_user_may_act_as_somebody_else(server, use):
    """User, UID, groups and extra values are sent as kubectl sends them, and the rights of that user count."""
    extra = {"as-uid": "u", "as-groups": ["g", "h"], "as-user-extra": {"acme.com/x": ["1", "2"]}}
    use({"token": "good-token", "as": "bob", **extra})
    server.denied = {("bob", "list", "pods")}
    cluster = load_context("test", limits=QUICK)
    assert set(server.impersonated) == {
        (
            ("Impersonate-User", "bob"),
            ("Impersonate-Uid", "u"),
            ("Impersonate-Group", "g"),
            ("Impersonate-Group", "h"),
            ("Impersonate-Extra-acme.com%2Fx", "1"),
            ("Impersonate-Extra-acme.com%2Fx", "2"),
        )
    }
    assert cluster.read_as == "bob (test-user)"
    assert "'bob (test-user)' may not list pods" in cluster.findings[0].message


def test_a_user_who_may_not_act_as_somebody_else_is_reported(server, use):
    """The 403 of the impersonation itself, in the server's words."""
    use({"token": "good-token", "as": "bob"})
    server.denied = {("admin", "impersonate", "users")}
    assert 'cannot impersonate resource "users"' in refused()


def test_a_server_that_is_not_verified_is_a_finding(use):
    """insecure-skip-tls-verify works without a printed warning, and a finding explains what it means."""
    use(cluster={"insecure-skip-tls-verify": True, "certificate-authority": None})
    with warnings.catch_warnings(record=True) as printed:
        (finding,) = load_context("test", limits=QUICK).findings
    assert (finding.rule, printed) == ("server-not-verified", [])


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"server": "127.0.0.1:6443"}, {}, "not a URL that begins with https://"),
        ({"certificate-authority": "test.kubeconfig"}, {}, "certificate-authority"),
        ({"certificate-authority": None, "certificate-authority-data": "eHh4"}, {}, "certificate-authority"),
        ({}, {"client-certificate": "test-ca.pem", "client-key": "test-ca.pem"}, "client-key"),
        ({"proxy-url": "socks5://127.0.0.1:1"}, {}, "PySocks"),
        ({"server": None}, {"token": SECRET, "client-certificate": None, "exec": {"args": [SECRET]}}, "not a URL"),
        ({}, {"auth-provider": {"name": "oidc", "config": {"x": SECRET}}}, "cannot be used"),
        *(
            ({}, {"auth-provider": {"name": name, "config": {"id-token": "no-token"}}}, f"the auth-provider {name!r}")
            for name in ("gcp", "azure", "oidc")
        ),
        *(
            ({}, {"token": SECRET + end}, "has characters that a token cannot have")
            for end in ("\nx", "\0", "\u00e9", "\x7f")
        ),
        ({}, {"token": "good-token", "as-groups": ["g"]}, "without as"),
    ],
)
@pytest.mark.filterwarnings("ignore:SOCKS support in urllib3")
def test_a_setting_that_cannot_be_used_is_named(use, cluster, user, words):
    """Before anything is sent, and without its secrets: which entry is no certificate, key, URL, token or login."""
    use(user, cluster=cluster)
    assert words in refused()


def test_a_plugin_may_stand_beside_its_kubeconfig_and_print(use, tmp_path):
    """A relative command begins at the file; what goes to standard error is no part of the answer."""
    answer = '{"apiVersion": "%s", "kind": "ExecCredential", "status": {"token": "good-token"}}'
    api = "client.authentication.k8s.io/v1"
    text = f"#!{sys.executable}\nimport sys\nprint('a hint', file=sys.stderr)\nprint('''{answer % api}''')\n"
    (tmp_path / "login").write_text(text)
    (tmp_path / "login").chmod(0o755)
    use({"exec": {"apiVersion": api, "command": "./login", "args": None, "env": None}})
    assert load_context("test", limits=QUICK).slices


def test_a_plugin_whose_token_ends_soon_is_not_run_for_every_page(use, tmp_path):
    """The package takes a token for ended five minutes before its end; a reading of many pages asks for it once."""
    soon = (datetime.now(UTC) + timedelta(minutes=2)).isoformat()
    use(plugin_user(tmp_path, {"token": "good-token", "expirationTimestamp": soon}))
    assert load_context("test", limits=dataclasses.replace(QUICK, page=1)).slices
    assert len((tmp_path / "plugin-runs").read_text()) <= 3


def test_the_name_in_a_proxys_url_goes_to_the_proxy(server, use):
    """`http://name:password@proxy` is asked for with Proxy-Authorization."""
    with Proxy() as proxy:
        use(cluster={"proxy-url": proxy.url.replace("//", "//me:pass%20word@")})
        assert load_context("test", limits=QUICK).slices
        assert set(proxy.targets) == {f"127.0.0.1:{server.port}"}
        assert set(proxy.authorizations) == {"Basic bWU6cGFzcyB3b3Jk"}


def test_a_command_names_the_context_as_a_shell_reads_it(server, use):
    use(name="o'dd name")
    server.denied = {("admin", "list", "pods")}
    (finding,) = load_context("o'dd name", limits=QUICK).findings
    assert """ --context 'o'"'"'dd name'""" in finding.advice


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


def test_a_proxy_of_the_environment(server, use, monkeypatch):
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
    with Proxy(refuses=True) as proxy:
        use(cluster={"proxy-url": proxy.url})
        with pytest.raises(SourceError, match="proxy"):
            load_context("test", limits=QUICK)


def test_an_authority_given_as_data_and_a_server_name(server, use, tmp_path):
    """certificate-authority-data, tls-server-name: as the package handles them."""
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
