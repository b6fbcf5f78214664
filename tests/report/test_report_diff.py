"""What a rewrite changed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapo.report import diff
from scapo.report.diff import Piece, word_diff


@pytest.mark.parametrize(
    ("original", "rewrite", "pieces"),
    [
        ("same", "same", [Piece("same", "same")]),
        ("", "", []),
        (
            "She gave 7.",
            "She handed 7.",
            [("same", "She "), ("removed", "gave"), ("added", "handed"), ("same", " 7.")],
        ),
        ("four different", "four diferent", [("same", "four di"), ("removed", "f"), ("same", "ferent")]),
        ("What is it?", "What is it? [tag: x]", [("same", "What is it?"), ("added", " [tag: x]")]),
        ("", "new", [("added", "new")]),
    ],
)
def test_pieces_by_hand(original, rewrite, pieces):
    assert word_diff(original, rewrite) == pieces


def spelled(pieces, without):
    return "".join(piece.text for piece in pieces if piece.kind != without)


@given(st.text(alphabet="ab c.\n", max_size=30), st.text(alphabet="ab c.\n", max_size=30))
def test_pieces_spell_both_texts(original, rewrite):
    pieces = word_diff(original, rewrite)
    assert spelled(pieces, "removed") == rewrite
    assert spelled(pieces, "added") == original
    assert all(one.kind != two.kind for one, two in pairwise(pieces))


def test_very_long_texts_take_linear_time(monkeypatch):
    monkeypatch.setattr(diff, "SequenceMatcher", None)  # the quadratic way would fail
    original = "word " * 5000
    pieces = word_diff(original, "new " + original)
    assert spelled(pieces, "removed") == "new " + original
    assert spelled(pieces, "added") == original
