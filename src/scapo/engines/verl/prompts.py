"""Prompts as token ids, in the way verl's rollout makes them."""

from typing import Any

from scapo.engines.verl.scoring import Ids
from scapo.errors import ScapoError


class PromptTokens:
    """Tokenises chat prompts with the settings of verl's `data` section."""

    def __init__(self, tokenizer: Any, data: Any) -> None:
        self.tokenizer = tokenizer
        self.settings = dict(data.get("apply_chat_template_kwargs") or {})
        self.longest = int(data.max_prompt_length)

    def ids(self, messages: Any) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            add_generation_prompt=True,
            tokenize=False,
            **self.settings,
        )
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def rewrite(self, messages: Any) -> Ids | None:
        """Ids of a rewritten prompt; None where there is none, or where it is longer than prompts may be."""
        found = self.ids(messages) if messages is not None and len(messages) else None
        return found if found and len(found) <= self.longest else None

    def check(self, messages: Any, used: Ids) -> None:
        """Raise unless the original prompt gives the very ids that verl sampled from.

        Else rewrites would differ from it in more than their words, and drift would measure the template.
        """
        mine = self.ids(messages)
        if mine != list(used):
            at = next((i for i, (a, b) in enumerate(zip(mine, used, strict=False)) if a != b), None)
            raise ScapoError(
                f"verl sampled from a prompt of {len(used)} tokens, but the tokenizer's chat template makes "
                f"{len(mine)} of the same messages (they part at token {at}). Put what changes the template into "
                "data.apply_chat_template_kwargs, which both read."
            )
