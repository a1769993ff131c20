"""nbval compares the text twins; pictures are compared as golden files."""

from __future__ import annotations

from typing import Any

SKIPPED = ("text/html", "image/svg+xml", "image/png")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what a test has counted, also one that ran in a worker."""
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == "summary":
                terminalreporter.write_line(text)


def pytest_itemcollected(item: Any) -> None:
    """Take the picture formats out of what nbval compares."""
    compared = getattr(item.parent, "skip_compare", None)
    if compared is not None:
        item.parent.skip_compare = (*compared, *SKIPPED)
