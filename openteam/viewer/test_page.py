"""The page in a browser: what a person does, what it then shows, and that nothing is asked of another machine."""

import json
import os
import shutil

import numpy as np
import pytest

import openteam
from openteam.viewer.episode import Episode
from openteam.viewer.frames import tidy
from openteam.viewer.what_if import read_changes

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no chromium; apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
ARGUMENTS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SEED = 0  # of the first episode that a page shows


@pytest.fixture(scope="module")
def browser(request):
    """One for all tests, on a thread's loop of its own that ends with them."""
    driver = playwright.sync_playwright().start()
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root has none
    started = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS + sandbox)

    def stop():
        started.close()
        driver.stop()

    request.addfinalizer(stop)  # noqa: PT021  (checked functions cannot yield)
    return started


@pytest.fixture
def page(browser, request):
    """A page that must not complain, and must not ask anybody but the server for anything."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url) if not is_local(asked.url) else None)

    def close():
        page.close()
        assert wrong == []

    request.addfinalizer(close)  # noqa: PT021
    return page


def is_local(address):
    return address.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "file:", "blob:"))


@pytest.fixture
def watching(page, place):
    page.goto(place.url + "watch?run=0&against=1")
    page.wait_for_selector("body[data-ready=yes]")
    until(page, "document.body.dataset.frames > 3")
    return page


@pytest.fixture(scope="module")
def episode(stage):
    played = Episode.start(stage.task, stage.player, SEED)
    list(played.play(stage.task.horizon))
    return played


def until(page, condition):
    """Wait for it. As a function, because the page's rules forbid to evaluate text."""
    page.wait_for_function(f"() => {condition}")


def values(page):
    return [float(part.get_attribute("data-value")) for part in page.query_selector_all("#values [data-value]")]


def shown(numbers):
    return pytest.approx(numbers, rel=1e-3, abs=1e-4)


def at(page):
    return int(page.get_attribute("body", "data-at"))


def scrub(page, step):
    page.fill("#scrub", str(step))
    until(page, f"document.body.dataset.at == {step}")


def pixels(page):
    return page.evaluate("document.getElementById('world').toDataURL()")


def ground_point(page, x, y, size=5):
    box = page.locator("#world").bounding_box()
    return box["x"] + x / size * box["width"], box["y"] + y / size * box["height"]


def test_a_page_shows_the_first_frame_with_the_learners_values_and_plays(watching, episode):
    assert at(watching) == 0
    assert values(watching) == shown(episode.frames[0]["why"]["values"])
    chosen = watching.locator("#values .chosen").get_attribute("data-action")
    assert int(chosen) == episode.frames[0]["why"]["action"]
    before = pixels(watching)
    watching.select_option("#transport select", "30")
    watching.click("#play")
    until(watching, f"document.body.dataset.at == {len(episode.frames) - 1}")
    assert pixels(watching) != before
    assert "The episode is over" in watching.inner_text("#now")
    assert values(watching) == shown(episode.frames[-2]["why"]["values"])  # the last decision stays


def test_steps_scrubbing_and_jumps_lead_to_frames_of_the_episode(watching, episode):
    watching.keyboard.press("ArrowRight")
    until(watching, "document.body.dataset.at == 1")
    scrub(watching, 2)
    assert values(watching) == shown(episode.frames[2]["why"]["values"])
    watching.keyboard.press("ArrowLeft")
    until(watching, "document.body.dataset.at == 1")
    surprises = [n for n, frame in enumerate(episode.frames[:-1]) if n and wrongly_predicted(frame)]
    scrub(watching, 0)
    watching.get_by_role("button", name="wrong prediction", exact=True).click()
    until(watching, f"document.body.dataset.at == {surprises[0]}")
    watching.get_by_role("button", name="reward", exact=True).click()
    rewarded = next((n for n, frame in enumerate(episode.frames) if n > surprises[0] and frame["reward"][0]), None)
    none = "document.getElementById('message').innerText.startsWith('No reward')"
    until(watching, none if rewarded is None else f"document.body.dataset.at == {rewarded}")


def wrongly_predicted(frame):
    predicted = frame["why"]["predicted"]
    return [slot for slot in frame["present"][1:] if int(np.argmax(predicted[slot])) != frame["actions"][slot]]


