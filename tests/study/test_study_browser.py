"""The study in a real browser: a whole session from a click in a mail, one by keyboard alone, claims and pairs."""

import shutil
from pathlib import Path

import pytest
from study_server import Server

from longform_lab.study.items import rows_study

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
PICTURES = Path(__file__).parents[2] / "docs" / "study"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
    pytest.mark.long,  # a browser is no part of the set-up; test_study_app.py holds the same pages by requests
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def server(tmp_path):
    made = Server(tmp_path)
    yield made
    made.kill()


@pytest.fixture
def picture(request):
    """Saves a page's picture where ``--pictures`` asks for it."""
    wanted = request.config.getoption("--pictures", default=False)
    return lambda page, name: (
        page.screenshot(path=PICTURES / f"{name}.png", full_page=True) if wanted else None
    )


def choose_all(page, label="introduction"):
    for select in page.query_selector_all("select"):
        select.select_option(label)
    if page.query_selector("input[type=radio]"):
        page.check("input[type=radio][value=incoherent]")


def press(page, selector="button[value=submit]"):
    """Clicks a button that sends the page, and waits until the answer has loaded: a click alone returns before it."""
    with page.expect_navigation():
        page.click(selector)


def test_a_session_runs_from_a_mailed_link_through_verify_and_a_reload(browser, server, picture):
    page = browser.new_context().new_page()
    mail = f"<a href={server.invite('ada')}>your invitation</a>"
    page.route(
        "http://mail.example/", lambda asked: asked.fulfill(body=mail, content_type="text/html")
    )
    page.goto(
        "http://mail.example/"
    )  # another site: a strict cookie would not come along on the click
    press(page, "a")
    assert page.url == f"{server.url}/"
    picture(page, "consent")
    press(page, "button")
    page.click("summary")
    picture(page, "instructions")
    choose_all(page)
    press(page, "button[value=verify]")
    assert page.locator(".wrong").count() == 2 and page.locator(".right").count() == 1
    picture(page, "training")
    press(page)
    page.select_option("#section_1", "result")
    page.wait_for_selector("#kept:text-is('kept')")
    page.reload()
    assert page.input_value("#section_1") == "result"
    choose_all(page)
    press(page)
    picture(page, "testing_0")
    for _ in range(3):
        assert page.title() == "Section types and coherence"  # hostile text has not run
        choose_all(page)
        press(page)
    picture(page, "done")
    assert "You are done" in page.content()
    assert sum(one["last"] for one in server.stored()) == 5


def test_a_whole_session_by_keyboard_alone(browser, server):
    page = browser.new_context().new_page()
    page.goto(server.invite("ben"))
    page.wait_for_selector("button:focus")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    for _ in range(5):
        for _ in range(40):
            page.keyboard.press("Tab")
            kind = page.evaluate(
                "document.activeElement.tagName + (document.activeElement.value || '')"
            )
            if kind.startswith("SELECT"):
                page.keyboard.press("ArrowDown")
            elif kind.startswith("INPUT"):
                page.keyboard.press("Space")
            elif kind == "BUTTONsubmit":
                break
        with page.expect_navigation():
            page.keyboard.press("Enter")
    assert "You are done" in page.content()


@pytest.mark.parametrize("kind", ["claim", "pair"])
def test_claims_and_pairs_are_judged_on_the_same_pages(browser, tmp_path, picture, kind):
    texts = {"claim": "It rains.", "evidence": "It is dry.", "left": "One.", "right": "Two."}
    rows = [{"item_id": f"i{n}", **texts} for n in range(2)]
    server = Server(tmp_path, rows_study(rows, name=kind, kind=kind))
    page = browser.new_context().new_page()
    page.goto(server.invite("ada"))
    press(page, "button")
    picture(page, kind)
    for _ in rows:
        page.check("input[type=radio] >> nth=1")
        press(page)
    assert "You are done" in page.content()
    assert {one["answer"]["label"] for one in server.stored()} == {
        "refuted" if kind == "claim" else "right"
    }
    server.kill()
