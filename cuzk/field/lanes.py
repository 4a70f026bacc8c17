"""The lanes of this process: which emitter, its layout, and how a kernel body becomes something Numba can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cuzk import config
from cuzk.field.emit import Emitter
from cuzk.field.params import P, R

MODULI = {"fp": P, "fr": R}


def emitter_class(path: str | None = None) -> type[Emitter]:
    """The emitter of an arithmetic path (default: this process's)."""
    if (path or config.cpu_path()) == "ifma":
        from cuzk.field.lanes_ifma import IfmaEmitter

        return IfmaEmitter
    from cuzk.field.lanes_scalar import ScalarEmitter

    return ScalarEmitter


LANES = emitter_class().LANES
BITS = emitter_class().BITS


def limb_count(field: str) -> int:
    """Limbs of an element of "fp" or "fr" on this path."""
    return emitter_class().limb_count(MODULI[field])


def radix(field: str) -> int:
    """Montgomery radix of "fp" or "fr" on this path."""
    return emitter_class().radix_of(MODULI[field])


Body = Callable[[Emitter, list[Any]], None]


def define(
    module: ir.Module, name: str, field: str, pointers: int, body: Body, inline: bool = False, path: str | None = None
) -> Any:
    """The internal LLVM function `name` of `pointers` vector pointers in `module`, emitted at first use.

    Not inlined unless asked: one copy of each kernel body a module keeps compile time down.
    """
    function = module.globals.get(name)
    if function is None:
        cls = emitter_class(path)
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [cls.vector.as_pointer()] * pointers), name)
        function.linkage = "internal"
        function.attributes.add("alwaysinline" if inline else "noinline")
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        body(cls(builder, MODULI[field]), list(function.args))
        builder.ret_void()
    return function


def operation(name: str, field: str, pointers: int, body: Body, inline: bool = False, path: str | None = None) -> Any:
    """A Numba intrinsic `name(array0, offset0, array1, offset1, …)` that runs `body` on `pointers` memory operands.

    Arrays have any dtype; offsets are int64 and count items of their array. `body(emitter, pointers)` emits the operation; it
    gets pointers to vectors.
    """
    vector_pointer = emitter_class(path).vector.as_pointer()

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        function = define(builder.module, name, field, pointers, body, inline, path)
        operands = []
        for k in range(pointers):
            data = context.make_array(signature.args[2 * k])(context, builder, args[2 * k]).data
            operands.append(builder.bitcast(builder.gep(data, [args[2 * k + 1]]), vector_pointer))
        builder.call(function, operands)
        return context.get_dummy_value()

    # Numba takes the parameter list of an intrinsic from its Python signature, which must therefore have a fixed length.
    params = ", ".join(f"a{k}, o{k}" for k in range(pointers))
    arguments = ", ".join(f"a{k}, types.int64" for k in range(pointers))
    scope = {"types": types, "codegen": codegen}
    exec(f"def {name}(typingctx, {params}):\n    return types.void({arguments}), codegen", scope)
    return intrinsic(scope[name])
