"""How many answers the oracle checked, and how many of them were proven, at the end of a run."""

from __future__ import annotations

from collections import Counter


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many answers the oracle checked and how many of them were proven."""
    counted = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, value in report.user_properties:
                    if name == "oracle":
                        counted.update(value)
    for question in sorted({name.rpartition(" ")[0] for name in counted}):
        proven, left = counted[f"{question} proven"], counted[f"{question} open"]
        terminalreporter.write_line(f"oracle: {question}: {proven:,} of {proven + left:,} answers were proven")
