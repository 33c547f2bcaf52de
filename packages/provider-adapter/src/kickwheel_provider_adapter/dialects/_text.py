"""Small rules about strings: blank, and what becomes of surrogates."""

import re
from typing import Final, TypeGuard

MESSAGE_CHARACTERS: Final = 2000  # 05D.49: an error text is for people; the rest of a long one is noise

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR_OR_LONE = re.compile("([\ud800-\udbff])([\udc00-\udfff])|[\ud800-\udfff]")
_FEFF = "\ufeff"


def is_blank(text: str) -> bool:
    """No character but white space (as `str.strip` has it) and U+FEFF; the empty string is blank."""
    rest = text.strip()
    return not rest or (_FEFF in rest and not rest.replace(_FEFF, "").strip())


def is_word(value: object) -> TypeGuard[str]:
    """A non-blank string: what ids, names and stop words have to be to count as sent."""
    return type(value) is str and not is_blank(value)


def has_surrogate(text: str) -> bool:
    """Whether any code point U+D800 to U+DFFF is in the text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def _mend(match: re.Match[str]) -> str:
    high, low = match.groups()
    if high is None:
        return "\ufffd"
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


def mend_surrogates(text: str) -> str:
    """Join surrogate pairs and put U+FFFD for each lone one (05D.33)."""
    return text if text.isascii() else _PAIR_OR_LONE.sub(_mend, text)


def ends_high(text: str) -> bool:
    """Whether the last code point is a high surrogate, which waits for its other half."""
    return "\ud800" <= text[-1:] <= "\udbff"
