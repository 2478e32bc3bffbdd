"""The table's page in a real browser: scores change as the game goes on, and the host's buttons decide."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from referee.cards import Pile
from referee.events import Shown
from referee.instant import Instant
from web.live import LiveMatch, Picture, Unkept
from web.pages import Door, Serving, create_app, listen

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None,
    reason="Chromium and its driver are not installed (Debian: chromium-driver)",
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.page_load_strategy = "eager"  # the picture never ends
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(CHROMEDRIVER)))
    yield driver
    driver.quit()


@pytest.fixture
def table(snap) -> Iterator[tuple[LiveMatch, Picture, str]]:
    live, picture = LiveMatch(snap, Unkept()), Picture()
    green = np.full((270, 480, 3), (60, 110, 30), np.uint8)
    picture.put(cv2.imencode(".jpg", green)[1].tobytes())
    listening = listen(0)
    port = listening.getsockname()[1]
    with Serving(create_app(live, picture, Door("host", port)), listening):
        yield live, picture, f"http://127.0.0.1:{port}/"
        live.end()
        picture.close()


def until(browser: webdriver.Chrome, what) -> object:
    return WebDriverWait(browser, 15, poll_frequency=0.05).until(what)


def figures(browser: webdriver.Chrome) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('.player .figure')].map(e => e.textContent)")


def sentences(browser: webdriver.Chrome) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('.ruling .sentence')].map(e => e.textContent)")


def test_scores_and_rulings_change_while_one_looks(browser, table, race):
    live, _, address = table
    browser.get(address)
    until(browser, lambda _: figures(browser) == ["17", "18", "17"])
    for event in race[:-2]:
        live.tell(event)
    until(browser, lambda _: figures(browser) == ["17", "19", "16"] and sentences(browser))
    assert sentences(browser) == ["Ben snapped first and wins the piles"]
    for event in race[-2:]:
        live.tell(event)
    until(browser, lambda _: figures(browser) == ["16", "19", "17"])
    assert sentences(browser)[0] == "Ana snapped at the wrong time"
    assert (
        until(browser, lambda _: browser.execute_script("return document.getElementById('picture').naturalWidth"))
        == 480
    )
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_host_answers_with_a_button_and_overrules(browser, table, race):
    live, _, address = table
    browser.get(address + "?token=host")
    live.tell(
        Shown(at=Instant(0), seat=1, card=None, or_cards=(race[0].card, race[1].card), pile=Pile("up", 1))  # type: ignore[union-attr]
    )
    asked = "return [...document.querySelectorAll('.question button')].map(e => e.textContent)"
    until(browser, lambda _: browser.execute_script(asked) == ["7♥", "7♠"])
    browser.find_elements(By.CSS_SELECTOR, ".question button")[0].click()
    until(browser, lambda _: not browser.find_elements(By.CSS_SELECTOR, ".question"))
    for event in race[1:]:
        live.tell(event)
    until(browser, lambda _: "Ben snapped first and wins the piles" in sentences(browser))
    won = next(r for r in browser.find_elements(By.CSS_SELECTOR, ".ruling.won"))
    won.find_element(By.TAG_NAME, "summary").click()
    next(b for b in won.find_elements(By.TAG_NAME, "button") if b.text == "Cleo").click()
    until(browser, lambda _: "Cleo snapped first and wins the piles" in sentences(browser))


def test_who_is_not_the_host_has_no_buttons(browser, table, race):
    live, _, address = table
    browser.delete_all_cookies()
    browser.get(address)
    for event in race:
        live.tell(event)
    until(browser, lambda _: len(sentences(browser)) == 2)
    assert browser.find_elements(By.TAG_NAME, "button") == []


def test_a_page_comes_back_after_the_program_was_killed(browser, tmp_path):
    """Nothing that was told is lost, and the page that stood open shows what is told after."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "web.cli", "play", "--game", "snap", "--players", "Ana,Ben,Cleo", "--no-browser"]
    command += ["--port", str(port), "--data", str(tmp_path)]

    def told(run: subprocess.Popen[str], *typed: str) -> None:
        assert run.stderr is not None
        said = "".join(iter(run.stderr.readline, "Ctrl-C ends it.\n"))
        address, _, token = said.split()[-1].partition("?token=")
        for text in typed:
            headers = {"Content-Type": "application/json", "X-Palmreader-Token": token}
            urllib.request.urlopen(
                urllib.request.Request(f"{address}api/tell", json.dumps({"text": text}).encode(), headers), timeout=20
            ).close()

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        told(run, "ben turns 7h", "cleo turns 7s")
        browser.get(f"http://127.0.0.1:{port}/")
        until(browser, lambda _: browser.execute_script("return document.querySelectorAll('.event').length") == 2)
        run.send_signal(signal.SIGKILL)
    until(browser, lambda _: "lost" in browser.find_element(By.ID, "link").get_attribute("class"))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        told(run, "slap cleo", "wait")
        until(browser, lambda _: sentences(browser) == ["Cleo snapped first and wins the piles"])
        assert browser.execute_script("return document.querySelectorAll('.event').length") == 4
        run.send_signal(signal.SIGINT)


def test_names_of_players_are_never_read_as_markup(browser, race):
    from web.config import choose
    from web.games import game_named

    name = "<img src=x onerror=a()>"
    live, picture = LiveMatch(choose(game_named("snap"), ("Ana", name)), Unkept()), Picture()
    listening = listen(0)
    port = listening.getsockname()[1]
    with Serving(create_app(live, picture, Door("host", port)), listening):
        browser.get(f"http://127.0.0.1:{port}/")
        until(browser, lambda _: figures(browser))
        names = browser.execute_script("return [...document.querySelectorAll('.player .name')].map(e => e.textContent)")
        live.end()
        picture.close()
    assert names == ["Ana", name]
