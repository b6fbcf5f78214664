r"""Backslashes that survive a model and JSON: `\frac` must not come back as a form feed, `\text` as a tab."""

import re

_COMMAND = re.compile(r"(\\+)([A-Za-z]+|.|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|n[A-Za-z]*|t[A-Za-z]*|.|$)", re.DOTALL)
_PLAIN = {"\\": "\\", '"': '"', "/": "/"}
_SPACES = {"n": "\n", "t": "\t"}


def decode_json_string(raw: str, original: str) -> str:
    r"""The text meant by the inside of a JSON string whose writer may not have doubled backslashes.

    `\\`, `\"`, `\/` and `\uXXXX` mean what JSON says. No problem means a form feed, backspace or carriage
    return, so `\f`, `\b`, `\r` begin a LaTeX command; so does every escape that JSON doesn't know. `\n` and
    `\t` begin one only where the original has that command (`\nabla`, `\text`), else they are white space.
    """
    commands = {match[2] for match in _COMMAND.finditer(original)}

    def decode(match: re.Match[str]) -> str:
        body = match[1]
        if body in _PLAIN:
            return _PLAIN[body]
        if len(body) == 5 and body[0] == "u":
            return chr(int(body[1:], 16))
        if body[:1] in _SPACES and body not in commands:
            return _SPACES[body[0]] + body[1:]
        return "\\" + body

    return join_surrogates(_ESCAPE.sub(decode, raw))


def join_surrogates(text: str) -> str:
    """Pairs of UTF-16 surrogates become their character; a lone one, which no file can hold, U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def restore_backslashes(text: str, original: str) -> str:
    r"""Give each run of backslashes its length in the original, if both have the same commands in order.

    Models double backslashes, halve them, or tidy up a source that doubles them. Where the commands
    differ, the text is returned as it is, for the checks to refuse.
    """
    ours, theirs = list(_COMMAND.finditer(text)), list(_COMMAND.finditer(original))
    if [match[2] for match in ours] != [match[2] for match in theirs]:
        return text
    runs = iter(theirs)
    return _COMMAND.sub(lambda match: next(runs)[1] + match[2], text)
