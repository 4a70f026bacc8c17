"""JSON without whitespace as a skeleton and its numbers, and base64, on the CPU."""

from __future__ import annotations

import numpy as np

from cuzk.jit import kernel, shared

# Stands for a number in a skeleton; no JSON text holds this byte.
NUMBER = 0
_QUOTE, _BACKSLASH, _ZERO, _NINE, _SPACE, _DELETE = (np.uint8(x) for x in b'"\\09 \x7f')
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = (np.uint8(x) for x in b"{}[]")
_MOST_DIGITS = 19  # of any integer that 64 bits hold


@kernel
def scan(text, skeleton, numbers):
    """Every integer of the object or list at the beginning of a text replaced by `NUMBER`.

    Plain is ASCII without whitespace, without backslashes and control characters in strings, and without integers of a leading
    zero or more than 19 digits. Signs, points and exponents stay in the skeleton.

    Shape   uint8[n], room for n bytes and for n integers (uint64)
    Returns where the object ends, the lengths of skeleton and numbers; −1 for what is not plain or does not end
    """
    n, i, s, k, depth = len(text), 0, 0, 0, 0
    while i < n:
        byte = text[i]
        if _ZERO <= byte <= _NINE:
            first, value = i, np.uint64(0)
            while i < n and _ZERO <= text[i] <= _NINE:
                value = np.uint64(value * np.uint64(10) + np.uint64(text[i] - _ZERO))
                i += 1
            if i - first > _MOST_DIGITS or (byte == _ZERO and i - first > 1):
                return -1, 0, 0
            numbers[k] = value
            k += 1
            skeleton[s] = np.uint8(NUMBER)
            s += 1
        elif byte == _QUOTE:
            skeleton[s] = byte
            s += 1
            i += 1
            while i < n and text[i] != _QUOTE:
                if text[i] < _SPACE or text[i] >= _DELETE or text[i] == _BACKSLASH:
                    return -1, 0, 0
                skeleton[s] = text[i]
                s += 1
                i += 1
            if i == n:
                return -1, 0, 0
            skeleton[s] = _QUOTE
            s += 1
            i += 1
        elif byte <= _SPACE or byte >= _DELETE:
            return -1, 0, 0
        else:
            skeleton[s] = byte
            s += 1
            i += 1
            if byte in (_OPEN, _OPEN_LIST):
                depth += 1
            elif byte in (_CLOSE, _CLOSE_LIST):
                depth -= 1
            if depth <= 0:
                return i, s, k
    return -1, 0, 0


@kernel
def find(text, word, places):
    """Where a word of at most 255 bytes stands in a text: the first `len(places)` places. Returns how many those are."""
    n, m, found = len(text), len(word), 0
    ahead = np.full(256, m, np.uint8)  # from the last byte of a window to the next window that could be the word
    for j in range(m - 1):
        ahead[word[j]] = np.uint8(m - 1 - j)
    i = 0
    while i + m <= n and found < len(places):
        j = m - 1
        while j >= 0 and text[i + j] == word[j]:
            j -= 1
        if j < 0:
            places[found] = i
            found += 1
        i += int(ahead[text[i + m - 1]])
    return found


@shared
def _digit(text, i):
    """The value of a decimal digit, more than 9 for anything else."""
    return np.uint32(np.uint32(text[i]) - np.uint32(_ZERO))


@shared
def _byte(text, i):
    """An integer 0 to 255 and how many digits it has, 0 for anything else. The three bytes from i on must be there.

    Most numbers are these, of one to three digits at random: a branch would be foretold wrongly half of the time.
    """
    a, b, c = _digit(text, i), _digit(text, i + 1), _digit(text, i + 2)
    two = b <= np.uint32(9)
    three = two & (c <= np.uint32(9))
    value = np.uint32(a * np.uint32(10) + b) if two else a
    value = np.uint32(value * np.uint32(10) + c) if three else value
    good = (a <= np.uint32(9)) & ~(two & (a == np.uint32(0))) & (value <= np.uint32(255))
    return value, (np.int64(1) + np.int64(two) + np.int64(three)) if good else np.int64(0)


@shared
def _integer(text, i):
    """An integer of at most 19 digits and how many it has, 0 for anything else."""
    value, digits = np.uint64(0), np.int64(0)
    while digits <= _MOST_DIGITS and i + digits < len(text) and _digit(text, i + digits) <= np.uint32(9):
        value = np.uint64(value * np.uint64(10) + np.uint64(_digit(text, i + digits)))
        digits += np.int64(1)
    if digits > _MOST_DIGITS or (digits > 1 and text[i] == _ZERO):
        return value, np.int64(0)
    return value, digits


@kernel
def read_alike(text, starts, stops, skeleton, base, offsets, widths, out, at):
    """Texts that are a skeleton with numbers, as copies of `base` with their numbers written little-endian.

    A number is an integer without sign and leading zero, of at most 19 digits, that fits its width.

    Shape   text uint8[n], text c from starts[c] to stops[c]; base uint8[b], copy c at out[at[c]:]; number j of a text at byte
            offsets[j] of its copy in widths[j] bytes, 1 to 8
    Returns whether all are such texts
    """
    n = len(text)
    for c in range(len(starts)):
        i, stop, to, j = starts[c], stops[c], at[c], 0
        for b in range(len(base)):
            out[to + b] = base[b]
        for s in range(len(skeleton)):
            if i + 3 > n:
                return False
            if skeleton[s] != np.uint8(NUMBER):
                if text[i] != skeleton[s]:
                    return False
                i += 1
                continue
            place = to + np.int64(offsets[j])
            if widths[j] == np.uint8(1):
                byte, digits = _byte(text, i)
                out[place] = np.uint8(byte)
            else:
                value, digits = _integer(text, i)
                for b in range(np.int64(widths[j])):
                    out[place + b] = np.uint8(value & np.uint64(255))
                    value = np.uint64(value >> np.uint64(8))
                if value != np.uint64(0):
                    return False
            if digits == 0:
                return False
            i += digits
            j += 1
        if i != stop:
            return False
    return True


@kernel
def from_base64(out, text, values):
    """Four digits to three bytes. Returns whether all are digits. Shape: text uint8[4 n], out uint8[3 n], values uint8[256]."""
    bad = np.uint8(0)
    for g in range(len(text) // 4):
        a, b = values[text[4 * g]], values[text[4 * g + 1]]
        c, d = values[text[4 * g + 2]], values[text[4 * g + 3]]
        bad |= a | b | c | d
        word = np.uint32(a) << np.uint32(18) | np.uint32(b) << np.uint32(12) | np.uint32(c) << np.uint32(6) | np.uint32(d)
        out[3 * g] = np.uint8(word >> np.uint32(16))
        out[3 * g + 1] = np.uint8(word >> np.uint32(8) & np.uint32(255))
        out[3 * g + 2] = np.uint8(word & np.uint32(255))
    return bad < np.uint8(64)
