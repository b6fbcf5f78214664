r"""Spell answers alike: Unicode digits and signs, LaTeX spacing and sizing commands, stray delimiters.

Nothing here changes the value of an answer. Every pattern is linear in the text.
"""

import re
import unicodedata

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("−–—‐‑‒―﹣－", "-"),
        **dict.fromkeys(
            "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) != "－"},
        **{sup: f"^{{{digit}}}" for sup, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)},
        **{sub: f"_{{{digit}}}" for sub, digit in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)},
        **{
            "½": r"\frac{1}{2}",
            "⅓": r"\frac{1}{3}",
            "⅔": r"\frac{2}{3}",
            "¼": r"\frac{1}{4}",
            "¾": r"\frac{3}{4}",
        },
        **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "⁄": "/", "∕": "/", "∗": "*"},
        **{"π": r"\pi ", "∞": r"\infty ", "√": r"\sqrt ", "±": r"\pm ", "°": r"^{\circ}", "∅": r"\emptyset "},
        **{
            "≤": r"\leq ",
            "≥": r"\geq ",
            "≠": r"\neq ",
            "∪": r"\cup ",
            "∩": r"\cap ",
            "∈": r"\in ",
            "≈": r"\approx ",
        },
        **{"，": ",", "。": ".", "、": ",", "′": "'", "’": "'", "“": '"', "”": '"', "…": r"\ldots "},
    }
)
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"\\(?:left|right|[bB]igg?[lrm]?)(?![A-Za-z])(?:\s*+\.)?", ""),
        (r"\\(?:displaystyle|textstyle|limits|nolimits|bf|rm|it)(?![A-Za-z])", ""),
        (r"\{\s*([,:])\s*\}", r"\1"),  # 1{,}234 and 4{:}30
        (r"(?<!\\)\\!\s*+", ""),
        (r"(?<!\\)\\[,;:>\s]|(?<!\\)~|\\q?quad(?![A-Za-z])|\\(?:thin|med|thick)?space(?![A-Za-z])", " "),
        (r"(?<!\\)\\[()\[\]]|\\?\$", " "),
        (r"\\[dtc]?frac(?![A-Za-z])\s*+([0-9]|(?<=\s)[A-Za-z](?![A-Za-z]))", r"\\frac{\1}"),
        (r"\\[dtc]?frac\s*+(?=\{)", r"\\frac"),
        (r"\\frac(\{[^{}]*\}) ?([0-9A-Za-z])", r"\\frac\1{\2}"),
        (r"\\(le|ge)(?:qslant|qq)?(?![A-Za-z])", r"\\\1q"),
        (r"\\ne(?![A-Za-z])", r"\\neq"),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\(?:dots[bcimo]?|cdots)(?![A-Za-z])", r"\\ldots"),
        (r"\^\s*+(?:\\circ(?![A-Za-z])|\\degree(?![A-Za-z])|\{\s*\\(?:circ|degree)\s*\})", r"^{\\circ}"),
        (r"\\degree(?![A-Za-z])", r"^{\\circ}"),
        (r"\\mbox(?![A-Za-z])|\\hbox(?![A-Za-z])|\\text(?:rm|it|bf|normal|sf|tt)(?![A-Za-z])", r"\\text"),
        (r"\\math(?:rm|bf|it|sf|tt)(?![A-Za-z])|\\(?:boldsymbol|bm|operatorname)(?![A-Za-z])", r"\\mathrm"),
        (r"\\(?:text)?color ?\{[^{}]*\}|\\underline(?=\{)", ""),
        (r"\\(?:text|mathrm) ?\{([^{}]*(?<!\^)[0-9][^{}]*)\}", r" \1 "),  # a value; not a unit such as cm^2
        (r"\A\s*\*\*(.*)\*\*\s*\Z", r"\1"),
        (r"\*\*", "^"),
        (r"\\varnothing(?![A-Za-z])", r"\\emptyset"),
        (r"\s+", " "),
    ]
]
_BOX = re.compile(r"\\(?:boxed|fbox)\s*+(?=\{)")
_SPACE = re.compile(r"\s+")
_ONE_CHARACTER_GROUP = re.compile(r"\{([^{}\\])\}")


def normalise(text: str) -> str:
    """The answer with one spelling for signs, digits, spacing and delimiters; same value."""
    text = "".join(_plain(character) for character in text.translate(_SIGNS))
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = _BOX.sub("", text).strip()
    return _strip_final_stop(text)


def canonical(text: str) -> str:
    """A normalised text for literal comparison: no spaces, `{x}` as `x`, plain words in lower case."""
    text = _ONE_CHARACTER_GROUP.sub(r"\1", _SPACE.sub("", strip_group(text)))
    word = text.removeprefix(r"\text{").removesuffix("}") if text.startswith(r"\text{") else text
    return word.lower() if word.isalpha() and len(word) > 1 else word if word.isalnum() else text


def strip_group(text: str) -> str:
    """Without outer braces that hold the whole text: `{7}` is `7`."""
    while text.startswith("{") and text.endswith("}") and closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def closing(text: str, opening: int) -> int:
    """Index of the bracket that closes the one at `opening`, -1 if none; escaped braces count as brackets."""
    depth = 0
    for at in range(opening, len(text)):
        if text[at] in "({[":
            depth += 1
        elif text[at] in ")}]":
            depth -= 1
            if depth == 0:
                return at
    return -1


def split(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split at separators that stand outside all brackets."""
    depth, depths = 0, []
    for character in text:
        depth -= character in ")}]"
        depths.append(depth)
        depth += character in "({["
    parts, start = [], 0
    for match in separator.finditer(text):
        if depths[match.start()] == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    return [*parts, text[start:].strip()]


def balanced(text: str) -> bool:
    """Whether the unescaped braces of a text match."""
    depth = 0
    for brace in re.findall(r"\\.|[{}]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return False
    return depth == 0


def has_control_characters(text: str) -> bool:
    """Control characters other than white space: damaged LaTeX (`\\f` of `\\frac` read as form feed)."""
    return any(unicodedata.category(c) == "Cc" and c not in "\t\n\r" for c in text)


def _plain(character: str) -> str:
    """ASCII digits for any script's digits; without format marks (zero-width, direction) and null bytes."""
    if character.isascii():
        return "" if character == "\0" else character
    if character.isdecimal():
        return str(unicodedata.digit(character))
    return "" if unicodedata.category(character) == "Cf" else character


def _strip_final_stop(text: str) -> str:
    """Without a sentence's end: full stops, commas, line breaks; an ellipsis stays."""
    bare = text
    while bare.endswith((" ", ".", ",", ";", "\\")) and not bare.endswith(".."):
        bare = bare[: -2 if bare.endswith("\\") else -1]
    return bare
