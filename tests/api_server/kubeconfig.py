"""Kubeconfig files on disk for a server: by token, token file, client certificate, plug-in; through a proxy."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import trustme
import yaml

from .server import ApiServer


def write_kubeconfig(
    folder: Path,
    server: ApiServer,
    user: dict[str, Any] | None = None,
    *,
    name: str = "test",
    cluster: dict[str, Any] | None = None,
    current: bool = True,
) -> Path:
    """Write a kubeconfig with one context and return its file; the user has the good token unless told otherwise."""
    authority = folder / f"{name}-ca.pem"
    server.authority.cert_pem.write_to_path(authority)
    where = {"server": server.url, "certificate-authority": authority.name, **(cluster or {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": f"{name}-cluster", "cluster": where}],
        "users": [{"name": f"{name}-user", "user": user if user is not None else {"token": "good-token"}}],
        "contexts": [{"name": name, "context": {"cluster": f"{name}-cluster", "user": f"{name}-user"}}],
    }
    if current:
        document["current-context"] = name
    file = folder / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


def certificate_user(folder: Path, server: ApiServer, common_name: str) -> dict[str, str]:
    """Return a user with a client certificate in files."""
    made = server.authority.issue_cert(f"{common_name}@test", common_name=common_name)
    made.cert_chain_pems[0].write_to_path(folder / "client.pem")
    made.private_key_pem.write_to_path(folder / "client.key")
    return {"client-certificate": "client.pem", "client-key": "client.key"}


def plugin_user(folder: Path, status: dict[str, Any] | None, *, fails: bool = False) -> dict[str, Any]:
    """Return a user whose credentials a program gives; each run leaves a mark in the file `plugin-runs`."""
    api = "client.authentication.k8s.io/v1"
    answer = json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": status or {}})
    (folder / "plugin-answer.json").write_text(answer)
    script = folder / "plugin"
    runs, source = folder / "plugin-runs", folder / "plugin-answer.json"
    end = "raise SystemExit('not logged in')" if fails else f"print(open({str(source)!r}).read())"
    script.write_text(f"#!{sys.executable}\nopen({str(runs)!r}, 'a').write('x')\n{end}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": api, "command": str(script), "interactiveMode": "Never"}}


def untrusted() -> bytes:
    """Return the certificate of an authority that signed nothing."""
    return trustme.CA().cert_pem.bytes()