def test_selecting_a_teammate_shows_its_pair_with_the_learner_and_its_type_on_demand(watching, episode):
    watching.click('#team [data-slot="1"] button')
    watching.wait_for_selector("#pairs td.framed")
    expected = episode.frames[0]["why"]["pairs"][1]
    cells = [cell.get_attribute("title") for cell in watching.query_selector_all("#pairs tbody td")]
    assert [float(title.rpartition(" ")[2]) for title in cells] == pytest.approx(np.ravel(expected), rel=1e-2, abs=1e-3)
    assert "hidden" in watching.inner_text('#team [data-slot="1"]')
    watching.get_by_label("true types").check()
    name = episode.task.pool.names[episode.frames[0]["types"][1]]
    until(watching, f"document.querySelector('#team [data-slot=\"1\"]').innerText.includes('{name}')")


def test_predictions_and_their_score_are_those_of_the_frames(watching, episode):
    scrub(watching, 2)
    count = sum(len(frame["present"]) - 1 for frame in episode.frames[:3])
    right = count - sum(len(wrongly_predicted(frame)) for frame in episode.frames[:3])
    assert f"right {right} of {count} times" in watching.inner_text("#prediction-score")


def test_what_if_shows_the_values_that_python_computes(watching, episode):
    scrub(watching, 1)
    slot = episode.frames[1]["present"][-1]
    x, y = next(agent["at"] for agent in episode.frames[1]["scene"]["agents"] if agent["slot"] == slot)
    watching.click("[data-tool=remove]")
    watching.mouse.click(*ground_point(watching, x, y))
    watching.wait_for_selector("#changed:not([hidden])")
    expected = episode.ask(1, read_changes(episode.task, episode.at(1), [{"remove": slot}]))
    assert values(watching) == shown(expected["why"]["values"])
    assert values(watching) != shown(episode.frames[1]["why"]["values"])
    assert watching.locator("#values .outline").count() > 0
    assert int(watching.get_attribute("#changes", "data-milliseconds")) < 5000  # docs/viewer.md has the figure
    watching.click("#branch")
    until(watching, "document.getElementById('episode').options.length == 2")
    assert "changed at step 1" in watching.inner_text("#episode option:checked")
    assert at(watching) == 1  # what was before the change is still there
    assert watching.locator(f'#team [data-slot="{slot}"]').count() == 0
    watching.keyboard.press("ArrowLeft")
    until(watching, "document.body.dataset.at == 0")
    assert watching.locator(f'#team [data-slot="{slot}"]').count() == 1


def test_a_teammates_next_action_can_be_set_and_undone(watching, episode):
    slot = episode.frames[0]["present"][1]
    watching.click(f'#predictions [data-slot="{slot}"] td:nth-child(4) button')
    watching.wait_for_selector("#changed:not([hidden])")
    expected = episode.ask(0, read_changes(episode.task, episode.at(0), [{"set": slot, "action": 2}]))
    assert values(watching) == shown(expected["why"]["values"])
    watching.click("#undo")
    watching.wait_for_selector("#changed", state="hidden")
    assert values(watching) == shown(episode.frames[0]["why"]["values"])


def test_adding_where_somebody_stands_is_refused_with_a_sentence_and_elsewhere_by_keys(watching, episode):
    watching.click("[data-tool=add]")
    x, y = episode.frames[0]["scene"]["agents"][0]["at"]
    watching.mouse.click(*ground_point(watching, x, y))
    until(watching, "document.getElementById('message').innerText.includes('taken')")
    taken = [thing["at"][0] for part in episode.frames[0]["scene"].values() for thing in part if thing["at"][1] == 0.5]
    free = next(n for n in range(5) if n + 0.5 not in taken)
    watching.focus("#world")
    for key in ["ArrowUp"] * 5 + ["ArrowLeft"] * 5 + ["ArrowRight"] * free + ["Enter"]:
        watching.keyboard.press(key)
    watching.wait_for_selector('#team [data-slot="3"]')
    change = [{"add": 0, "at": [free + 0.5, 0.5]}]
    expected = episode.ask(0, read_changes(episode.task, episode.at(0), change))
    assert values(watching) == shown(expected["why"]["values"])


