"""Links between pages lead somewhere, and the site that ``make docs`` builds has every page in its menu."""

import re
import runpy
import tomllib

from tests.pages import ROOT

GATHER = runpy.run_path(str(ROOT / "docs/gather_pages.py"))
PAGES = [path for pattern in GATHER["PAGES"] for path in ROOT.glob(pattern)]


def headings(page):
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def entries(menu):
    """All pages of a menu with menus in it."""
    for entry in menu:
        for below in entry.values():
            yield from entries(below) if isinstance(below, list) else [below]


def test_every_link_leads_somewhere():
    for page in PAGES:
        for link, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")):
            there = page.parent / link if link else page
            assert there.exists(), f"{page}: {link}"
            assert not anchor or anchor in headings(there), f"{page}: {link}#{anchor}"


def test_every_page_is_in_the_menu_once():
    menu = list(entries(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    assert sorted(menu) == sorted(str(page.relative_to(ROOT)) for page in PAGES)


def test_pages_are_gathered_with_their_pictures_and_without_links_to_folders(tmp_path):
    GATHER["gather"](tmp_path / "pages")
    assert (tmp_path / "pages/docs/episode.gif").exists()
    results = (tmp_path / "pages/results/README.md").read_text(encoding="utf-8")
    assert "](navigation-long)" in (ROOT / "results/README.md").read_text(encoding="utf-8")
    assert "](navigation-long)" not in results
