"""The benchmark of enrolled decks, at a tiny size: one look at each card, then photographs under two lights."""

from __future__ import annotations

import json

import pytest

from vision.benches import enrolment
from vision.cards.read import CardReader
from vision.films.artwork import DeckArt
from vision.films.print_deck import own_deck
from web.cli import main


def four_cards(name: str) -> DeckArt:
    art = own_deck("hit-the-deck")
    return DeckArt(name, {card: art.faces[card] for card in ("red 1", "red 5", "blue 1", "hit hand")}, art.back)


def test_the_bench_prints_a_table_and_its_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outline_reader: CardReader
) -> None:
    lights = {light: enrolment.LIGHTS[light] for light in ("lamp", "warm")}
    monkeypatch.setattr(enrolment, "LIGHTS", lights)
    monkeypatch.setattr(enrolment, "SIZES_PX", ((960, 540),))
    monkeypatch.setattr(enrolment, "artwork", four_cards)
    monkeypatch.setattr(CardReader, "shipped", lambda *args, **kwargs: outline_reader)
    assert main(["bench", "enrolment", "--decks", "four", "--quick", "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = json.loads(lines[-1])
    assert told["cards"] == 30
    assert told["cards_found"] >= 0.5
    assert told["read_wrong"] == 0
    assert told["read_right"] >= 0.8
    assert abs(told["read_right"] + told["read_wrong"] + told["abstained"] - 1) < 1e-3
    assert told["missing_named"] == 0
    assert set(told["by_light"]) == {"lamp", "warm"}
    assert any(line.startswith("four") and "not in the deck" in line for line in lines)
