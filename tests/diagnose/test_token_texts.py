"""Texts of single tokens under byte-level BPE and SentencePiece."""

import pytest
from tiny_lm import byte_level, sentence_piece

from scapo.diagnose.classes import REPLACEMENT
from scapo.diagnose.tokens import TokenTexts

TEXT = "so wait, we check é 🙂 and 7."


@pytest.fixture(scope="module")
def bytes_tokenizer():
    return byte_level()


def ids_of(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def test_byte_level_texts_join_to_the_response(bytes_tokenizer):
    texts = TokenTexts(bytes_tokenizer)
    ids = ids_of(bytes_tokenizer, TEXT)
    assert "".join(texts.readable(ids)) == TEXT


def test_broken_characters_are_other_and_read_as_a_whole_at_their_last_token(bytes_tokenizer):
    texts = TokenTexts(bytes_tokenizer)
    ids = ids_of(bytes_tokenizer, "🙂")
    assert len(ids) > 1
    assert {texts.text(token) for token in ids} == {REPLACEMENT}
    assert {str(name) for name in texts.classes(ids)} == {"other"}
    assert texts.readable(ids) == [*[""] * (len(ids) - 1), "🙂"]


def test_a_character_cut_off_at_the_end_stays_broken(bytes_tokenizer):
    texts = TokenTexts(bytes_tokenizer)
    ids = ids_of(bytes_tokenizer, "a🙂")[:-1]
    assert texts.readable(ids)[0] == "a"
    assert REPLACEMENT in "".join(texts.readable(ids))


def test_control_tokens_show_their_name_and_are_other(bytes_tokenizer):
    texts = TokenTexts(bytes_tokenizer)
    end = bytes_tokenizer.eos_token_id
    assert (texts.text(end), str(texts.token_class(end))) == ("<|im_end|>", "other")


def test_sentence_piece_keeps_leading_spaces_and_joins_bytes():
    tokenizer = sentence_piece()
    texts = TokenTexts(tokenizer)
    ids = [
        tokenizer.convert_tokens_to_ids(piece)
        for piece in ("▁so", "▁wait", ",", "▁7", "<0xC3>", "<0xA9>", "</s>")
    ]
    assert texts.readable(ids) == [" so", " wait", ",", " 7", "", "é", "</s>"]
    names = [str(name) for name in texts.classes(ids)]
    assert names == ["connective", "reflection", "punctuation", "number", "other", "other", "other"]


def test_each_token_is_decoded_once(bytes_tokenizer, monkeypatch):
    texts = TokenTexts(bytes_tokenizer)
    texts.text(50)
    monkeypatch.setattr(texts, "_decode", None)
    assert texts.text(50)
