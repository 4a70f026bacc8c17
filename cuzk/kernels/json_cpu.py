"""JSON without whitespace as a skeleton and its numbers, and base64, on the CPU."""

from __future__ import annotations

import numpy as np

from cuzk.jit import kernel

# Stands for a number in a skeleton; no JSON text holds this byte.
NUMBER = 0
_QUOTE, _BACKSLASH, _ZERO, _NINE, _SPACE, _DELETE = (np.uint8(x) for x in b'"\\09 \x7f')
_MOST_DIGITS = 19  # of any integer that 64 bits hold


@kernel
def scan(text, skeleton, numbers):
    """Every integer of a text replaced by `NUMBER`. Returns the lengths of skeleton and numbers, −1 for what is not plain.

    Plain is ASCII without whitespace, without backslashes and control characters in strings, and without integers of a leading
    zero or more than 19 digits. Signs, points and exponents stay in the skeleton.

    Shape   uint8[n], room for n bytes and for n integers (uint64)
    """
    n, i, s, k = len(text), 0, 0, 0
    while i < n:
        byte = text[i]
        if _ZERO <= byte <= _NINE:
            first, value = i, np.uint64(0)
            while i < n and _ZERO <= text[i] <= _NINE:
                value = np.uint64(value * np.uint64(10) + np.uint64(text[i] - _ZERO))
                i += 1
            if i - first > _MOST_DIGITS or (byte == _ZERO and i - first > 1):
                return -1, 0
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
                    return -1, 0
                skeleton[s] = text[i]
                s += 1
                i += 1
            if i == n:
                return -1, 0
            skeleton[s] = _QUOTE
            s += 1
            i += 1
        elif byte <= _SPACE or byte >= _DELETE:
            return -1, 0
        else:
            skeleton[s] = byte
            s += 1
            i += 1
    return s, k


@kernel
def place(out, base, numbers, offsets, widths):
    """Copies of `base`, one after the other, with the numbers of each written little-endian. Returns whether all fit.

    Shape   out uint8[c, b], base uint8[b], numbers uint64[c, k]; number j of a copy at byte offsets[j] in widths[j] bytes
    """
    for c in range(len(out)):
        for b in range(len(base)):
            out[c, b] = base[b]
        for j in range(len(offsets)):
            value, at = numbers[c, j], offsets[j]
            for b in range(widths[j]):
                out[c, at + b] = np.uint8(value & np.uint64(255))
                value = np.uint64(value >> np.uint64(8))
            if value != np.uint64(0):
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
