"""How long kube-scheduler needs to search one node, estimated from what it looks at.

The filter of kube-scheduler stops after 10 s on one node, and from 1.36 this ends the pod's whole attempt
(docs/semantics.md 3.13). The time of a candidate depends on the claim, so a number of candidates is no limit.

The costs below are an upper envelope of measured times of the Go allocator of 1.36.2, in nanoseconds. The sources are:

- 22 recorded cases with the allocator's time per node (`tests/conformance/allocation-hard.ndjson.gz`, `allocatorMs`).
- 4 and 5 preferred pairs on a node that is one NIC short: 0.1 s and 2.3 s.
- 8 pairs as 16 requests and 8 constraints: 250,000 to 305,000 candidates per second, 10 s for 2.8 million.

No estimate is below a measured time, and most are below 1.6 times it.
"""

from __future__ import annotations

SCANNED = 150
"""One device that the search comes to, in use or refused by a selector or not: measured 110 to 125."""

CANDIDATE = 1_050
"""One device that it tries as well: measured 600 to 1,000."""

CONSTRAINT = 280
"""Each constraint of the claim, for each device tried: the allocator asks all of them. Measured 265."""

COUNTED = 2_600
"""One device tried that has counters or is shared: measured up to 2,500."""

SELECTOR = 10_000
"""One selector on one device, which is evaluated once per search: measured 4,000 to 8,000."""

SLOW = 1.0
"""Seconds of one search from which a person must know: a busy scheduler may need several times as long."""

LONGEST = 5.0
"""Seconds of one search above which nothing is exported: half of kube-scheduler's limit, for slower machines."""

GIVES_UP = 10.0
"""Seconds after which kube-scheduler stops the search of a node (gate DRASchedulerFilterTimeout, its default)."""
