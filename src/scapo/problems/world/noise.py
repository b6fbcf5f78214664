"""Mild noise on pre-training prompts: rewrites shall be unusual to the base policy, not alien."""

import random
import string

FRAMES = (
    "During a quiz, {story}",
    "In a short exercise for class, {story}",
    "Here is a small puzzle. {story}",
    "A friend asks this over tea. {story}",
    "Read the following story. {story}",
    "{story} Think about it calmly.",
    "{story} This came up in a chat.",
    "{story} Take your time.",
)
SCENE_STARTS = ("In", "At", "On", "Before", "After", "Late", "Early")
TAUTOLOGIES = ("True is true.", "A name is a name.", "Today is today.", "What is here is here.")
SYNONYMS = {
    "buys": "purchases", "finds": "discovers", "collects": "gathers", "receives": "gets", "more":
    "additional", "extra": "further", "other": "additional", "sells": "trades away", "throws out":
    "discards", "ruins": "destroys", "borrows": "takes", "swaps": "exchanges", "replaces": "substitutes",
    "splits": "separates", "equally": "evenly", "evenly": "equally", "keeps": "retains", "arranges":
    "puts", "owns": "possesses", "starts with": "begins with", "Then": "Next", "After that": "Afterwards",
    "How many": "What number of", "brings": "gives", "fairly": "equally", "in the end": "at the end",
    "now": "at this point", "only": "just", "new": "fresh",
}  # fmt: skip


def noisy(text: str, rng: random.Random, share: float) -> str:
    """The text, or in `share` of the cases one of its mild variants."""
    if rng.random() >= share:
        return text
    return rng.choice((_typo, _framed, _tagged, _reworded))(text, rng)


def _typo(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    index = rng.choice(
        [i for i, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 3]
    )
    words[index] = _edited(words[index], rng)
    return " ".join(words)


def _edited(word: str, rng: random.Random) -> str:
    i, letter = rng.randrange(len(word) - 1), rng.choice(string.ascii_lowercase)
    return rng.choice((
        word[:i] + word[i + 1 :],
        word[:i] + letter + word[i:],
        word[:i] + letter + word[i + 1 :],
        word[:i] + word[i + 1] + word[i] + word[i + 2 :],
    ))  # fmt: skip


def _framed(text: str, rng: random.Random) -> str:
    inner = text[0].lower() + text[1:] if text.split(" ")[0] in SCENE_STARTS else text
    frame = rng.choice(FRAMES)
    return frame.format(story=inner if frame.endswith(", {story}") else text)


def _tagged(text: str, rng: random.Random) -> str:
    code = "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(4, 10)))
    return f"{text} {rng.choice((code, f'[tag: {code}]', f'[ref {code}]', rng.choice(TAUTOLOGIES)))}"


def _reworded(text: str, rng: random.Random) -> str:
    known = [word for word in SYNONYMS if f" {word} " in text]
    for word in rng.sample(known, k=min(len(known), rng.randint(1, 3))):
        text = text.replace(f" {word} ", f" {SYNONYMS[word]} ")
    return text
