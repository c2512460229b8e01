"""100,000 broken inputs, half expressions and half documents: counts by outcome; none may raise, hang or fill memory.

The whole process may take 4 GiB of address space, set as a limit before the first input.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutated_documents import mutate as mutate_document
from mutated_documents import small_objects
from mutated_expressions import mutate as mutate_expression
from mutated_expressions import outcome, seeds

from dra_lab.cel.selector import compile_selector
from dra_lab.checks.document_checks import RECORDED, admit
from dra_lab.errors import DraLabError
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.yaml_text import dump_yaml

EXPRESSIONS = 50_000
DOCUMENTS = 50_000
SLOWEST_SECONDS = 5.0
ADDRESS_SPACE = 4 * 2**30


def _read(mutant: object) -> str:
    try:
        text = dump_yaml(mutant)
    except (RecursionError, UnicodeEncodeError):
        return "no text of it exists"
    try:
        decode_documents(text)
    except DraLabError:
        return "refused when read"
    return "read"


def _document(mutant: object) -> str:
    read = _read(mutant)
    try:
        answer = admit(mutant, RECORDED)
    except DraLabError:
        return f"{read}, our error at admission"
    return f"{read}, {'accepted' if answer.accepted else 'refused'}"


def _run(name: str, count: int, make: Callable[[random.Random], object], answer: Callable[[object], str]) -> None:
    rng = random.Random(36)
    counts: Counter[str] = Counter()
    slowest = 0.0
    start = time.perf_counter()
    for number in range(count):
        mutant = make(rng)
        began = time.process_time()
        try:
            counts[answer(mutant)] += 1
        except Exception as error:
            raise SystemExit(f"{name} {number}: {type(error).__name__}: {error}\n{mutant!r}"[:2000]) from error
        slowest = max(slowest, time.process_time() - began)
    print(f"{count:,} {name} in {time.perf_counter() - start:.0f} s, the slowest {slowest:.2f} s")
    for text, times in counts.most_common():
        print(f"  {times:>6,}  {text}")
    if slowest > SLOWEST_SECONDS:
        raise SystemExit(f"{name}: one took {slowest:.1f} s, more than {SLOWEST_SECONDS} s")


def main() -> None:
    """Print the counts; ends with an error at the first exception that is not ours."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    texts, objects = seeds(), small_objects(1000)
    compile_selector("true")
    _run("mutated expressions", EXPRESSIONS, lambda rng: mutate_expression(texts, rng), lambda text: outcome(str(text)))
    _run("mutated documents", DOCUMENTS, lambda rng: mutate_document(rng.choice(objects), rng), _document)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"most memory {most:,.0f} MiB, limit {ADDRESS_SPACE // 2**20:,} MiB of address space")


if __name__ == "__main__":
    main()
