"""`make bench`: runs every benchmark, each in its own process, prints its medians and records them in RESULTS.md.

`python -m tests.benchmarks exports fleet` runs only those named and records nothing.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
HEAD = """# Measured speeds

`make bench` writes this table, with the targets beside the values. Times are medians. In the column "Machine", "loop"
is the time of 20 million additions in the same hour. The same code takes up to twice as long in another hour.

| Date | Commit | Machine | Benchmark | Value |
|---|---|---|---|---|
"""


def loop_seconds() -> float:
    """Return the seconds of 20 million additions: what figures of two machines, or of two hours, are compared by."""
    began, total = time.perf_counter(), 0
    for number in range(20_000_000):
        total += number
    return time.perf_counter() - began


def values(output: str) -> list[str]:
    """Return the values that a benchmark printed, one per line; an indented line belongs to the value before it."""
    found: list[str] = []
    for line in output.strip().splitlines():
        text = " ".join(line.split()).replace("|", "/").rstrip(";")
        if line.startswith(" ") and found:
            found[-1] += f"; {text}"
        elif text:
            found.append(text)
    return found


def table(printed: dict[str, str], loop: float) -> str:
    """Return RESULTS.md: a row for each value that the benchmarks printed, with `loop` in seconds."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, loop {loop:.1f} s"
    start = f"| {datetime.now(UTC).date()} | {commit.stdout.strip() or '?'} | {machine} | "
    rows = [f"{start}{name} | {value} |\n" for name, output in printed.items() for value in values(output)]
    return HEAD + "".join(rows)


def main() -> int:
    """Run the benchmarks in the order of their names; returns 1 when one of them failed, 2 when a name is not known."""
    wanted, failed = sys.argv[1:], False
    unknown = [name for name in wanted if not (HERE / f"bench_{name}.py").exists()]
    if unknown:
        print(f"there is no benchmark {', '.join(unknown)}", file=sys.stderr)
        return 2
    printed: dict[str, str] = {}
    loops = [loop_seconds()]
    for file in sorted(HERE.glob("bench_*.py")):
        if wanted and file.stem.removeprefix("bench_") not in wanted:
            continue
        print(f"\n-- {file.stem}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{file.stem}"]
        done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr if done.returncode else "", flush=True)
        failed = failed or done.returncode != 0
        loops.append(loop_seconds())
        printed[file.stem.removeprefix("bench_")] = done.stdout
    if not failed and not wanted:
        (HERE / "RESULTS.md").write_text(table(printed, median(loops)), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
