"""The dashboard's pages: what a browser is shown, and what a host may say."""

from __future__ import annotations

import hmac
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from flask import Flask, Response, abort, g, jsonify, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, make_server

from referee.bad_input import BadInput
from referee.events import Amend, Event, Insert, Redo, Undo
from referee.game import NotInThisGame
from referee.instant import Instant
from referee.match import Judgement
from referee.recording import from_json
from web.board import Shower, parse_accept_language
from web.live import LiveMatch, Picture, Update
from web.notation import readable
from web.report import report_page
from web.typed import typed_event, typed_events
from web.words import best_language

T = TypeVar("T")

#: The longest thing a host sends is a sentence.
_LARGEST_REQUEST = 65_536
#: Each viewer has two: what happens, and the picture.
_MOST_STREAMS = 256
#: A comment line so often lets us notice that a viewer has gone.
_HEARTBEAT_S = 15.0
#: What a browser on this machine calls it.
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
#: The evidence is one page with its pictures and its style in it, and nothing that runs.
_EVIDENCE_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
#: A slap is looked for among so many of the newest events.
_EVENTS_BACK = 2_000


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in: under which host names, and with which token as the host."""

    token: str
    port: int
    names: tuple[str, ...] = LOCAL_NAMES

    @property
    def cookie(self) -> str:
        """Cookies are shared by all ports of a machine: each table has its own."""
        return f"palmreader_host_{self.port}"

    def lets(self, host: str) -> bool:
        """Whether a request's Host names this table; a page that rebinds its own name to us does not."""
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if not name:
            name, port = host, ""
        return name.lower() in self.names and port in ("", str(self.port))

    def knows(self, token: str | None) -> bool:
        """Whether that is the host's token."""
        return token is not None and hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


