"""Integer side of multi-scalar multiplication: digits of scalars, and entries sorted by key into the groups that trees take.

A keyed entry is `key << 1 | sign`, uint32, key 0 for "no entry". Sorting is by counting: `count` the keys, `measure` and
`lay_out` the runs (longest first, LANES runs of equal length a group, keys of more than `run` entries in several pieces), then
`scatter` each entry straight to its interleaved place.
"""

from __future__ import annotations

import numpy as np

from cuzk.field.lanes import LANES
from cuzk.field.limbs import to_limbs
from cuzk.field.params import R
from cuzk.jit import kernel, shared

SCALAR_LIMBS = 4
_ORDER, _HALF = to_limbs([R], SCALAR_LIMBS)[0], to_limbs([R // 2], SCALAR_LIMBS)[0]
STRIP = 256  # scalars whose words stand together, so that the compiler can use vectors


@shared
def _not_below(x, y):
    """x >= y, of SCALAR_LIMBS words."""
    for j in range(SCALAR_LIMBS - 1, -1, -1):
        if x[j] != y[j]:
            return x[j] > y[j]
    return True


@shared
def _subtract(out, x, y):
    """out = x − y, of SCALAR_LIMBS words; x >= y."""
    borrow = np.uint64(0)
    for j in range(SCALAR_LIMBS):
        d = x[j] - y[j]
        under = np.uint64(x[j] < y[j]) | np.uint64(d < borrow)
        out[j] = d - borrow
        borrow = under


@kernel
def prepare(prepared, scalars_canon, bias, start, stop):
    """Scalars start..stop as `signed_digits` reads them: s = ± v, with v plus `bias` and, in the top bit, the sign.

    Shape   scalars_canon uint64[n, 4]; prepared flat uint64[4 n], may be the same memory: word j of a strip of STRIP scalars
            (fewer in the last one) before word j + 1 of it; start a multiple of STRIP
    Range   any scalar below 2^256, taken modulo r; bias: sum of 2^(c w + c - 1) over all windows w of c bits but the last

    The smaller of s and r − s is taken, with its sign; adding `bias` and subtracting 2^(c - 1) from each digit but the last gives
    signed digits without carries.
    """
    strip = np.empty((SCALAR_LIMBS, STRIP), np.uint64)
    v = np.empty(SCALAR_LIMBS, np.uint64)
    for k0 in range(start, stop, STRIP):
        m = min(STRIP, stop - k0)
        for k in range(m):
            for j in range(SCALAR_LIMBS):
                v[j] = scalars_canon[k0 + k, j]
            while _not_below(v, _ORDER):
                _subtract(v, v, _ORDER)
            negative = _not_below(v, _HALF)
            if negative:
                _subtract(v, _ORDER, v)
            carry = np.uint64(0)
            for j in range(SCALAR_LIMBS):
                s = v[j] + bias[j]
                t = s + carry
                carry = np.uint64(s < v[j]) | np.uint64(t < s)
                strip[j, k] = t
            strip[SCALAR_LIMBS - 1, k] |= np.uint64(negative) << np.uint64(63)
        for j in range(SCALAR_LIMBS):
            for k in range(m):
                prepared[SCALAR_LIMBS * k0 + j * m + k] = strip[j, k]


@kernel
def signed_digits(keyed, prepared, c, windows, w, start, stop):
    """Digits of c bits of window w of prepared scalars start..stop, as keyed entries: s = ± sum of digit_w 2^(c w).

    Shape   keyed uint32[stop − start]; prepared from `prepare`; start a multiple of STRIP, stop one or the number of scalars
    Range   windows * c >= 255; |digit_w| <= 2^(c − 1)
    Cost    reads 16 to 24 bytes, writes 4 bytes a scalar
    """
    last = SCALAR_LIMBS - 1
    q, s = (w * c) >> 6, np.uint64((w * c) & 63)
    up, mask, one = np.uint64(64) - s, np.uint64((1 << c) - 1), np.uint64(1)
    less = np.int64(1 << (c - 1)) if w < windows - 1 else np.int64(0)
    plain = ~np.uint64(0)
    no_sign = plain >> one
    n = prepared.shape[0] // SCALAR_LIMBS
    for k0 in range(start, stop, STRIP):
        m = min(STRIP, n - k0)
        low = prepared[SCALAR_LIMBS * k0 + q * m :]
        top = prepared[SCALAR_LIMBS * k0 + last * m :]
        out = keyed[k0 - start :]
        keep = no_sign if q == last else plain
        if s and q < last:
            high = prepared[SCALAR_LIMBS * k0 + (q + 1) * m :]
            keep_high = no_sign if q + 1 == last else plain
            for k in range(m):
                digit = np.int64(((low[k] >> s) | ((high[k] & keep_high) << up)) & mask) - less
                out[k] = np.uint32(abs(digit) << 1) | (np.uint32(top[k] >> np.uint64(63)) ^ np.uint32(digit < 0))
        else:
            for k in range(m):
                digit = np.int64(((low[k] & keep) >> s) & mask) - less
                out[k] = np.uint32(abs(digit) << 1) | (np.uint32(top[k] >> np.uint64(63)) ^ np.uint32(digit < 0))


@kernel
def odd_digits(entries, scalars_canon, c, windows, start, stop):
    """Entries of fixed-base multiples: s = ± sum over w of digit_w 2^(c w) with odd digits, |digit_w| < 2^c, never 0.

    Shape   entries uint32, cut in groups of LANES scalars, `windows` entries a lane: scalar k at lane k % LANES; the entry of
            digit ±(2 t + 1) of window w is row w 2^(c - 1) + t. The last group is filled up with its last scalar.
    Range   any scalar below 2^256, taken modulo r; c * windows >= 255
    Cost    reads 32 bytes, writes 4 windows bytes a scalar

    An odd number below 2^L is sum over j < L of s_j 2^j with all s_j = ±1, where s_j > 0 if bit j + 1 is set, and s_(L-1) = 1. An
    even s is replaced by r − s, with the sign changed.
    """
    mask, half = np.uint64((1 << c) - 1), np.uint64(1 << (c - 1))
    v, top = np.empty(SCALAR_LIMBS + 1, np.uint64), c * windows - 1
    for k in range(start, stop):
        for j in range(SCALAR_LIMBS):
            v[j] = scalars_canon[k, j]
        while _not_below(v, _ORDER):
            _subtract(v, v, _ORDER)
        flip = np.uint32(0)
        if not v[0] & np.uint64(1):
            flip = np.uint32(1)
            _subtract(v, _ORDER, v)
        v[SCALAR_LIMBS] = np.uint64(0)
        for j in range(SCALAR_LIMBS):
            v[j] = (v[j] >> np.uint64(1)) | ((v[j + 1] << np.uint64(63)) if j + 1 < SCALAR_LIMBS else np.uint64(0))
        v[top >> 6] |= np.uint64(1) << np.uint64(top & 63)
        lane = (k - start) % LANES
        at = (k - start - lane) * windows + lane
        fill = LANES - lane if k == stop - 1 else 1
        for w in range(windows):
            q, s = (w * c) >> 6, np.uint64((w * c) & 63)
            x = v[q] >> s
            if s:
                x |= v[q + 1] << (np.uint64(64) - s)
            x &= mask
            sign = np.uint32(x < half)
            t = half - np.uint64(1) - x if sign else x - half
            word = (np.uint32(np.uint64(w) * half + t) << np.uint32(1)) | (sign ^ flip)
            for l in range(fill):
                entries[at + w * LANES + l] = word


@kernel
def count(counts, keyed, offset):
    """Add 1 to counts[offset + key] for each keyed entry; counts[offset] is set to 0 (no entry)."""
    for k in range(keyed.shape[0]):
        counts[offset + (keyed[k] >> np.uint32(1))] += np.int32(1)
    counts[offset] = np.int32(0)


@kernel
def measure(histogram, counts):
    """How many runs have each length, to histogram int64[run + 1]. Returns groups, entries (with fillers), long keys, pieces."""
    run = histogram.shape[0] - 1
    for m in range(run + 1):
        histogram[m] = 0
    long_keys, pieces = 0, 0
    for i in range(counts.shape[0]):
        m = counts[i]
        if m <= run:
            histogram[m] += 1
        else:
            full = m // run
            histogram[run] += full
            pieces += full
            if m % run:
                histogram[m % run] += 1
                pieces += 1
            long_keys += 1
    groups, entries = 0, 0
    for m in range(1, run + 1):
        g = (histogram[m] + LANES - 1) // LANES
        groups += g
        entries += g * m * LANES
    return groups, entries, long_keys, pieces


@kernel
def lay_out(first, length, dest, position, piece_at, piece_key, long_first, counts, histogram):
    """Give each run its lane.

    Shape   first, length int64[groups]; dest int64[LANES groups], -1 for unused lanes; position int32[keys]: where the first
            entry of a key goes, or −1 − i for long key i, whose pieces are long_first[i].. of piece_at (positions)
            and piece_key; piece p's sum goes to row keys + p; histogram int64[run + 1] is used up
    """
    run = histogram.shape[0] - 1
    groups, at = 0, 0
    for m in range(run, 0, -1):
        lane = groups * LANES
        for _ in range((histogram[m] + LANES - 1) // LANES):
            first[groups], length[groups] = at, m
            at += m * LANES
            groups += 1
        histogram[m] = lane  # from here on: the next free lane of this length
    for k in range(dest.shape[0]):
        dest[k] = -1
    keys, long_keys, pieces = counts.shape[0], 0, 0
    for i in range(keys):
        m = counts[i]
        if 0 < m <= run:
            lane = histogram[m]
            histogram[m] = lane + 1
            dest[lane] = i
            position[i] = np.int32(first[lane // LANES] + lane % LANES)
        elif m > run:
            position[i] = np.int32(-1 - long_keys)
            long_first[long_keys] = pieces
            long_keys += 1
            while m > 0:
                size = min(m, np.int32(run))
                lane = histogram[size]
                histogram[size] = lane + 1
                dest[lane] = keys + pieces
                piece_at[pieces] = first[lane // LANES] + lane % LANES
                piece_key[pieces] = i
                pieces += 1
                m -= size


@kernel
def scatter(entries, position, long_used, long_first, piece_at, keyed, offset, index, base, run):
    """Put each entry in its place: the row is index[k], or base + k if `index` is empty. `position` and `long_used` advance."""
    indexed = index.shape[0] > 0
    for k in range(keyed.shape[0]):
        word = keyed[k]
        key = word >> np.uint32(1)
        if key:
            row = index[k] if indexed else np.uint32(base + k)
            entry = (row << np.uint32(1)) | (word & np.uint32(1))
            at = np.int64(position[offset + key])
            if at >= 0:
                entries[at] = entry
                position[offset + key] = np.int32(at + LANES)
            else:
                i = -1 - at
                used = long_used[i]
                long_used[i] = used + 1
                entries[piece_at[long_first[i] + used // run] + LANES * (used % run)] = entry


@kernel
def fill_lanes(entries, first, length, dest):
    """Unused lanes repeat lane 0 of their group."""
    for g in range(first.shape[0]):
        if dest[LANES * g + LANES - 1] < 0:
            for l in range(1, LANES):
                if dest[LANES * g + l] < 0:
                    for j in range(length[g]):
                        entries[first[g] + LANES * j + l] = entries[first[g] + LANES * j]


@kernel
def lines(index, row_keyed, column_keyed, counts, windows, buckets, low_bits):
    """Arrange the buckets of each window in a rectangle, 2^low_bits columns: bucket b = (high << low_bits) + low + 1.

    Writes the rows of the buckets in use to `index`, and the keys of their line (1 + high) and column (1 + lines + low), both
    plus the window's offset, as keyed entries. Returns how many.
    """
    columns, n = 1 << low_bits, 0
    stride = (buckets >> low_bits) + columns + 1
    for w in range(windows):
        for b in range(1, buckets + 1):
            i = w * (buckets + 1) + b
            if counts[i] > 0:
                high, low = (b - 1) >> low_bits, (b - 1) & (columns - 1)
                index[n] = np.uint32(i)
                row_keyed[n] = np.uint32((w * stride + 1 + high) << 1)
                column_keyed[n] = np.uint32((w * stride + 1 + (buckets >> low_bits) + low) << 1)
                n += 1
    return n
