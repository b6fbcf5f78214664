"""Where each sampled token stands in the text: from the ids themselves, never by encoding the text again."""

from collections.abc import Sequence
from typing import Any

BROKEN = "\N{REPLACEMENT CHARACTER}"
MAX_PARTS = 8
"""So many tokens may share one character; after that, bytes that form none are taken as they are."""


def text_and_offsets(tokenizer: Any, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """The decoded text and each token's (start, stop) in it, in characters.

    A token is decoded behind the tokens before it, since a leading space may depend on them. Tokens that
    share one character all get its place.
    """

    def decode(start: int, stop: int) -> str:
        return str(
            tokenizer.decode(
                list(ids[start:stop]), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    text, offsets = "", []
    before, done = 0, 0  # tokens before..done are the context, done.. those without a place yet
    for stop in range(1, len(ids) + 1):
        piece = decode(before, stop)[len(decode(before, done)) :]
        if piece.endswith(BROKEN) and stop - done < MAX_PARTS and stop < len(ids):
            continue
        offsets += [(len(text), len(text) + len(piece))] * (stop - done)
        text += piece
        before, done = done, stop
    return text, offsets
