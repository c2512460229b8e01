"""The 3,000 recorded validation cases; target 10 s. `bench_fuzz` has broken documents."""

from __future__ import annotations

import gzip
import json
import time

from dra_lab.checks.document_checks import replay_validation
from tests.mutated_documents import CASES


def main() -> None:
    """Print the time."""
    with gzip.open(CASES) as lines:
        cases = [json.loads(line) for line in lines]
    started = time.perf_counter()
    for case in cases:
        replay_validation(case)
    print(f"{len(cases):,} recorded validation cases: {time.perf_counter() - started:.2f} s   (target 10 s)")


if __name__ == "__main__":
    main()
