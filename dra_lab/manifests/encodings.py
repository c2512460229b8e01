"""Texts in other encodings than UTF-8: what PowerShell's `>` writes is UTF-16, what other editors write has a mark."""

from __future__ import annotations

import codecs

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def as_utf8(data: bytes, *, cut: bool = False) -> bytes:
    """Return a text that begins with a mark of its encoding (UTF-8, UTF-16) in UTF-8 without it; other data as it is.

    What is no text in the encoding that it claims is returned as it is too, for the reader to refuse; `cut` says that
    it is only the beginning of a text, which may end anywhere.
    """
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if not data.startswith(_UTF16):
        return data
    try:
        return data.decode("utf-16", "replace" if cut else "strict").encode()
    except UnicodeDecodeError:
        return data
