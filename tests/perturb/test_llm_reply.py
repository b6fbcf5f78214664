r"""Replies: LaTeX survives JSON, and whatever a model wraps around its texts is left out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapo.perturb.kinds import SEMIFACTUAL, Kind
from scapo.perturb.llm.latex import decode_json_string, join_surrogates, restore_backslashes
from scapo.perturb.llm.reply import parse_reply

P, T = Kind.PARAPHRASE, Kind.TYPO_NOISE
MATH = r"Let $\frac{1}{2} \neq \text{cm}$, $\nabla f = \underbrace{\beta + \rho}$, $\left[a \\ b\right]$."


def read(reply, original=MATH, wanted=(P,), finish="stop"):
    return parse_reply(reply, finish, list(wanted), original)


@pytest.mark.parametrize(
    "command", [r"\frac{1}{2}", r"\nabla", r"\underbrace{x}", r"\text{cm}", r"\beta", r"\rho", r"\{"]
)
def test_a_command_whose_backslash_was_not_doubled_is_no_control_character(command):
    original = f"Find ${command}$."
    assert read(f'{{"paraphrase": "Find ${command}$."}}', original).texts[P] == original


@pytest.mark.parametrize("backslashes", [1, 2, 4])
def test_backslashes_survive_however_often_they_were_doubled_in_json(backslashes):
    raw = MATH.replace("\\\\", "\0\0").replace("\\", "\\" * backslashes).replace("\0", "\\" * backslashes)
    assert read(f'{{"paraphrase": "{raw}"}}').texts[P] == MATH


@pytest.mark.parametrize("backslashes", [1, 2])
def test_backslashes_survive_however_often_they_were_doubled_in_plain_text(backslashes):
    assert (
        read(f"<<<paraphrase>>>\n{MATH.replace(chr(92), chr(92) * backslashes)}\n<<<end>>>").texts[P] == MATH
    )


def test_a_source_with_doubled_backslashes_keeps_them():
    original = r"Find $\\frac{1}{2}$ of it, \n then stop."
    assert read(json.dumps({"paraphrase": original.replace("\\\\", "\\")}), original).texts[P] == original


def test_new_lines_and_tabs_stay_where_they_are_no_commands():
    original = "First line.\nNext \\nabla line.\tTab."
    assert read(json.dumps({"paraphrase": original}), original).texts[P] == original


def test_other_commands_than_the_original_has_are_left_for_the_checks():
    assert restore_backslashes(r"$\\sqrt{2}$", r"$\frac{1}{2}$") == r"$\\sqrt{2}$"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\f\b"), max_size=80))
def test_any_text_written_as_proper_json_comes_back(original):
    assert decode_json_string(json.dumps(original)[1:-1], original) == original
    assert decode_json_string(json.dumps(original, ensure_ascii=False)[1:-1], original) == original


@given(
    st.text(max_size=200), st.text(max_size=50), st.sampled_from(["stop", "length", "content_filter", "?"])
)
def test_no_reply_raises_and_every_kind_is_a_text_or_a_fault(reply, original, finish):
    parsed = parse_reply(reply, finish, list(SEMIFACTUAL), original)
    assert parsed.fault or set(parsed.texts) | set(parsed.faults) == set(SEMIFACTUAL)
    for text in parsed.texts.values():
        text.encode()  # no lone surrogates: a file can hold it


def test_lone_surrogates_become_the_replacement_character_and_pairs_their_own():
    assert join_surrogates("a\ud83d\ude00b") == "a😀b"
    assert join_surrogates("a\ud800b") == "a�b"


@pytest.mark.parametrize(
    "wrapped",
    [
        '```json\n{"paraphrase": "Say it."}\n```',
        'Sure!\n{"paraphrase": "Say it."} Hope this helps.',
        '{"rewrites": {"paraphrase": "Say it."}}',
        '{"paraphrase": "Say it.",}',
        '<think>{"paraphrase": "No."}</think>{"paraphrase": "Say it."}',
        "<<<paraphrase>>>\nSay it.\n<<<end>>>\nHope this helps.",
        "<<< paraphrase >>> Say it.",
        "**Rewrites**\n<<<paraphrase>>>\n```\nSay it.\n```\n<<<end>>>",
        "> <<<paraphrase>>>\nSay it.\n",
        '{"typo_noise": "Sya it.", "paraphrase": "Say it."}',
        '{"paraphrase": "Say it.", "typo_noise": "Sy',
    ],
)
def test_what_stands_around_a_text_is_left_out(wrapped):
    assert read(wrapped, "Say this.").texts == {P: "Say it."}


def test_a_key_inside_a_string_is_no_key():
    inside = 'The set {"typo_noise": "x"} has one key.'
    parsed = read(json.dumps({"paraphrase": inside}), inside, (P, T))
    assert parsed.texts == {P: inside}
    assert parsed.faults[T].startswith("missing_kind")


@pytest.mark.parametrize(
    ("reply", "finish", "status"),
    [
        ("", "stop", "empty_reply"),
        ("<think>hm</think>\n", "stop", "empty_reply"),
        ("I'm sorry, but I can't do that.", "stop", "declined"),
        ("抱歉，我无法完成。", "stop", "declined"),
        ("x", "refusal", "declined"),
        ("Tom has apples", "stop", "invalid_reply"),
        ('{"paraphrase": 7}', "stop", "invalid_reply"),
        ('{"paraphrase": "Tom ha', "length", "truncated"),
        ("<<<paraphrase>>>\nTom ha", "length", "truncated"),
        ('{"paraphrase": "Say it."}', "content_filter", "content_filter"),
        ('{"paraphrase": "a", "paraphrase": "b"}', "stop", "duplicate_kind"),
        ('{"typo_noise": "a"}', "stop", "missing_kind"),
    ],
)
def test_an_unusable_reply_says_why(reply, finish, status):
    parsed = read(reply, finish=finish)
    assert parsed.texts == {}
    assert parsed.status == status
    assert len(parsed.reason) > len(status) + 10


def test_of_a_cut_reply_whole_texts_count():
    assert read("<<<typo_noise>>>\nSya it.\n<<<paraphrase>>>\nSay i", "Say it.", (P, T), "length").texts == {
        T: "Sya it."
    }


def test_white_space_around_the_original_is_kept():
    assert read('{"paraphrase": "Say it."}', " Say this.\n").texts[P] == " Say it.\n"
