"""A real Chromium that lets no request out, and a JupyterLab of its own."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

playwright = pytest.importorskip(
    "playwright.sync_api", reason="run make browser, which installs playwright"
)
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from print_slides import FLAGS, chromium  # noqa: E402

LOCAL = re.compile(
    r"file:|data:|blob:|about:|(https?|wss?)://127\.0\.0\.1[:/]"
)


def build(*command):
    """Run one of the programs that make targets run."""
    subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="session")
def slides(tmp_path_factory):
    """The folder with the slides of every lesson."""
    folder = tmp_path_factory.mktemp("slides")
    build("docs/slides.py", folder)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder with the static site."""
    folder = tmp_path_factory.mktemp("site")
    build("docs/prepare.py", folder / "docs")
    build(
        *("-m", "sphinx", "-q", "-W", "-b", "html"),
        *(folder / "docs", folder / "site"),
    )
    return folder / "site"


@pytest.fixture(scope="session")
def browser():
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: on Debian, sudo apt install chromium")
    with playwright.sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Open pages; at the end no one may have asked for anything outside,
    failed to load something, or raised an error.
    """
    trouble = []
    contexts = []

    def open_(address, width=1280, height=720, scheme="light", wait=None):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on(
            "console",
            lambda m: (
                trouble.append(f"console: {m.text}")
                if m.type == "error"
                else None
            ),
        )
        page.on(
            "requestfailed", lambda r: trouble.append(f"failed: {r.url[:90]}")
        )

        def only_local(route):
            if LOCAL.match(route.request.url):
                route.continue_()
            else:
                trouble.append(f"outside: {route.request.url}")
                route.abort()

        context.route("**/*", only_local)
        page.goto(address)
        if wait:
            page.wait_for_selector(wait)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert trouble == []


def serious_violations(page):
    """What axe-core finds that keeps somebody out."""
    # axe would load the style sheets again, which a file may not do
    results = Axe().run(page, options={"preload": False})
    return [
        (v["id"], v["nodes"][0]["html"][:120])
        for v in results.response["violations"]
        if v["impact"] in ("serious", "critical")
    ]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A JupyterLab on a copy of the notebooks, in a home of its own."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(
        ROOT / "notebooks",
        home / "notebooks",
        ignore=shutil.ignore_patterns(".*"),
    )
    port = free_port()
    log = (home / "log").open("w")
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
    }
    settings = home / "config" / "lab" / "user-settings" / "@jupyterlab"
    (settings / "notebook-extension").mkdir(parents=True)
    (
        settings / "notebook-extension" / "tracker.jupyterlab-settings"
    ).write_text('{"windowingMode": "none"}')
    (settings / "apputils-extension").mkdir()
    theme = settings / "apputils-extension" / "themes.jupyterlab-settings"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser"),
            *("--allow-root", "--ip=127.0.0.1", f"--port={port}"),
            "--IdentityProvider.token=t",
            f"--ServerApp.root_dir={home}",
            "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        for _ in range(120):
            if "is running at" in (home / "log").read_text():
                break
            assert process.poll() is None, (home / "log").read_text()
            time.sleep(0.5)
        yield Lab(f"http://127.0.0.1:{port}", home, theme, environment)
    finally:
        process.terminate()
        process.wait(30)
        log.close()


class Lab:
    """Where JupyterLab is, and its settings."""

    def __init__(self, address, home, theme, environment):
        self.address = address
        self.home = home
        self.theme = theme
        self.environment = environment

    def use_theme(self, name):
        self.theme.write_text(f'{{"theme": "{name}"}}')

    def trust(self, path):
        subprocess.run(
            [sys.executable, "-m", "jupyter", "trust", str(path)],
            env=self.environment,
            check=True,
            capture_output=True,
        )
