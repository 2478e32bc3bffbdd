"""The table's pages: who may look, who may decide, and that no update is lost on the way to a browser."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.bad_input import BadInput
from referee.cards import Card, Pile
from referee.events import KINDS, Dealt, Joined, Shown
from referee.instant import Instant
from referee.match import Match
from referee.recording import Header, read
from web import pages
from web.config import choose
from web.games import game_named
from web.live import LiveMatch, Picture, Unkept
from web.pages import Door, Serving, create_app, listen

TOKEN = "a-token-of-the-host"
HOST = {"X-Palmreader-Token": TOKEN}


@pytest.fixture
def live(snap) -> LiveMatch:
    return LiveMatch(snap, Unkept())


@pytest.fixture
def picture() -> Picture:
    return Picture()


@pytest.fixture
def client(live, picture) -> FlaskClient:
    app = create_app(live, picture, Door(TOKEN, 80))
    app.testing = True
    return app.test_client()


def messages(stream: Iterator[bytes]) -> Iterator[tuple[str, str | None, Any]]:
    """Server-sent events as (kind, id, data)."""
    for chunk in stream:
        lines = dict(line.split(": ", 1) for line in chunk.decode().splitlines() if line and not line.startswith(":"))
        if "data" in lines:
            yield lines["event"], lines.get("id"), json.loads(lines["data"])


def following(client: FlaskClient, last: str | None = None) -> Iterator[tuple[str, str | None, Any]]:
    headers = {"Last-Event-ID": last} if last else {}
    return messages(iter(client.get("/events", headers=headers, buffered=False).response))


# --- looking -----------------------------------------------------------------------------------------


def test_the_page_names_the_game_and_loads_nothing_from_elsewhere(client):
    page = client.get("/").get_data(as_text=True)
    assert "Palmreader" in page
    assert "Snap" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_the_state_shows_board_and_rulings_in_words(client, live, race):
    for event in race:
        live.tell(event)
    state = client.get("/api/state").get_json()
    assert state["board"]["standing"] == "Ben’s turn"
    assert [(one["name"], one["cards"]) for one in state["board"]["players"]] == [
        ("Ana", 16),
        ("Ben", 19),
        ("Cleo", 17),
    ]
    won, wrong = state["rulings"]
    assert (won["clause"], won["text"]) == ("S5", "Ben snapped first and wins the piles")
    assert won["title"] == "A card matches another pile: the first to snap wins both"
    assert [event["text"] for event in won["because"]] == ["Cleo turns 7s", "slap Ben", "slap Cleo"]
    assert won["because"][1]["doubt_ms"] == 3.0
    assert [(hand["name"], hand["after_ms"]) for hand in won["hands"]] == [("Ben", 0.0), ("Cleo", 80.0)]
    assert wrong["hands"] == [], "one hand is no race"
    assert (wrong["clause"], wrong["effects"]) == ("S9", ["Ana gives Cleo 1 card"])


def test_the_figures_of_the_evening(client, live, race):
    for event in race:
        live.tell(event)
    rows = client.get("/api/figures").get_json()
    assert rows[1] == {
        "name": "Ben",
        "won": 1,
        "faults": 0,
        "races": 1,
        "first": 1,
        "last": 0,
        "reaction": "300 ± 3 ms",
    }
    assert rows[0]["faults"] == 1


def test_updates_come_in_order_and_a_lost_connection_goes_on_where_it_was(client, live, race):
    stream = following(client)
    kind, number, state = next(stream)
    assert (kind, state["rulings"]) == ("state", [])
    seen = []
    for event in race[:4]:
        live.tell(event)
        kind, number, data = next(stream)
        assert kind == "update"
        seen.append(data["event"]["id"])
    for event in race[4:]:
        live.tell(event)
    again = following(client, number)
    for _ in race[4:]:
        kind, number, data = next(again)
        assert kind == "update"
        seen.append(data["event"]["id"])
    assert seen == [1, 2, 3, 4, 5, 6, 7]


def test_streams_are_not_without_end(client, live, monkeypatch):
    monkeypatch.setattr(pages, "_MOST_STREAMS", 2)
    client = create_app(live, Picture(), Door(TOKEN, 80)).test_client()
    one, two = following(client), following(client)
    assert next(one)[0] == next(two)[0] == "state"
    assert list(following(client)) == []
    one.close()


@pytest.mark.parametrize("last", ["0badcafe-3", "nonsense", "-1", "{run}-99", "{run}-" + "9" * 5000, "{run}-³"])
def test_a_page_of_another_run_gets_everything_anew(client, live, race, last):
    for event in race:
        live.tell(event)
    kind, number, state = next(following(client, last.format(run=live.run)))
    assert kind == "state"
    assert number == f"{live.run}-7"
    assert len(state["rulings"]) == 2


def test_the_end_of_the_film_is_told(client, live):
    stream = following(client)
    next(stream)
    live.end()
    assert next(stream) == ("status", None, {"ended": True, "broken": None})


def test_the_log_reads_back_as_a_recording(client, live, race):
    for event in race:
        live.tell(event)
    lines = list(read(client.get("/log.jsonl").get_data(as_text=True).splitlines()))
    assert isinstance(lines[0], Header)
    assert [line.at for line in lines[1:]] == [event.at for event in race]


def test_who_joins_between_hands_is_named(picture):
    live = LiveMatch(choose(game_named("hit-the-deck"), ("Ana", "Ben")), Unkept())
    live.tell(Joined(at=Instant(0), name="Dan"))
    app = create_app(live, picture, Door(TOKEN, 80))
    state = app.test_client().get("/api/state").get_json()
    assert [one["name"] for one in state["board"]["players"]] == ["Ana", "Ben", "Dan"]
    live.tell(Dealt(at=Instant(1)))
    live.tell(Shown(at=Instant(2), card=Card("red 4"), pile=Pile("discard")))
    live.tell(Shown(at=Instant(3), seat=2, card=Card("red 2"), pile=Pile("discard")))
    events = app.test_client().get("/api/state").get_json()["events"]
    assert events[-1]["text"] == "Dan plays red 2"


def test_each_viewer_gets_the_newest_picture(client, picture):
    assert client.get("/picture.jpg").status_code == 404
    picture.put(b"\xff\xd8one")
    stream = iter(client.get("/picture.mjpg", buffered=False).response)
    assert next(stream) == b"--picture\r\n"
    one = next(stream)
    assert b"\xff\xd8one" in one
    assert one.endswith(b"--picture\r\n"), "so that a browser shows it at once"
    assert next(stream) == one, "the last one before a pause comes twice: some browsers show it only then"
    picture.put(b"\xff\xd8two")
    picture.put(b"\xff\xd8three")
    assert b"\xff\xd8three" in next(stream)
    assert picture.watched
    picture.close()
    assert all(b"\xff\xd8three" in again for again in stream)
    assert not picture.watched


# --- deciding ----------------------------------------------------------------------------------------


def test_the_host_overrules_a_ruling(client, live, race):
    for event in race:
        live.tell(event)
    won = client.get("/api/state").get_json()["rulings"][0]
    said = client.post("/api/overrule", json={"ruling": won["id"], "says": "2", "reason": "the film"}, headers=HOST)
    assert said.status_code == 200
    assert said.get_json()["withdrawn"][0] == won["id"]
    state = client.get("/api/state").get_json()
    assert state["rulings"][0]["text"] == "Cleo snapped first and wins the piles"
    assert state["events"][-1]["text"] == "ruling 1 overruled: Cleo, because the film"


@pytest.mark.parametrize(
    "becomes",
    [
        pytest.param("cleo turns 8s", id="as typed"),
        pytest.param({"event": "shown", "at_ns": 2_000_000_000, "seat": 2, "card": "8s", "pile": "up:2"}, id="as JSON"),
    ],
)
def test_the_host_amends_an_event_and_everything_after_is_judged_anew(client, live, race, becomes):
    for event in race:
        live.tell(event)
    assert client.post("/api/amend", json={"of": 2, "becomes": becomes}, headers=HOST).status_code == 200
    assert [r["clause"] for r in client.get("/api/state").get_json()["rulings"]] == ["S9", "S9", "S9"]
    amended = client.get("/api/state").get_json()["events"][-1]["id"]
    assert client.post("/api/undo", json={"of": amended}, headers=HOST).status_code == 200
    assert [r["clause"] for r in client.get("/api/state").get_json()["rulings"]] == ["S5", "S9"]
    assert client.post("/api/redo", json={"of": amended}, headers=HOST).status_code == 200
    assert [r["clause"] for r in client.get("/api/state").get_json()["rulings"]] == ["S9", "S9", "S9"]


def test_the_host_says_that_something_did_not_happen_or_was_missed(client, live, race):
    for event in race:
        live.tell(event)
    client.post("/api/amend", json={"of": 3, "becomes": None}, headers=HOST)
    assert client.get("/api/state").get_json()["rulings"][0]["text"] == "Cleo snapped first and wins the piles"
    client.post("/api/insert", json={"after": 2, "happened": "slap ana"}, headers=HOST)
    assert client.get("/api/state").get_json()["rulings"][0]["text"] == "Ana snapped first and wins the piles"


def test_a_table_without_a_camera_is_kept_by_typing(client, live):
    for typed in ("ben turns 7h", "cleo turns 7s", "slap cleo, ben", "wait"):
        assert client.post("/api/tell", json={"text": typed}, headers=HOST).status_code == 200
    rulings = client.get("/api/state").get_json()["rulings"]
    assert [ruling["text"] for ruling in rulings] == ["Cleo snapped first and wins the piles"]
    assert client.post("/api/tell", json={"text": "it rains"}, headers=HOST).status_code == 400
    assert client.post("/api/tell", json={"text": "slap ben"}).status_code == 403


def test_where_a_camera_sees_what_was_missed_is_put_in(snap, picture, race):
    live = LiveMatch(snap, Unkept(), seeing=True)
    client = create_app(live, picture, Door(TOKEN, 80)).test_client()
    for event in race[:2]:
        live.tell(event)
    client.post("/api/tell", json={"text": "slap ana 150ms"}, headers=HOST)
    for event in race[2:5]:
        live.tell(event)
    rulings = client.get("/api/state").get_json()["rulings"]
    assert rulings[0]["text"] == "Ana snapped first and wins the piles"


def test_the_host_answers_what_the_referee_asks(client, live):
    live.tell(Shown(at=Instant(0), seat=1, card=None, pile=Pile("up", 1)))
    question = client.get("/api/state").get_json()["board"]["questions"][0]
    assert question["text"] == "Which card did Ben turn?"
    body = {"question": question["key"], "says": "7h"}
    assert client.post("/api/answer", json=body).status_code == 403
    nonsense = client.post("/api/answer", json={**body, "says": "a very nice card, I think"}, headers=HOST)
    assert nonsense.status_code == 400
    assert client.post("/api/answer", json=body, headers=HOST).status_code == 200
    board = client.get("/api/state").get_json()["board"]
    assert board["questions"] == []
    assert board["players"][1]["piles"][1]["top"] == {"text": "7♥", "colour": "red"}


@pytest.mark.parametrize("path", ["answer", "overrule", "amend", "insert", "tell", "undo", "redo"])
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", "é" + TOKEN])
def test_without_the_hosts_token_nothing_can_be_changed(client, live, race, path, token):
    for event in race:
        live.tell(event)
    headers = {} if token is None else {"X-Palmreader-Token": token}
    response = client.post(f"/api/{path}", json={"of": 1, "becomes": None}, headers=headers)
    assert response.status_code == 403
    assert live.number == 7


def test_the_address_with_the_token_makes_a_browser_the_hosts(client, live, race):
    live.tell(race[0])
    assert "data-host" not in client.get("/").get_data(as_text=True)
    assert client.get("/?token=guess").status_code == 403
    came_in = client.get(f"/?token={TOKEN}")
    assert came_in.status_code == 302
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in came_in.headers["Set-Cookie"].split(";")}
    assert "data-host" in client.get("/").get_data(as_text=True)
    assert client.post("/api/amend", json={"of": 1, "becomes": None}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "localhost"}, 200, id="its own name"),
        pytest.param({"Host": "127.0.0.1:80"}, 200, id="its own address and port"),
        pytest.param({"Host": "evil.example"}, 403, id="a name that was rebound to us"),
        pytest.param({"Host": "localhost:8000"}, 403, id="another port"),
        pytest.param({"Host": "localhost.evil.example"}, 403, id="a name that begins like ours"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="another site's script"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="another port's script"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="our own script"),
    ],
)
def test_who_may_look(client, headers, status):
    assert client.get("/api/state", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("host", "let_in"),
    [("192.168.1.7:8620", True), ("Laptop:8620", True), ("192.168.1.8:8620", False), ("[::1]:8620", True), ("", False)],
)
def test_on_a_network_only_our_own_names_let_in(host, let_in):
    assert Door(TOKEN, 8620, ("localhost", "[::1]", "laptop", "192.168.1.7")).lets(host) is let_in


def test_a_link_from_elsewhere_may_open_the_page_but_not_speak(client):
    coming = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=coming).status_code == 200
    assert client.post("/api/undo", json={"of": 1}, headers={**coming, **HOST}).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        pytest.param("amend", b"{", 400, "request: expected a JSON object", id="cut JSON"),
        pytest.param("amend", b"[]", 400, "request: expected a JSON object", id="a list"),
        pytest.param("amend", b'{"of": "1", "becomes": null}', 400, "of: expected a whole number", id="a text for a number"),
        pytest.param("amend", b'{"of": 1}', 400, "becomes: expected an event", id="nothing said"),
        pytest.param("amend", b'{"of": 99, "becomes": null}', 400, "of: expected the id", id="an event that isn't there"),
        pytest.param("amend", b'{"of": 1, "becomes": "it rains"}', 400, "expected something like", id="no event"),
        pytest.param("amend", b'{"of": 1, "becomes": {"event": "shown"}}', 400, "shown: expected", id="half an event"),
        pytest.param("overrule", b'{"ruling": 1, "says": "9", "reason": "x"}', 400, "says: expected", id="no such choice"),
        pytest.param("overrule", b'{"ruling": 1, "says": "2", "reason": " "}', 400, "reason: expected", id="no reason"),
        pytest.param("answer", b'{"question": "x", "says": "y"}', 400, "question: expected", id="nothing was asked"),
        pytest.param("undo", b'{"of": 1' + b" " * 70_000 + b"}", 413, "", id="too long"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_answered_in_one_line(client, live, race, path, body, status, said):
    for event in race:
        live.tell(event)
    response = client.post(f"/api/{path}", data=body, content_type="application/json", headers=HOST)
    assert response.status_code == status
    assert said in response.get_json()["error"]
    assert "\n" not in response.get_json()["error"]
    assert live.number == 7


scalars = st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False) | st.text(max_size=12)
said = st.sampled_from(["ben turns 7h", "slap ana", "wait", "0", "tie", "void", "stands", "end", "race:2", "fault:1:x"])
events = st.fixed_dictionaries(
    {"event": st.sampled_from(sorted(KINDS)), "at_ns": st.integers(0, 9 * 10**9)},
    optional={
        "seat": st.none() | st.integers(-1, 13),
        "pile": st.sampled_from(["up:0", "up:9", "spot", "pot", "down:1", "nowhere"]),
        "card": st.sampled_from(["7h", "2c", "red 4", None]),
        "of": st.integers(-1, 9),
        "says": said,
        "question": said,
    },
)
bodies = st.one_of(
    st.dictionaries(st.sampled_from(["of", "after", "ruling", "says", "reason", "question", "text"]), scalars | said),
    st.fixed_dictionaries({"of": st.integers(0, 9), "becomes": events | said | scalars}),
    st.fixed_dictionaries({"after": st.integers(0, 9), "happened": events | said | scalars}),
    st.fixed_dictionaries({"text": said}),
    st.fixed_dictionaries({"ruling": st.integers(0, 4), "says": said, "reason": said}),
    scalars,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["answer", "overrule", "amend", "insert", "tell", "undo", "redo"]), bodies),
        max_size=8,
    )
)
def test_whatever_a_host_sends_is_taken_or_refused_and_the_log_still_tells_the_same(snap, race, sent):
    live = LiveMatch(snap, Unkept())
    client = create_app(live, Picture(), Door(TOKEN, 80)).test_client()
    for event in race:
        live.tell(event)
    for path, body in sent:
        before = live.number
        answer = client.post(f"/api/{path}", json=body, headers=HOST)
        assert answer.status_code in (200, 400, 415), answer.get_data(as_text=True)
        assert path == "tell" or live.number == before + (answer.status_code == 200)
    assert client.get("/api/state").status_code == 200
    lines = list(read(client.get("/log.jsonl").get_data(as_text=True).splitlines()))
    again = Match(snap.game, snap.setup)
    again.tell_all(lines[1:])
    with live.looking() as match:
        assert (again.board, again.rulings) == (match.board, match.rulings)


def test_a_form_from_another_page_is_no_json(client):
    response = client.post("/api/undo", data={"of": "1"}, headers=HOST)
    assert response.status_code == 415


def test_pages_may_not_be_framed_or_load_scripts_from_elsewhere(client):
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self'" in policy
    assert client.get("/").headers["X-Content-Type-Options"] == "nosniff"


# --- serving -----------------------------------------------------------------------------------------


def test_many_viewers_get_every_update_from_the_real_server(snap, picture, race):
    live = LiveMatch(snap, Unkept())
    listening = listen(0)
    port = listening.getsockname()[1]
    seen: list[list[int]] = []

    def view() -> None:
        mine: list[int] = []
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/events", timeout=20) as stream:
            for line in stream:
                if line.startswith(b"event: state"):
                    ready.release()
                if line.startswith(b"data:") and b'"given"' in line:
                    mine.append(json.loads(line[5:])["event"]["id"])
                    if len(mine) == len(race):
                        break
        seen.append(mine)

    ready = threading.Semaphore(0)
    with Serving(create_app(live, picture, Door(TOKEN, port)), listening):
        viewers = [threading.Thread(target=view, daemon=True) for _ in range(12)]
        for viewer in viewers:
            viewer.start()
        for _ in viewers:
            ready.acquire(timeout=20)
        for event in race:
            live.tell(event)
        for viewer in viewers:
            viewer.join(timeout=20)
        live.end()
    assert seen == [[1, 2, 3, 4, 5, 6, 7]] * 12


def test_a_port_in_use_is_said_in_one_line():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(
            BadInput, match=r"port: expected one that is free, like --port \d+, got \d+: Address already"
        ):
            listen(other.getsockname()[1])
