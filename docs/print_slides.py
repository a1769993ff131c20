"""Slides → PDF, by Chromium: ``make slides-pdf``.

A player is printed with its first and its last frame.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((p for n in NAMES if (p := shutil.which(n))), None)


def main(folder: Path) -> None:
    """Print every lesson's slides beside them."""
    program = chromium()
    if program is None:
        sys.exit(
            "make slides-pdf needs Chromium: on Debian, "
            "sudo apt install chromium"
        )
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=program, args=list(FLAGS)
        )
        for path in sorted(folder.resolve().glob("[0-9]*.html")):
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(f"{path.as_uri()}?print-pdf")
            page.wait_for_selector(".pdf-page")
            page.wait_for_timeout(500)
            page.pdf(
                path=path.with_suffix(".pdf"),
                prefer_css_page_size=True,
                print_background=True,
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
