"""The 3,000 recorded validation cases (target 10 s), and 100,000 broken documents: an answer or one of our errors."""

from __future__ import annotations

import gzip
import json
import random
import time

from dra_lab.checks.admission import replay_validation
from dra_lab.errors import DraLabError
from tests.mutated_documents import CASES, READERS, mutate, small_objects

MUTANTS = 100_000


def main() -> None:
    """Print the times; another exception than ours ends it with a traceback that names the mutant."""
    with gzip.open(CASES) as lines:
        cases = [json.loads(line) for line in lines]
    started = time.perf_counter()
    for case in cases:
        replay_validation(case)
    print(f"{len(cases):,} recorded validation cases: {time.perf_counter() - started:.2f} s   (target 10 s)")
    slowest, started = 0.0, time.perf_counter()
    rng, objects = random.Random(1), small_objects(1500)
    for number in range(MUTANTS):
        mutant, before = mutate(rng.choice(objects), rng), time.perf_counter()
        try:
            READERS[number % len(READERS)](mutant)
        except DraLabError:
            pass
        except Exception as error:
            raise AssertionError(f"mutant {number}: {type(error).__name__}: {error}") from error
        slowest = max(slowest, time.perf_counter() - before)
    seconds = time.perf_counter() - started
    print(f"{MUTANTS:,} broken documents: {seconds:.0f} s, the slowest {slowest:.2f} s   (no target)")


if __name__ == "__main__":
    main()
