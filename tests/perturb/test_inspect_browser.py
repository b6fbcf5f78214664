"""The inspection page in a real browser: filters filter, nothing scrolls sideways, nothing untrusted runs."""

import shutil

import pytest

from scapo.files import write_jsonl
from scapo.perturb.inspect_items import read_items
from scapo.perturb.inspect_page import write_page

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = (
    "</div></article><script>window.broken = 1</script><img src=x onerror='window.broken = 1'> " + "x" * 300
)


def test_the_page_filters_and_stays_harmless(tmp_path):
    if not CHROMIUM:
        pytest.skip("no Chromium binary is installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    row = {
        "id": "p",
        "problem": HOSTILE,
        "answer": "3",
        "perturbations": {"typo_noise": HOSTILE + " one", "scenario_wrap": "frame " + HOSTILE},
        "absent": {"paraphrase": {"status": "refused", "reason": "new_number: 4 is new", "text": "four"}},
    }
    write_jsonl(tmp_path / "out.jsonl", [row])
    write_page(tmp_path / "page.html", "out.jsonl", list(read_items(tmp_path / "out.jsonl")))
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto(f"file://{tmp_path / 'page.html'}")
        assert page.inner_text("#shown") == "3"
        page.select_option("[data-filter=reason]", "new_number")
        assert page.inner_text("#shown") == "1"
        assert page.locator("article:visible").count() == 1
        page.select_option("[data-filter=reason]", "")
        page.fill("#words", "FRAME")
        assert page.inner_text("#shown") == "1"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("window.broken === undefined")
        assert errors == []
        browser.close()
