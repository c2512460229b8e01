"""Taints, tolerations and DeviceTaintRules (KEP-5055; docs/semantics.md 1.9, 1.11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dra_lab.checks.rules import (
    Errors,
    check_driver,
    check_label,
    check_label_name,
    check_label_value,
    check_metadata,
    check_pool,
    invalid,
    required,
)
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import DeviceToleration
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.release import KubernetesRelease

EFFECTS = ("None", "NoExecute", "NoSchedule")
_EFFECTS_1_34 = ("NoExecute", "NoSchedule")


def effects(release: KubernetesRelease) -> tuple[str, ...]:
    """Return the effects that a release knows; `None` came with 1.35."""
    return EFFECTS if release.is_at_least("1.35") else _EFFECTS_1_34


def check_taint(taint: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `taints[]`: key and effect are required, the value is a label value."""
    yield from check_label_name(taint.get("key") or "", f"{path}.key")
    yield from check_label_value(taint.get("value") or "", f"{path}.value")
    effect = taint.get("effect") or ""
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in effects(release):
        yield invalid(f"{path}.effect", effect, f"use one of {', '.join(effects(release))}")


def check_toleration(toleration: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `tolerations[]`. An empty key with operator Equal passes, unlike for nodes."""
    if toleration.get("key"):
        yield from check_label_name(toleration["key"], f"{path}.key")
    value = toleration.get("value") or ""
    match toleration.get("operator") or "":
        case "Exists":
            if value:
                yield invalid(f"{path}.value", value, "operator Exists takes no value")
        case "Equal":
            yield from check_label_value(value, f"{path}.value")
        case "":
            yield required(f"{path}.operator")
        case other:
            yield invalid(f"{path}.operator", other, "use Equal or Exists")
    effect = toleration.get("effect") or ""
    if effect and effect not in effects(release):
        yield invalid(f"{path}.effect", effect, f"use one of {', '.join(effects(release))}")


def excludes(taint: DeviceTaint, tolerations: Iterable[DeviceToleration]) -> bool:
    """Say whether a taint keeps a request with these tolerations from the device."""
    return taint.effect in ("NoSchedule", "NoExecute") and not any(
        toleration.key in ("", taint.key)
        and toleration.effect in ("", taint.effect)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
        for toleration in tolerations
    )


def check_taint_rule(rule: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what the API server refuses in a new DeviceTaintRule (a decoded v1 document with its defaults)."""
    yield from check_metadata(rule.get("metadata") or {}, namespaced=False)
    spec = rule.get("spec") or {}
    selector = spec.get("deviceSelector") or {}
    for name, check in (("driver", check_driver), ("pool", check_pool), ("device", check_label)):
        if name in selector:
            yield from check(selector[name], f"spec.deviceSelector.{name}")
    yield from check_taint(spec.get("taint") or {}, "spec.taint", release)


_GATE = "DRADeviceTaintRules"


def ignored_taint_rules(cluster: Cluster, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return that taint rules are there which are not looked at, where the gate is off (docs/semantics.md 1.9.4)."""
    count = len(cluster.taint_rules)
    if not count or release.enabled(_GATE):
        return ()
    what = "a DeviceTaintRule exists" if count == 1 else f"{count:,} DeviceTaintRules exist"
    message = (
        f"{what}, and kube-scheduler {release.version} reads such rules only with the feature gate {_GATE}, "
        "which is off by default, so this plan ignores them"
    )
    advice = "If the gate is on in your cluster, plan for 1.37, in which it is on by default."
    return (Finding("taint-rules-ignored", Severity.WARNING, "devicetaintrules", message, advice),)
