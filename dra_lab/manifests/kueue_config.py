"""Kueue's Configuration inside the ConfigMap that its manager reads."""

from __future__ import annotations

from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.topologies import is_custom

CONFIG_KEY = "controller_manager_config.yaml"
"""The key of the ConfigMap `kueue-manager-config`."""


def kueue_configuration(config_map: dict[str, Any]) -> dict[str, Any] | None:
    """Return the Configuration that a ConfigMap has, with the metadata of the ConfigMap; None if it has none."""
    data, metadata = config_map.get("data"), config_map.get("metadata")
    text = data.get(CONFIG_KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return None
    try:
        values = [document.value for document in load_yaml(text, CONFIG_KEY)]
    except ManifestError:
        return None
    for value in values:
        if not isinstance(value, dict) or value.get("kind") != "Configuration":
            continue
        if is_custom("Configuration", value.get("apiVersion")):
            named = metadata if isinstance(metadata, dict) else {}
            kept = {key: named[key] for key in ("name", "namespace") if isinstance(named.get(key), str)}
            return {**value, "metadata": {"name": "kueue", **kept}}
    return None
