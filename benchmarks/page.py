"""The page of ``openteam watch`` in a browser: how soon it is there, how fast it plays and answers, how it looks.

python benchmarks/page.py results/lbf-released/gpl-q/seed-0 --pictures FOLDER

Each run is opened twice; the second time its programs come from the cache. Needs playwright and chromium.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

LOOKS = {"wide": {"width": 1440, "height": 1000}, "phone": {"width": 390, "height": 844}}
QUESTIONS, SHOWN = 20, 6
PLAYED = """() => new Promise((tell) => {
  const seen = [], begun = performance.now();
  const look = (now) => {
    const at = Number(document.body.dataset.at);
    if (seen.at(-1)?.[0] !== at) seen.push([at, now]);
    if (now - begun < 2000) return requestAnimationFrame(look);
    const [[first, began], [last, ended]] = [seen[0], seen.at(-1)];
    return tell((1000 * (last - first)) / (ended - began));
  };
  requestAnimationFrame(look);
})"""


def main() -> None:
    """Measure and print a row per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--pictures", type=Path, help="write screenshots here, light and dark, wide and phone")
    options = parser.parse_args()
    print("run, seconds to the page, to its first frame, frames/s, what if: median ms, slowest ms")
    with sync_playwright() as driver:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu", *sandbox])
        for run in options.runs:
            watched(browser, run, None)
            print(run, *watched(browser, run, options.pictures), sep=", ", flush=True)


def watched(browser: Browser, run: str, pictures: Path | None) -> list[float]:
    """The figures of one start of the command."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "openteam", "watch", run, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            address = address_of(server)
            page = patient(browser.new_page(viewport=LOOKS["wide"]))
            page.goto(address)
            page.wait_for_selector("#status")
            there = time.perf_counter() - began
            page.wait_for_selector("body[data-ready=yes]")
            ready = time.perf_counter() - began
            figures = [there, ready, frames_a_second(page), *what_if(page)]
            page.close()
            if pictures:
                take_pictures(browser, address, pictures / re.sub(r"\W+", "-", run))
        finally:
            server.terminate()
    return [round(figure, 2) for figure in figures]


def patient(page: Page) -> Page:
    """One that waits for programs to compile on a busy machine."""
    page.set_default_timeout(300_000)
    return page


def address_of(server: subprocess.Popen[str]) -> str:
    """What the command prints."""
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\S+", line):
            return found[0]
    raise SystemExit("the server ended without an address")


def frames_a_second(page: Page) -> float:
    """Played at the highest speed for two seconds, or to the end of the episode, frames that were there before."""
    page.wait_for_function("() => document.body.dataset.frames > 8")
    page.select_option("#transport select", "30")
    page.click("#play")
    return page.evaluate(PLAYED)


def what_if(page: Page) -> tuple[float, float]:
    """Milliseconds from a click on Remove until the answer is shown."""
    page.fill("#scrub", "1")
    page.wait_for_function("() => document.body.dataset.at == 1")
    times = []
    for _ in range(QUESTIONS):
        remove_somebody(page)
        page.wait_for_function("() => document.getElementById('changes').dataset.milliseconds")
        times.append(float(page.evaluate("() => document.getElementById('changes').dataset.milliseconds")))
        page.click("#undo")
        page.evaluate("() => delete document.getElementById('changes').dataset.milliseconds")
    return sorted(times)[len(times) // 2], max(times)


def remove_somebody(page: Page) -> None:
    """The last teammate that is here: a digit of nobody selects nobody."""
    page.focus("#world")
    for slot in "12345":
        page.keyboard.press(slot)
    page.keyboard.press("Delete")


def take_pictures(browser: Browser, address: str, name: Path) -> None:
    """The whole page in the middle of an episode, and with a teammate taken out."""
    name.parent.mkdir(parents=True, exist_ok=True)
    for look, size in LOOKS.items():
        for theme in ("light", "dark"):
            page = patient(browser.new_page(viewport=size, color_scheme=theme))  # pyright: ignore[reportArgumentType]
            page.goto(address)
            page.wait_for_selector("body[data-ready=yes]")
            page.wait_for_function(f"() => document.body.dataset.frames > {SHOWN}")
            page.fill("#scrub", str(SHOWN))
            page.wait_for_function(f"() => document.body.dataset.at == {SHOWN}")
            page.screenshot(path=f"{name}-{look}-{theme}.png", full_page=True)
            if look == "wide" and theme == "light":
                remove_somebody(page)
                page.wait_for_timeout(500)
                page.screenshot(path=f"{name}-what-if.png", full_page=True)
            page.close()


if __name__ == "__main__":
    main()
