"""Integer side of multi-scalar multiplication: digits of scalars, and entries sorted by key into the groups that trees take.

A keyed entry is `key << 1 | sign`, uint32, key 0 for "no entry". Keyed entries come in parts, uint32[parts, m]: the keys of part
p count from p * stride. Sorting is by counting: `measure` counts the keys, `place` lays out their runs (longest first, LANES runs
of equal length a group, keys of more than `run` entries in several pieces) and puts each entry straight into its interleaved
place. A kernel does the whole of its step, for between two of them a thread may have to wait for the interpreter's lock.
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
def signed_digits(keyed, prepared, c, windows, w0, start, stop):
    """Digits of c bits of prepared scalars start..stop, as keyed entries, a part for each window from w0 on.

    Meaning s = ± sum of digit_w 2^(c w)
    Shape   keyed uint32[windows wanted, stop − start]; prepared from `prepare`; start a multiple of STRIP, stop one or the number
            of scalars
    Range   windows * c >= 255; |digit_w| <= 2^(c − 1)
    Cost    reads 16 to 24 bytes, writes 4 bytes a scalar and window
    """
    last = SCALAR_LIMBS - 1
    mask, one = np.uint64((1 << c) - 1), np.uint64(1)
    plain = ~np.uint64(0)
    no_sign = plain >> one
    n = prepared.shape[0] // SCALAR_LIMBS
    for p in range(keyed.shape[0]):
        w = w0 + p
        q, s = (w * c) >> 6, np.uint64((w * c) & 63)
        up = np.uint64(64) - s
        less = np.int64(1 << (c - 1)) if w < windows - 1 else np.int64(0)
        keep = no_sign if q == last else plain
        for k0 in range(start, stop, STRIP):
            m = min(STRIP, n - k0)
            low = prepared[SCALAR_LIMBS * k0 + q * m :]
            top = prepared[SCALAR_LIMBS * k0 + last * m :]
            out = keyed[p, k0 - start :]
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
def measure(histogram, counts, keyed, stride):
    """Entries of each key, to `counts` (0 for the keys of "no entry"), and how many runs have each length, to int64[run + 1].

    Returns groups, entries (with fillers), long keys, pieces.
    """
    for i in range(counts.shape[0]):
        counts[i] = np.int32(0)
    for p in range(keyed.shape[0]):
        mine, keys = keyed[p], counts[p * stride :]
        for k in range(mine.shape[0]):
            keys[mine[k] >> np.uint32(1)] += np.int32(1)
        keys[0] = np.int32(0)
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
def place(entries, first, length, dest, position, piece_key, counts, histogram, long_keys, spare, keyed, stride, index, base):
    """Give each run its lane, and each entry its place: the row is index[k], or base + k if `index` is empty.

    Shape   first, length int64[groups]; dest int64[LANES groups], -1 for unused lanes, which repeat lane 0 of their group;
            position int32[keys], used up, as is histogram int64[run + 1]; piece_key int64[pieces]: the key of a piece of a long
            key; the sum of piece p goes to row keys + spare + p
    """
    run, keys = histogram.shape[0] - 1, counts.shape[0]
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
    # Long key i has position −1 − i, and its pieces are long_first[i].. of piece_at (positions).
    piece_at = np.empty(piece_key.shape[0], np.int64)
    long_first, long_used = np.empty(long_keys, np.int64), np.zeros(long_keys, np.int64)
    long_key, pieces = 0, 0
    for i in range(keys):
        m = counts[i]
        if 0 < m <= run:
            lane = histogram[m]
            histogram[m] = lane + 1
            dest[lane] = i
            position[i] = np.int32(first[lane // LANES] + lane % LANES)
        elif m > run:
            position[i] = np.int32(-1 - long_key)
            long_first[long_key] = pieces
            long_key += 1
            while m > 0:
                size = min(m, np.int32(run))
                lane = histogram[size]
                histogram[size] = lane + 1
                dest[lane] = keys + spare + pieces
                piece_at[pieces] = first[lane // LANES] + lane % LANES
                piece_key[pieces] = i
                pieces += 1
                m -= size
    indexed = index.shape[0] > 0
    for p in range(keyed.shape[0]):
        mine, where = keyed[p], position[p * stride :]
        for k in range(mine.shape[0]):
            word = mine[k]
            key = word >> np.uint32(1)
            if key:
                row = index[k] if indexed else np.uint32(base + k)
                entry = (row << np.uint32(1)) | (word & np.uint32(1))
                spot = np.int64(where[key])
                if spot >= 0:
                    entries[spot] = entry
                    where[key] = np.int32(spot + LANES)
                else:
                    which = -1 - spot
                    used = long_used[which]
                    long_used[which] = used + 1
                    entries[piece_at[long_first[which] + used // run] + LANES * (used % run)] = entry
    for g in range(groups):
        if dest[LANES * g + LANES - 1] < 0:
            for l in range(1, LANES):
                if dest[LANES * g + l] < 0:
                    for j in range(length[g]):
                        entries[first[g] + LANES * j + l] = entries[first[g] + LANES * j]


@kernel
def lines(index, keyed, counts, windows, buckets, low_bits):
    """Arrange the buckets of each window in a rectangle, 2^low_bits columns: bucket b = (high << low_bits) + low + 1.

    Writes the rows of the n buckets in use to `index`, and to `keyed`, flat, two parts of n: the keys of their lines (1 + high),
    then of their columns (1 + lines + low), both plus the window's offset. Returns n.
    """
    columns, n, used = 1 << low_bits, 0, 0
    stride = (buckets >> low_bits) + columns + 1
    for i in range(windows * (buckets + 1)):
        used += counts[i] > 0
    for w in range(windows):
        for b in range(1, buckets + 1):
            i = w * (buckets + 1) + b
            if counts[i] > 0:
                high, low = (b - 1) >> low_bits, (b - 1) & (columns - 1)
                index[n] = np.uint32(i)
                keyed[n] = np.uint32((w * stride + 1 + high) << 1)
                keyed[used + n] = np.uint32((w * stride + 1 + (buckets >> low_bits) + low) << 1)
                n += 1
    return n


@kernel
def weights(index, keyed, counts, windows, c, buckets, low_bits):
    """Bits of the weights of lines (high, times 2^low_bits) and columns (low + 1): window w's bit j has the key 1 + c w + j.

    Writes the rows of the lines and columns in use to `index`, once for each bit that is set, with its key in `keyed`. Returns
    how many.
    """
    high, n = buckets >> low_bits, 0
    stride = high + (1 << low_bits) + 1
    for w in range(windows):
        for k in range(1, stride):
            if counts[w * stride + k] > 0:
                weight, key = (k - 1, c * w + low_bits + 1) if k <= high else (k - high, c * w + 1)
                while weight:
                    if weight & 1:
                        index[n], keyed[n] = np.uint32(w * stride + k), np.uint32(key << 1)
                        n += 1
                    weight, key = weight >> 1, key + 1
    return n
