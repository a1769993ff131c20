"""What the tests of JupyterLab do with a page."""

from __future__ import annotations

RAN = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
  .every((e) => /\\[\\d+\\]/.test(e.innerText))"""
ERRORS = (
    '[data-mime-type="application/vnd.jupyter.stderr"],'
    '[data-mime-type="application/vnd.jupyter.error"]'
)


def open_notebook(open_page, lab, name):
    page = open_page(
        f"{lab.address}/lab/tree/notebooks/{name}.ipynb?token=t&reset",
        1280,
        900,
    )
    page.wait_for_selector(".jp-Notebook", timeout=60_000)
    page.wait_for_function(
        "document.body.innerText.includes('Idle')", timeout=60_000
    )
    return page


def run_all(page):
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells")
    page.wait_for_timeout(1_500)
    page.wait_for_function(RAN, timeout=90_000)


def close(page):
    """Shut the kernel down with its page."""
    page.keyboard.press("Escape")
    page.evaluate(
        "async () => { const base = location.origin + '/api/sessions';"
        "const all = await (await fetch(base + '?token=t')).json();"
        "const token = document.cookie.match(/_xsrf=([^;]+)/);"
        "for (const s of all) await fetch(base + '/' + s.id + '?token=t',"
        "{method: 'DELETE', headers: {'X-XSRFToken': token ? token[1] : ''}});"
        "}"
    )
