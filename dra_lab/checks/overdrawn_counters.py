"""Shared counters that are overdrawn."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.findings import Finding, Severity
from dra_lab.index.in_use import counters_in_use
from dra_lab.model.cluster import Cluster


def check_counters(cluster: Cluster) -> Iterator[Finding]:
    """Yield counters of which the devices in use draw more than there is: their pool gives nothing any more."""
    for use in counters_in_use(cluster):
        if use.amount.left < 0:
            subject = f"{use.driver}/{use.pool}"
            message = f"devices in use draw {float(use.amount.used):g} of counter {use.counter_set}/{use.counter}"
            message += f", and there are {float(use.amount.total):g}"
            advice = "The driver publishes less than before, so devices that need this counter cannot be allocated."
            yield Finding("counter-overdrawn", Severity.WARNING, subject, message, advice)