def create_app(live: LiveMatch, picture: Picture, door: Door) -> Flask:
    """The pages of one table."""
    app = Flask("web", static_url_path="/static")
    app.config["MAX_CONTENT_LENGTH"] = _LARGEST_REQUEST
    shower = lru_cache(maxsize=8)(lambda language: Shower.of(live.chosen, language))

    # Put into words once, however many look.
    told_update = lru_cache(maxsize=256)(lambda shower, update: _told_update(live, shower, update))

    seats = threading.Semaphore(_MOST_STREAMS)

    def showing() -> Shower:
        wanted = parse_accept_language(request.headers.get("Accept-Language", ""))
        return shower(best_language([request.args.get("lang", ""), *wanted]))

    def hosting() -> bool:
        return door.knows(request.cookies.get(door.cookie) or request.headers.get("X-Palmreader-Token"))

    @app.before_request
    def guard() -> Response | None:
        if not door.lets(request.host):
            abort(403, f"expected this table's own address, got {request.host[:80]}")
        site = request.headers.get("Sec-Fetch-Site", "none")
        navigating = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in ("same-origin", "none") and not (navigating and request.path == "/"):
            abort(403, "expected a request from this table's own page")
        if request.method == "POST":
            if not hosting():
                abort(403, "expected the host's token")
            if not request.is_json:
                abort(415, "expected JSON")
        return None

    @app.after_request
    def harden(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if not request.path.startswith("/static/"):
            response.headers["Cache-Control"] = "no-store"
        return response

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> tuple[Response, int]:
        return jsonify(error=error.description), error.code or 500

    @app.errorhandler(BadInput)
    @app.errorhandler(NotInThisGame)
    def bad(error: Exception) -> tuple[Response, int]:
        return jsonify(error=str(error)), 400

    @app.get("/")
    def table() -> Any:
        token = request.args.get("token")
        if token is not None:
            if not door.knows(token):
                abort(403, "expected the host's token")
            response = make_response(redirect("/"))
            response.set_cookie(door.cookie, token, httponly=True, samesite="Strict", path="/")
            return response
        words = showing().words
        return render_template(
            "table.html",
            typed=not live.seeing,
            example=readable(showing().notation.verbs[0].forms[0]),
            words={**words.common["page"], "figures": words.common["figures"]},
            language=words.language,
            game=words.game(live.chosen.game.name),
            host=hosting(),
            picture=bool(picture.newest) or live.seeing,
            evidence=live.seeing or live.evidence is not None,
        )

    @app.get("/api/state")
    def state() -> Response:
        return jsonify(_state(live, showing()))

    @app.get("/api/figures")
    def figures() -> Response:
        with live.looking() as match:
            return jsonify(showing().naming(match).figures(match))

    @app.get("/events")
    def events() -> Response:
        last = request.headers.get("Last-Event-ID") or request.args.get("since", "")
        stream = _seated(_stream(live, showing(), last, told_update), seats)
        response = Response(stream, mimetype="text/event-stream")
        response.headers["X-Accel-Buffering"] = "no"
        return response

    @app.get("/picture.jpg")
    def still() -> Response:
        if not picture.newest:
            abort(404, "no picture yet")
        return Response(picture.newest, mimetype="image/jpeg")

    @app.get("/picture.mjpg")
    def film() -> Response:
        # The boundary goes right after each picture: a browser shows a picture once it knows where it ends.
        parts = (
            b"Content-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%b\r\n--picture\r\n" % (len(jpeg), jpeg)
            for jpeg in picture.pictures()
        )
        stream = _seated(chain((b"--picture\r\n",), parts), seats)
        return Response(stream, mimetype="multipart/x-mixed-replace; boundary=picture")

    @app.get("/evidence/<int:event>")
    def evidence(event: int) -> Response:
        watched = live.evidence
        if watched is None:
            abort(404, "no pictures were watched here")
        shower = showing()
        with live.looking() as match:
            course, confidence = match.course[-_EVENTS_BACK:], float(match.setup.options["confidence"])
            players = shower.naming(match).players
        told = [
            each
            for each in watched.judged(course, len(players), confidence)
            if any(slap.id == event for slap in each.slaps)
        ]
        if not told:
            abort(404, f"expected a slap of this match, got event {event}")
        title = shower.words.game(live.chosen.game.name)
        page = report_page(title, told, watched, players, shower.words, back="/")
        return Response(page, headers={"Content-Security-Policy": _EVIDENCE_POLICY})

    @app.get("/log.jsonl")
    def log() -> Response:
        return Response((f"{line}\n" for line in live.lines()), mimetype="application/jsonl")

    _host_pages(app, live, showing)
    return app


def _host_pages(app: Flask, live: LiveMatch, showing: Callable[[], Shower]) -> None:
    """What only the host may say; each is an event in the log."""

    @app.post("/api/answer")
    def answer() -> Response:
        return _told(live.answer(_text("question"), _text("says")))

    @app.post("/api/overrule")
    def overrule() -> Response:
        return _told(live.overrule(_number("ruling"), _text("says"), _text("reason")))

    @app.post("/api/amend")
    def amend() -> Response:
        of = _number("of")
        if "becomes" not in _body():
            raise BadInput.of("becomes", "an event, a line as it is typed, or null", "none")
        really = _event(_body()["becomes"], live, showing(), of)
        return _told(live.say(Amend(at=Instant(0), of=of, becomes=really)))

    @app.post("/api/insert")
    def insert() -> Response:
        after = _number("after")
        happened = _event(_body().get("happened"), live, showing(), after)
        if happened is None:
            raise BadInput.of("happened", "an event, or a line as it is typed", "none")
        return _told(live.say(Insert(at=Instant(0), after=after, happened=happened)))

    @app.post("/api/tell")
    def tell() -> Response:
        with live.looking() as match:
            notation = showing().naming(match).notation
            if live.seeing:  # It happened now, whatever else is told of this moment later.
                newest = match.log[-1].id if match.log else 0
                event: Event = Insert(
                    at=live.now, after=newest, happened=typed_event(_text("text"), notation, match.course, live.now)
                )
                return _told(live.tell(event))
            judgement = None
            for event in list(typed_events(_text("text"), notation, match.log)):
                judgement = live.tell(event)
        if judgement is None:
            raise BadInput.of("text", "what happened", "nothing")
        return _told(judgement)

    @app.post("/api/undo")
    def undo() -> Response:
        return _told(live.say(Undo(at=Instant(0), of=_number("of"))))

    @app.post("/api/redo")
    def redo() -> Response:
        return _told(live.say(Redo(at=Instant(0), of=_number("of"))))


def _body() -> dict[str, Any]:
    if "body" not in g:
        body = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise BadInput.of("request", "a JSON object", request.get_data(as_text=True)[:40] or "nothing")
        g.body = body
    return g.body  # type: ignore[no-any-return]  # flask.g holds anything


def _text(name: str) -> str:
    value = _body().get(name)
    if not isinstance(value, str) or not 0 < len(value.strip()) <= 400:
        raise BadInput.of(name, "a text of 1 to 400 letters", repr(value)[:60])
    return value.strip()


def _number(name: str) -> int:
    value = _body().get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput.of(name, "a whole number", repr(value)[:60])
    return value


def _event(said: object, live: LiveMatch, shower: Shower, near: int) -> Event | None:
    """What a host says really happened: as typed, or as JSON; typed it has the time of the event near it."""
    if said is None:
        return None
    if isinstance(said, str):
        with live.looking() as match:
            old = next((event for event in match.log if event.id == near), None)
            at = old.at if old is not None else live.now
            return typed_event(said, shower.naming(match).notation, match.course, at)
    line = from_json({"kind": "event", **said} if isinstance(said, dict) else said)
    if line is None or not hasattr(line, "at"):
        raise BadInput.of("event", "an event, or a line as it is typed", repr(said)[:60])
    return line  # type: ignore[return-value]  # from_json gives an Event for this kind


def _told(judgement: Judgement) -> Response:
    return jsonify(
        id=judgement.event.id,
        given=[ruling.id for ruling in judgement.given],
        withdrawn=[ruling.id for ruling in judgement.withdrawn],
    )


def _state(live: LiveMatch, shower: Shower) -> dict[str, Any]:
    with live.looking() as match:
        return {
            "id": f"{live.run}-{live.number}",
            "ended": live.ended,
            "broken": live.broken,
            **shower.naming(match).state(match),
        }


def _stream(live: LiveMatch, shower: Shower, last: str, tell: Callable[[Shower, Update], str]) -> Iterator[str]:
    """Server-sent events: everything at first, or what came since; then each update as it comes."""
    run, _, number_text = last.partition("-")
    number = int(number_text) if run == live.run and re.fullmatch(r"\d{1,15}", number_text) else -1
    updates = live.since(number) if number >= 0 else None
    yield "retry: 1000\n\n"
    told: tuple[bool, str | None] = (False, None)
    while True:
        if updates is None:
            state = _state(live, shower)
            number = int(state["id"].rpartition("-")[2])
            yield _message("state", state["id"], state)
        for update in updates or ():
            number = update.number
            yield tell(shower, update)
        if live.status != told:
            told = live.status
            yield _message("status", None, {"ended": told[0], "broken": told[1]})
        while not live.wait(number, told, _HEARTBEAT_S):
            yield ": still here\n\n"
        updates = live.since(number)


def _seated(stream: Iterator[T], seats: threading.Semaphore) -> Iterator[T]:
    """A stream that never ends, while there is a seat for it: each holds a thread."""
    if not seats.acquire(blocking=False):
        return
    try:
        yield from stream
    finally:
        seats.release()


def _told_update(live: LiveMatch, shower: Shower, update: Update) -> str:
    """An update as every page in that language is told it."""
    with live.looking() as match:
        shower = shower.naming(match)
        data = {
            "event": shower.event(update.judgement.event),
            "given": [shower.ruling(ruling, match) for ruling in update.judgement.given],
            "withdrawn": [ruling.id for ruling in update.judgement.withdrawn],
            "board": shower.board(update.board, match),
        }
    return _message("update", f"{live.run}-{update.number}", data)


def _message(kind: str, number: str | None, data: object) -> str:
    told = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\n" + (f"id: {number}\n" if number else "") + f"data: {told}\n\n"


# --- serving -------------------------------------------------------------------------------------------


def listen(port: int, *, address: str = "127.0.0.1") -> socket.socket:
    """A socket that listens; a port in use is refused in one line. Port 0: any that is free."""
    if not 0 <= port <= 65535:
        raise BadInput.of("port", "a number from 0 to 65535", port)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise BadInput.of(
            "port", f"one that is free, like --port {port + 1 if port < 65535 else 0}", f"{port}: {error.strerror}"
        ) from error
    return listening


class Serving:
    """A running server of the pages; leaving the context stops it."""

    def __init__(self, app: Flask, listening: socket.socket) -> None:
        """Serve on a socket that listens already."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        host, port = listening.getsockname()[:2]
        self._server: BaseWSGIServer = make_server(host, port, app, threaded=True, fd=listening.fileno())
        self._server.daemon_threads = True  # type: ignore[attr-defined]  # socketserver.ThreadingMixIn has it
        self._listening = listening
        self._thread = threading.Thread(target=self._server.serve_forever, name="pages", daemon=True)

    def __enter__(self) -> Serving:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()
        self._listening.close()
