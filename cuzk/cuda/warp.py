"""What the threads of a block and of a warp do together, for device functions outside the module of their kernel.

All threads of a warp must take part in an exchange or a vote, all of a block in a barrier.

Under the simulator, whose threads are Python threads, they meet at a barrier; a warp is smaller there, so that toy blocks have
several.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from cuzk import config
from cuzk.cuda.words import uint32
from cuzk.jit import cuda_shared

SIZE = 4 if config.cuda_simulated() else 32
_ALL = 0xFFFFFFFF
_PATIENCE = 60.0  # seconds; a thread that does not come is a bug


class _Meeting:
    """Where the threads of one simulated warp meet and what they bring."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(SIZE)
        self.brought: list[Any] = [None] * SIZE

    def share(self, lane: int, value: Any) -> list[Any]:
        self.brought[lane] = value
        self.barrier.wait(_PATIENCE)
        found = list(self.brought)
        self.barrier.wait(_PATIENCE)
        return found


_meetings: weakref.WeakKeyDictionary[Any, dict[int, _Meeting]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def _shared(value: Any) -> tuple[int, list[Any]]:
    """This thread's lane, and what every thread of the warp brought."""
    me: Any = threading.current_thread()
    with _lock:
        meeting = _meetings.setdefault(me._manager, {}).setdefault(me.thread_id // SIZE, _Meeting())
    lane = me.thread_id % SIZE
    return lane, meeting.share(lane, value)


def _thread_and_barrier() -> tuple[Any, Any]:
    if config.cuda_simulated():
        current: Any = threading.current_thread
        return lambda: int(current().threadIdx.x), lambda: current().syncthreads()
    from numba import cuda

    @cuda_shared
    def thread():
        return uint32(cuda.threadIdx.x)

    return thread, cuda.syncthreads


# () ↦ the number of this thread in its block. () ↦ nothing, once all threads of the block are here. (The simulator knows
# `numba.cuda` only in the module of a kernel.)
thread, barrier = _thread_and_barrier()


def _simulated_ballot(flag: Any) -> int:
    return sum(int(bool(x)) << i for i, x in enumerate(_shared(flag)[1]))


def _ballot() -> Any:
    if config.cuda_simulated():
        return _simulated_ballot
    from llvmlite import ir
    from numba.cuda import cgutils, types
    from numba.cuda.extending import intrinsic

    word, bit = ir.IntType(32), ir.IntType(1)

    def vote(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, bit]), "llvm.nvvm.vote.ballot.sync"
        )
        flag = builder.icmp_unsigned("!=", values[0], ir.Constant(values[0].type, 0))
        return builder.call(function, [ir.Constant(word, _ALL), flag])

    return intrinsic(lambda context, flag: (types.uint32(types.uint32), vote))


# Word ↦ bit i of the result is set where lane i of the warp brought a word that is not 0.
ballot = _ballot()


def _simulated(words: int) -> tuple[Any, Any]:
    def neighbour(value: Any) -> Any:
        lane, found = _shared(value)
        return found[lane ^ 1]

    return neighbour, lambda flag: any(_shared(bool(flag))[1])


def _on_a_card(words: int) -> tuple[Any, Any]:
    from llvmlite import ir
    from numba.cuda import cgutils, types
    from numba.cuda.extending import intrinsic

    word, bit = ir.IntType(32), ir.IntType(1)
    mask = ir.Constant(word, _ALL)

    def exchange(builder: Any, value: Any) -> Any:
        signature = ir.FunctionType(word, [word] * 4)
        function = cgutils.get_or_insert_function(builder.module, signature, "llvm.nvvm.shfl.sync.bfly.i32")
        return builder.call(function, [mask, value, ir.Constant(word, 1), ir.Constant(word, 31)])

    def exchange_all(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        out = values[0]
        for i in range(words):
            out = builder.insert_value(out, exchange(builder, builder.extract_value(values[0], i)), i)
        return out

    def vote(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [word, bit]), "llvm.nvvm.vote.any.sync")
        flag = builder.icmp_unsigned("!=", values[0], ir.Constant(values[0].type, 0))
        return builder.call(function, [mask, flag])

    kind = types.UniTuple(types.uint32, words)
    return (
        intrinsic(lambda context, value: (kind(kind), exchange_all)),
        intrinsic(lambda context, flag: (types.boolean(types.boolean), vote)),
    )


def together(words: int) -> tuple[Any, Any]:
    """Two device functions: the tuple of `words` words that the neighbouring thread (number xor 1) brought; whether any thread
    of the warp brought true."""
    return (_simulated if config.cuda_simulated() else _on_a_card)(words)