def test_a_person_plays_a_seat_with_keys_and_is_compared_with_the_others(watching):
    watching.click("[data-mode=play]")
    watching.select_option("#seat select", "1")
    watching.click("#start")
    watching.wait_for_selector("#seat kbd")
    assert "↑" in watching.inner_text("#seat .keys")
    assert "Your turn" in watching.inner_text("#now")
    assert watching.locator("#predictions .done").count() == 0  # nobody's next action is told before one's own
    for _ in range(30):
        if watching.locator("#score").count() or "is over" in watching.inner_text("#seat .caption"):
            break
        before = watching.get_attribute("body", "data-frames")
        watching.keyboard.press("ArrowUp")
        until(watching, f"document.body.dataset.frames != {before}")
    watching.wait_for_selector("#score", timeout=120_000)
    rows = watching.inner_text("#score")
    assert all(name in rows for name in ("you", "whoever would be there", "H1", "H4"))
    with watching.expect_download() as saved:
        watching.click("#save")
    assert b'id="recording"' in saved.value.path().read_bytes()


def test_two_runs_side_by_side_mark_where_they_decide_differently(watching, stage, episode):
    watching.click("[data-mode=compare]")
    watching.wait_for_selector("#totals")
    rival = Episode.start(stage.task, stage.rival, SEED)
    list(rival.play(stage.task.horizon))
    words = f"left {tidy(episode.returns[0], 3):g}, right {tidy(rival.returns[0], 3):g}"
    until(watching, f"document.getElementById('totals').innerText.includes({json.dumps(words)})")
    verdict = watching.inner_text("#verdict")
    same = episode.frames[0]["why"]["action"] == rival.frames[0]["why"]["action"]
    assert ("would do the same" in verdict) == same
    assert watching.locator("#other-world").is_visible()


def test_a_file_opened_from_disk_shows_the_same_frame_and_the_same_numbers(page, watching, episode, runs, tmp_path):
    file = openteam.show(runs[0], seed=SEED).write(tmp_path / "x.html")
    scrub(watching, 1)
    live = values(watching), pixels(watching), watching.inner_text("#panels")
    page.goto(file.as_uri())
    until(page, "document.body.dataset.frames > 3")
    scrub(page, 1)
    assert (values(page), pixels(page)) == live[:2]
    assert page.inner_text("#types") in live[2]
    page.click("[data-tool=remove]")
    slot = page.query_selector_all("#team tbody tr")[-1].get_attribute("data-slot")
    page.focus("#world")
    page.keyboard.press(slot)
    page.wait_for_selector(f'#team tr.selected[data-slot="{slot}"]')
    page.keyboard.press("Delete")
    page.wait_for_selector("#changed:not([hidden])")
    assert values(page) != live[0]
    best = int(page.get_attribute("#values .chosen", "data-action"))
    assert episode.task.world.layout(1).actions[best] in page.inner_text("#now")


def test_the_gallery_leads_to_a_checkpoint_and_names_are_only_text(page, place):
    page.goto(place.url)
    page.wait_for_selector("body[data-ready=yes]")
    assert page.locator("svg.chart").count() == 1
    assert page.locator("nav.contents a").all_inner_texts() == ["tiny"]
    assert "2.00 ± " in page.inner_text("table")
    page.locator("table a").first.click()
    page.wait_for_selector("#status[hidden]", state="attached")
    assert page.inner_text("#title") == "<img src=x onerror=boom()>/seed-0 on tiny"
    assert page.locator("img").count() == 0


def test_a_phone_shows_everything_without_scrolling_sideways_and_dark_is_dark(watching):
    watching.set_viewport_size({"width": 390, "height": 844})
    until(watching, "document.getElementById('world').getBoundingClientRect().width < 390")
    assert watching.evaluate("document.documentElement.scrollWidth") <= 390
    watching.locator("#team").scroll_into_view_if_needed()
    for name in ("#world", "#play"):  # stay on the screen beside the last panel
        assert 0 <= watching.locator(name).bounding_box()["y"] < 844
    light = watching.evaluate("getComputedStyle(document.body).backgroundColor")
    watching.click("#theme")
    assert watching.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_every_panel_says_what_it_is_and_names_the_papers_symbol(watching):
    panels = watching.query_selector_all(".panel:not([hidden])")
    assert len(panels) == 5
    for panel in panels:
        assert panel.query_selector(".caption").inner_text()
        panel.query_selector("summary").focus()
        watching.keyboard.press("Enter")
        assert panel.query_selector(".help p").is_visible()
        watching.keyboard.press("Enter")
