"""The text of single tokens, for any tokenizer: byte-level BPE, SentencePiece, WordPiece.

Decoding one id alone loses what depends on its neighbours: SentencePiece drops a leading space, byte-level
tokens may hold half a character. So a token is decoded behind an anchor and the anchor's text is cut off.
"""

from collections.abc import Sequence
from typing import Any

from scapo.diagnose.classes import REPLACEMENT, TokenClass, token_class

ANCHORS = ("a", "0", ".")
MAX_PARTS = 8  # tokens that may share one character (4 bytes at most) or one joined cluster


class TokenTexts:
    """Text and class of token ids under one tokenizer; each id is decoded once."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._control = set(tokenizer.all_special_ids)
        self._anchor, self._anchor_text = self._find_anchor()
        self._known: dict[int, tuple[str, TokenClass]] = {}

    def text(self, token: int) -> str:
        """The token's text, with its leading space; U+FFFD where its bytes are no whole character."""
        return self._look_up(token)[0]

    def token_class(self, token: int) -> TokenClass:
        return self._look_up(token)[1]

    def classes(self, tokens: Sequence[int]) -> list[TokenClass]:
        return [self.token_class(token) for token in tokens]

    def readable(self, tokens: Sequence[int]) -> list[str]:
        """Texts for reading: a character split over several tokens stands at the last one, "" before it."""
        texts = [self.text(token) for token in tokens]
        place = 0
        while place < len(tokens):
            whole = self._whole_from(tokens, place) if REPLACEMENT in texts[place] else None
            if whole is not None:
                parts, text = whole
                texts[place : place + parts] = [*[""] * (parts - 1), text]
                place += parts
            else:
                place += 1
        return texts

    def _whole_from(self, tokens: Sequence[int], place: int) -> tuple[int, str] | None:
        """The shortest run of two tokens or more from `place` that decodes without a broken character."""
        for parts in range(2, min(MAX_PARTS, len(tokens) - place) + 1):
            text = self._decode(tokens[place : place + parts])
            if REPLACEMENT not in text:
                return parts, text
        return None

    def _look_up(self, token: int) -> tuple[str, TokenClass]:
        if token not in self._known:
            text = self._decode([token])
            self._known[token] = text, token_class(text, control=token in self._control)
        return self._known[token]

    def _decode(self, tokens: Sequence[int]) -> str:
        text = self._raw([*self._anchor, *tokens])
        if text.startswith(self._anchor_text):
            return text[len(self._anchor_text) :]
        return self._raw(tokens)

    def _find_anchor(self) -> tuple[list[int], str]:
        for word in ANCHORS:
            ids = self._tokenizer.encode(word, add_special_tokens=False)
            if ids and self._raw(ids).strip() == word:
                return list(ids), self._raw(ids)
        return [], ""

    def _raw(self, tokens: Sequence[int]) -> str:
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )
