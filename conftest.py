"""nbval compares the text twins; pictures are compared as golden files."""

from __future__ import annotations

from typing import Any

SKIPPED = ("text/html", "image/svg+xml", "image/png")


def pytest_itemcollected(item: Any) -> None:
    """Take the picture formats out of what nbval compares."""
    compared = getattr(item.parent, "skip_compare", None)
    if compared is not None:
        item.parent.skip_compare = (*compared, *SKIPPED)
