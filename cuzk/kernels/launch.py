"""Starting CUDA kernels: grids by integer ceiling division, a stream always named.

Work in one stream runs in order. A kernel never allocates; the caller owns every buffer and keeps it until the stream has
passed.
"""

from __future__ import annotations

from typing import Any

MAX_BLOCKS = (1 << 31) - 1


def blocks_for(items: int, per_block: int) -> int:
    """Blocks that cover `items`: ceil(items / per_block)."""
    blocks = -(-items // per_block)
    assert 0 <= blocks <= MAX_BLOCKS
    return blocks


def launch(card: Any, kernel: Any, blocks: int | tuple[int, int], stream: Any, *arguments: int, threads: int = 0) -> None:
    """Start a kernel on a card; returns at once. `blocks` may be 0: nothing runs. `threads`: fewer a block than it declares."""
    card.launch(kernel, blocks, arguments, stream, threads)


def launch_over(card: Any, kernel: Any, items: int, stream: Any, *arguments: int) -> None:
    """Start a kernel with one thread an item, the last block partly idle: the kernel must check its index."""
    card.launch(kernel, blocks_for(items, kernel.threads), arguments, stream)
