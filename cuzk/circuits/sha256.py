"""SHA-256 (FIPS 180-4) over Booleans, most significant bit of each byte first.

Cost of a compression of 512 variable bits onto a variable chain: 26,166 variables and 26,192 rows; constants make it
less.

Source  bellperson src/gadgets/sha256.rs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt

from cuzk.circuits import pack, uint
from cuzk.circuits.boolean import FALSE, TRUE
from cuzk.circuits.num import to_bits_le
from cuzk.circuits.system import Recorder
from cuzk.circuits.uint import MultiEq, Word, addmany, rotr, shr

BLOCK_BITS = 512
DIGEST_BITS = 256


def _primes() -> Iterator[int]:
    n = 2
    while True:
        if all(n % d for d in range(2, isqrt(n) + 1)):
            yield n
        n += 1


def _cube_root(n: int) -> int:
    root = round(n ** (1 / 3))
    while root**3 > n:
        root -= 1
    while (root + 1) ** 3 <= n:
        root += 1
    return root


# First 32 bits of the fractional parts of square roots (8 primes) and cube roots (64 primes), FIPS 180-4 sections
# 5.3.3, 4.2.2.
_FIRST_PRIMES = [p for p, _ in zip(_primes(), range(64), strict=False)]
INITIAL = [isqrt(p << 64) & 0xFFFFFFFF for p in _FIRST_PRIMES[:8]]
ROUND = [_cube_root(p << 96) & 0xFFFFFFFF for p in _FIRST_PRIMES]


def _xor3(cs: Recorder, x: Word, y: Word, z: Word) -> Word:
    return uint.xor(cs, uint.xor(cs, x, y), z)


def _compress(cs: Recorder, inputs: Sequence[int]) -> list[int]:
    """512 block bits, most significant first in each word, then 8 chain words least first; gives 8 words least
    first."""
    w = [list(reversed(inputs[32 * i : 32 * i + 32])) for i in range(16)]
    chain = [list(inputs[BLOCK_BITS + 32 * i : BLOCK_BITS + 32 * i + 32]) for i in range(8)]
    with MultiEq(cs) as sums:
        for i in range(16, 64):
            s0 = _xor3(cs, rotr(w[i - 15], 7), rotr(w[i - 15], 18), shr(w[i - 15], 3))
            s1 = _xor3(cs, rotr(w[i - 2], 17), rotr(w[i - 2], 19), shr(w[i - 2], 10))
            w.append(addmany(sums, [w[i - 16], s0, w[i - 7], s1]))
        a, b, c, d, e, f, g, h = chain
        # Lists of operands whose sum a and e will be, summed when first needed.
        pending_a: list[Word] = []
        pending_e: list[Word] = []
        for i in range(64):
            e = addmany(sums, pending_e) if pending_e else e
            big_s1 = _xor3(cs, rotr(e, 6), rotr(e, 11), rotr(e, 25))
            choice = uint.ch(cs, e, f, g)
            t1 = [h, big_s1, choice, uint.constant(ROUND[i]), w[i]]
            a = addmany(sums, pending_a) if pending_a else a
            big_s0 = _xor3(cs, rotr(a, 2), rotr(a, 13), rotr(a, 22))
            majority = uint.maj(cs, a, b, c)
            pending_e, pending_a = [*t1, d], [*t1, big_s0, majority]
            b, c, d, f, g, h = a, b, c, e, f, g
        operands = [
            [*pending_a, chain[0]],
            *([x, y] for x, y in zip(chain[1:4], (b, c, d), strict=True)),
            [*pending_e, chain[4]],
            *([x, y] for x, y in zip(chain[5:8], (f, g, h), strict=True)),
        ]
        return [bit for words in operands for bit in addmany(sums, words)]


def compress(cs: Recorder, block: Sequence[int], chain: Sequence[int]) -> list[int]:
    """One compression: 512 Booleans in message order and 8 chain words (256 Booleans, each word least first)."""
    return cs.stamp(("sha256_compression",), _compress, [*block, *chain])


def initial_chain() -> list[int]:
    """The chain value of FIPS 180-4 section 5.3.3, constant."""
    return [b for word in INITIAL for b in uint.constant(word)]


def padding(length: int) -> list[int]:
    """What follows a message of `length` bits: a one, zeros, the length in 64 bits."""
    return [TRUE, *[FALSE] * (-(length + 65) % BLOCK_BITS), *reversed(uint.constant(length, 64))]


def sha256(cs: Recorder, bits: Sequence[int]) -> list[int]:
    """The digest of whole bytes: 256 Booleans in message order."""
    assert len(bits) % 8 == 0
    message, chain = [*bits, *padding(len(bits))], initial_chain()
    for i, start in enumerate(range(0, len(message), BLOCK_BITS)):
        with cs.namespace(f"block {i}"):
            chain = compress(cs, message[start : start + BLOCK_BITS], chain)
    return [b for i in range(0, DIGEST_BITS, 32) for b in reversed(chain[i : i + 32])]


def sha256_num(cs: Recorder, bits: Sequence[int]) -> int:
    """The digest as a little-endian integer without its two top bits, as Filecoin takes it into the field."""
    digest = sha256(cs, bits)
    return pack.pack_bits(cs, pack.reverse_bit_numbering(digest))


def hash2_circuit(cs: Recorder, inputs: Sequence[int]) -> int:
    """The hash of two elements as a node of tree D.

    Source  rust-fil-proofs filecoin-hashers/src/sha256.rs, hash_multi_leaf_circuit and hash2_circuit.
    """
    preimage = [b for x in inputs for b in pack.reverse_bit_numbering(to_bits_le(cs, x))]
    return sha256_num(cs, preimage)
