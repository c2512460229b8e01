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
    what = "a DeviceTaintRule is" if count == 1 else f"{count:,} DeviceTaintRules are"
    message = (
        f"{what} there, and kube-scheduler {release.version} looks at such rules with the feature gate {_GATE} only, "
        "which is off by default: this plan leaves them out"
    )
    advice = "Where the gate is on, plan for 1.37, where it is on by default, and compare."
    return (Finding("taint-rules-ignored", Severity.WARNING, "devicetaintrules", message, advice),)
