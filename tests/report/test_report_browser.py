"""The page in a real browser: no errors, no sideways scroll, no foreign script, the right numbers."""

import shutil

import pytest
from made_compare import compare_folder, decode_folder
from made_runs import case_row, drift_run, eval_run, train_run, whole_set

from scapo.files import write_jsonl
from scapo.report import build_report

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 120_000  # milliseconds; a busy machine may take long to start a page
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
HOSTILE = "</script><img onerror='window.broken=1' src=x><script>window.broken=1</script>"


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("no Chromium binary is installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    path = folder / "report.html"
    path.write_text(build_report(whole_set(folder)))
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Ten methods, and four decodings."""
    folder = tmp_path_factory.mktemp("compared")
    compare_folder(folder / "compare", seeds=(1, 2), steps=12, problems=4, failed=("sapo", 2))
    for name in ("agree", "conflict", "neutral", "noop"):
        decode_folder(folder / name, data=f"runs/{name}.perturbed.jsonl")
    path = folder / "report.html"
    path.write_text(build_report([folder]))
    return path


def opened(browser, path, viewport=None, scheme="light"):
    """The page with everything it complained about."""
    page = browser.new_page(viewport=viewport or LAPTOP, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert requests == [path.as_uri()]
    return page, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, LAPTOP], ids=["phone", "laptop"])
@pytest.mark.parametrize("which", ["report", "compared"])
def test_it_opens_without_complaint_and_without_sideways_scroll(browser, request, which, viewport, scheme):
    page, complaints = opened(browser, request.getfixturevalue(which), viewport, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((node) => (node.open = true))")
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    wide = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
            .filter((node) => !node.closest('.scroll') && !node.closest('svg'))
            .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
            .map((node) => node.outerHTML)"""
    )
    assert wide == []
    page.close()


def test_colours_follow_the_scheme_and_the_button(browser, report):
    page, _ = opened(browser, report, scheme="dark")
    ink = "getComputedStyle(document.body).color"
    dark = page.evaluate(ink)
    page.click("#theme")
    light = page.evaluate(ink)
    assert dark != light
    page.click("#theme")
    assert page.evaluate(ink) == dark
    page.close()


def test_pointing_at_a_method_brings_out_its_lines(browser, compared):
    page, _ = opened(browser, compared)
    entry = page.locator("#training .legend li", has_text="GSPO")
    style = entry.get_attribute("class").removeprefix("k")
    faded = """(own) => [...document.querySelectorAll('#training .line')]
        .map((line) => [line.classList.contains('m' + own), getComputedStyle(line).opacity])
        .map(([ours, opacity]) => ours === (opacity === '1'))"""
    entry.hover()
    found = page.evaluate(faded, style)
    assert found
    assert all(found)
    page.close()


def test_bars_of_long_and_short_names_start_at_one_place(browser, compared):
    page, _ = opened(browser, compared)
    lefts = "[...document.querySelectorAll('.barrow .stack')].map((bar) => bar.getBoundingClientRect().left)"
    found = page.evaluate(lefts)
    assert len(found) == 10
    assert max(found) - min(found) < 1
    page.close()


def test_pointing_at_a_token_shows_its_numbers(browser, report):
    page, _ = opened(browser, report)
    response = case_row("world-17", 8)["responses"][0]
    page.hover(".tokens i >> nth=1")
    tip = page.inner_text("#tip")
    for words in ("starts", "paraphrase", "mean d", "stability u", "advantage before", "advantage after"):
        assert words in tip
    assert f"{response['mean_drift'][1]:.3g}" in tip
    assert f"{response['advantage_augmented'][1]:.4f}".replace("-", "−") in tip
    page.mouse.move(5, 5)
    assert page.is_hidden("#tip")
    page.close()


def test_a_phone_shows_the_numbers_on_tap_inside_the_screen(browser, report):
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(report.as_uri())
    page.tap(".tokens i >> nth=1")
    box = page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    context.close()


def test_arrow_keys_walk_along_the_tokens(browser, report):
    page, _ = opened(browser, report)
    page.focus(".tokens >> nth=0")
    page.keyboard.press("ArrowRight")
    first = page.inner_text("#tip .what")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#tip .what") != first
    page.keyboard.press("Escape")
    assert page.is_hidden("#tip")
    page.close()


def test_one_response_or_all_can_be_read_and_shading_can_change(browser, report):
    page, _ = opened(browser, report)
    case = page.locator(".case >> nth=0")
    assert case.locator(".response:visible").count() == 8
    case.locator("button", has_text="3").click()
    assert case.locator(".response:visible").count() == 1
    shades = "[...document.querySelectorAll('.tokens i')].map((node) => node.className).join()"
    before = page.evaluate(shades)
    page.select_option("#shade-by", "typo_noise")
    assert page.evaluate(shades) != before
    page.select_option("#shade-by", "m")
    assert page.evaluate(shades) == before
    page.close()


def test_hostile_model_text_runs_nothing(browser, tmp_path):
    drift_run(tmp_path / "drift", label=HOSTILE)
    row = case_row(HOSTILE, 2, HOSTILE, [HOSTILE, "b", "c"])
    row["perturbations"] = {HOSTILE: HOSTILE}
    write_jsonl(tmp_path / "drift" / "cases.jsonl", [row])
    eval_run(tmp_path / "eval", HOSTILE, HOSTILE, {HOSTILE: 0.5}, problems=6)
    train_run(tmp_path / "train", HOSTILE, n_0=3, steps=6)
    path = tmp_path / "report.html"
    path.write_text(build_report([tmp_path / name for name in ("drift", "eval", "train")], HOSTILE))
    page, complaints = opened(browser, path)
    page.hover(".tokens i >> nth=0", position={"x": 3, "y": 3})
    assert HOSTILE.split(" ")[0] in page.inner_text("#tip")
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert complaints == []
    page.close()


def test_it_reads_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".response:visible").count() == 16
    assert page.locator(".chips:visible").count() == 0
    context.close()
