"""DeviceTaintRules that a plan leaves out, because kube-scheduler of its release does not look at them."""

from __future__ import annotations

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease

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
