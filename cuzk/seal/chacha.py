"""ChaCha keystream blocks, many keys or counters at once, with 8 or 20 rounds.

The state is sixteen 32-bit words: four constants, eight key words, and four words of counter and nonce. How those four
are split is the caller's matter: RFC 8439 has a 32-bit counter and a 96-bit nonce, rand_chacha 64 and 64.

Source  RFC 8439 section 2.3; D. J. Bernstein, ChaCha, a variant of Salsa20, section 3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]

_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)
# Each double round: the four columns, then the four diagonals.
_COLUMNS_AND_DIAGONALS = tuple((i, 4 + (i + d) % 4, 8 + (i + 2 * d) % 4, 12 + (i + 3 * d) % 4) for d in (0, 1) for i in range(4))
WORDS = 16


def _rotate_left(words: U32, bits: int) -> U32:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def blocks(keys: U32, tails: U32, rounds: int) -> U32:
    """Keystream blocks as little-endian words.

    Shape   keys: (n, 8) or (8,); tails: (n, 4), state words 12 to 15; result (n, 16)
    Cost    2 `rounds` quarter rounds of twelve word operations, vectorised over n
    Source  RFC 8439 section 2.3
    """
    state = np.empty((WORDS, len(tails)), np.uint32)
    state[:4] = _CONSTANTS[:, None]
    state[4:12] = np.broadcast_to(keys, (len(tails), 8)).T
    state[12:] = tails.T
    x = state.copy()
    for _ in range(rounds // 2):
        for a, b, c, d in _COLUMNS_AND_DIAGONALS:
            x[a] += x[b]
            x[d] = _rotate_left(x[d] ^ x[a], 16)
            x[c] += x[d]
            x[b] = _rotate_left(x[b] ^ x[c], 12)
            x[a] += x[b]
            x[d] = _rotate_left(x[d] ^ x[a], 8)
            x[c] += x[d]
            x[b] = _rotate_left(x[b] ^ x[c], 7)
    return np.ascontiguousarray((x + state).T)
