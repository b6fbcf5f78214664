"""Numbers and strings as the reader sees them."""

import pytest

from scapo.report import text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0164, "0.0164"), (12345, "12,345"), (12345.6, "12,346"), (3.2e-7, "3.2e-07"), (0.0, "0"), (None, "–"),
     (float("nan"), "–"), (-0.5, "−0.5"), ("text", "–"), (True, "–")],
)  # fmt: skip
def test_short(value, shown):
    assert text.short(value) == shown


def test_differences_show_their_sign_and_zero_has_none():
    assert [text.points(v) for v in (0.012, -0.012, 0.0004, -0.0004)] == ["+1.2", "−1.2", "0.0", "0.0"]


@pytest.mark.parametrize(("seconds", "shown"), [(12.34, "12.3 s"), (245, "4 min 05 s"), (7620, "2 h 07 min")])
def test_duration(seconds, shown):
    assert text.duration(seconds) == shown


def test_control_characters_become_visible_and_surrogates_survive():
    assert text.clean("a\x00b\x1bc\n\t\x7f\x9b") == "a␀b␛c\n\t␡�"
    assert text.clean("\ud800") == "?"


def test_times_are_for_people_and_nonsense_passes_through():
    assert text.when("2026-11-30T20:57:00+00:00") == "30 November 2026, 20:57 UTC"
    assert text.when("yesterday") == "yesterday"
