"""A table opened to browsers: its page served until somebody ends it, its log kept where that is wanted."""

from __future__ import annotations

import datetime
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from referee.bad_input import BadInput
from web.config import Chosen
from web.live import LiveMatch, Picture
from web.pages import LOCAL_NAMES, Door, Serving, create_app, listen
from web.store import KeptLog, Store

#: Long enough for a browser to open; then the game begins whether or not somebody looks.
WAIT_FOR_A_VIEWER_S = 8.0
DEFAULT_PORT = 8620


def open_port(port: int, *, lan: bool = False) -> socket.socket:
    """Listen for browsers: on this machine only, or on the network too."""
    return listen(port, address="0.0.0.0" if lan else "127.0.0.1")


@contextmanager
def hosted(
    live: LiveMatch, picture: Picture, listening: socket.socket, *, browser: bool, lan: bool = False
) -> Iterator[None]:
    """Serve a table's page; says where it is, and opens a browser."""
    port = listening.getsockname()[1]
    names = (*LOCAL_NAMES, *_names_on_the_network()) if lan else LOCAL_NAMES
    door = Door(secrets.token_urlsafe(16), port, names)
    with Serving(create_app(live, picture, door), listening):
        address = f"http://127.0.0.1:{port}/?token={door.token}"
        say(f"The table is at {address}")
        for name in names[len(LOCAL_NAMES) :]:
            say(f"Others may watch at http://{name}:{port}/")
        say("Ctrl-C ends it.")
        if browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            picture.wait_for_viewer(WAIT_FOR_A_VIEWER_S)
        yield


def new_log(store: Store, chosen: Chosen) -> KeptLog:
    """A new match in the store."""
    log = KeptLog(store, store.begin(chosen.header, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")))
    log.open()
    return log


def log_to_go_on_with(store: Store, chosen: Chosen) -> KeptLog | None:
    """The newest match of these players under these rules, where it isn't over."""
    for kept in store.matches():
        if kept.header == chosen.header:
            log = KeptLog(store, kept.id)
            return None if log.open().board.over else log
    return None


def open_store(folder: Path) -> Store:
    """The store in a folder for data."""
    return Store(folder / "matches.db")


def say(text: str) -> None:
    """Tell who started the program."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the commands speak through it


def _has_screen() -> bool:
    """Whether a browser would open in a window, not take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _names_on_the_network() -> tuple[str, ...]:
    """The addresses that others on the network reach this machine at."""
    names = [socket.gethostname().lower()]
    try:
        names += socket.gethostbyname_ex(names[0])[2]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only says which of its addresses it would send from.
            probe.connect(("192.0.2.1", 9))
            names.append(probe.getsockname()[0])
    except OSError as error:
        if len(names) == 1:
            raise BadInput.of("--lan", "a network", error.strerror or "none") from error
    return tuple(dict.fromkeys(name for name in names if not name.startswith("127.")))
