"""`make bench`: runs every benchmark, each in its own process, prints its medians and records them in RESULTS.md.

`python -m tests.benchmarks exports fleet` runs those named alone and records nothing.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
HEAD = """# Measured speeds

Written by `make bench`; medians on {cores} cores, Python {python}. Read the figures beside their targets. How fast the
machine was meanwhile: a plain loop of 20 million additions took {loop:.1f} s.

"""


def loop_seconds() -> float:
    """Return the seconds of 20 million additions: what figures of two machines, or of two hours, are compared by."""
    began, total = time.perf_counter(), 0
    for number in range(20_000_000):
        total += number
    return time.perf_counter() - began


def main() -> int:
    """Run the benchmarks in the order of their names; returns 1 when one of them failed, 2 when a name is not known."""
    wanted, failed = sys.argv[1:], False
    unknown = [name for name in wanted if not (HERE / f"bench_{name}.py").exists()]
    if unknown:
        print(f"there is no benchmark {', '.join(unknown)}", file=sys.stderr)
        return 2
    parts: list[str] = []
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
        parts.append(f"## {file.stem.removeprefix('bench_')}\n\n```\n{done.stdout.strip()}\n```\n\n")
    if not failed and not wanted:
        head = HEAD.format(cores=os.cpu_count(), python=platform.python_version(), loop=median(loops))
        (HERE / "RESULTS.md").write_text("".join([head, *parts]).rstrip() + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
