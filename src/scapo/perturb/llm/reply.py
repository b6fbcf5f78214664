"""What a model's reply says: a text per kind, or why it says nothing usable. Replies are untrusted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scapo.perturb.kinds import Kind
from scapo.perturb.llm.latex import decode_json_string, join_surrogates, restore_backslashes

_NAMES = "|".join(Kind)
_SECTION = re.compile(rf"^[ \t>*]*<<<\s*({_NAMES}|end)\s*>>>", re.MULTILINE)
_JSON_KEY = re.compile(rf'"({_NAMES})"\s*:\s*"')
_JSON_STRING_END = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_FENCE = re.compile(r"```[a-z]*\n(.*)\n```", re.DOTALL)
_DECLINED = re.compile(
    r"\W*(i.?m sorry|sorry|i apologi[sz]e|i can.?t|i cannot|i.?m (not able|unable)|as an ai|"
    r"抱歉|对不起|很抱歉|我无法)",
    re.IGNORECASE,
)
CUT = "truncated: the reply was cut at the token limit"
_HELD_BACK = {
    "content_filter": "content_filter: the endpoint's filter held the reply back",
    "refusal": "declined: the model declined",
}


@dataclass(frozen=True)
class Parsed:
    """Texts by kind, and per kind why there is none; `fault` where the whole reply is unusable.

    Faults read "code: sentence"; `status` is the code for the whole reply, `ok` where each kind is there.
    """

    texts: Mapping[Kind, str] = field(default_factory=dict)
    faults: Mapping[Kind, str] = field(default_factory=dict)
    fault: str | None = None

    @property
    def reason(self) -> str:
        return self.fault or next(iter(self.faults.values()), "")

    @property
    def status(self) -> str:
        return self.reason.partition(":")[0] or "ok"


def parse_reply(reply: str, finish: str, wanted: Sequence[Kind], original: str) -> Parsed:
    """Read a reply in either form (marked sections or JSON), whatever stands around it, in whatever order.

    `finish` is the endpoint's reason for the end; of a reply that was cut, only texts that are whole count.
    """
    if finish in _HELD_BACK:
        return Parsed(fault=_HELD_BACK[finish])
    cut = finish == "length"
    body = join_surrogates(reply).rpartition("</think>")[2].strip()
    found = _sections(body, cut) or _json_strings(body, original)
    if not found:
        return Parsed(fault=CUT if cut else _unusable(body))
    texts: dict[Kind, str] = {}
    faults: dict[Kind, str] = {}
    for kind in wanted:
        values = found.get(kind, [])
        if len(values) == 1:
            texts[kind] = restore_backslashes(_framed_like(values[0], original), original)
        else:
            faults[kind] = CUT if cut and not values else _missing(kind, values, found)
    return Parsed(texts, faults)


def _missing(kind: Kind, values: list[str], found: Mapping[Kind, list[str]]) -> str:
    if values:
        return f"duplicate_kind: the reply holds {len(values)} texts for {kind}"
    return f"missing_kind: the reply has no {kind}, only {', '.join(found)}"


def _unusable(body: str) -> str:
    if not body:
        return "empty_reply: the reply has no text"
    start = " ".join(body[:120].split())
    if _DECLINED.match(body):
        return f"declined: the model declined in prose ({start!r})"
    return f"invalid_reply: no text for any kind was found in the reply (it begins {start!r})"


def _sections(body: str, cut: bool) -> dict[Kind, list[str]]:
    """Texts after `<<<kind>>>` marks at the beginning of lines; of a cut reply, those that a mark ends."""
    marks = list(_SECTION.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + ([] if cut else [len(body)])
    found: dict[Kind, list[str]] = {}
    for mark, end in zip(marks, ends, strict=False):
        if mark[1] != "end":
            found.setdefault(Kind(mark[1]), []).append(body[mark.end() : end])
    return found


def _json_strings(body: str, original: str) -> dict[Kind, list[str]]:
    """The strings under our keys, read one after another: nothing inside a string is taken for a key."""
    found: dict[Kind, list[str]] = {}
    place = 0
    while key := _JSON_KEY.search(body, place):
        end = _JSON_STRING_END.match(body, key.end())
        if end is None:  # the reply broke off inside this string
            break
        found.setdefault(Kind(key[1]), []).append(decode_json_string(end[0][:-1], original))
        place = end.end()
    return found


def _framed_like(text: str, original: str) -> str:
    """The text without a code fence of its own, with the white space that begins and ends the original."""
    text = text.strip()
    fence = _FENCE.fullmatch(text)
    if fence and not original.strip().startswith("```"):
        text = fence[1].strip()
    if not text or original == original.strip():
        return text
    lead = original[: len(original) - len(original.lstrip())]
    return lead + text + original[len(original.rstrip()) :]
