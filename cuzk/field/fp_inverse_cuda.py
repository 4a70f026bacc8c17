"""Inversion in Fp on CUDA: rounds of division steps until nothing is left, about 25 of them; see `inverse_ptx`."""

from __future__ import annotations

from cuzk.cuda.constants import constants
from cuzk.cuda.inline import inline, join, split
from cuzk.cuda.words import uint32
from cuzk.field import inverse_ptx as blocks
from cuzk.field.fp_cuda import LIMBS, mul_lazy, reduce
from cuzk.field.limbs import FP_RADIX
from cuzk.field.params import P
from cuzk.jit import cuda_shared

N = blocks.LIMBS
_F, _E = constants(blocks.to_limbs(P)), constants(blocks.to_limbs(1))
_ZERO = constants((0,) * N)
_R3 = constants(split(pow(FP_RADIX, 3, P), LIMBS))

_split = inline(blocks.split().text, ("u32", N), [("u32", LIMBS)], lambda a: blocks.to_limbs(join(a)))
_steps = inline(blocks.steps().text, ("u32", 5), [("u32", 3)], blocks.steps_meaning)
_PAIR = [("u32", N), ("u32", N), ("u32", blocks.MATRIX)]
_update_fg = inline(blocks.update_fg().text, ("u32", 2 * N), _PAIR, blocks.update_fg_meaning)
_update_de = inline(blocks.update_de().text, ("u32", 2 * N), _PAIR, blocks.update_de_meaning)
_finish = inline(
    blocks.finish().text, ("u32", LIMBS), [("u32", N), ("u32", 1)], lambda d, top: split(blocks.finish_meaning(d, top), LIMBS)
)


@cuda_shared
def _is_zero(a):
    return (a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7] | a[8] | a[9] | a[10] | a[11] | a[12]) == uint32(0)


@cuda_shared
def inverse(a):
    """1/a in Montgomery form. Range: below 4 p, not 0 modulo p, in; below 2 p out. Cost: 1 M and some 25 rounds without M."""
    f, g, d, e = _F, _split(reduce(a)), _ZERO, _E
    zeta = uint32(0xFFFFFFFF)
    while not _is_zero(g):
        t = _steps((zeta, uint32(f[0] | uint32(f[1] << uint32(30))), uint32(g[0] | uint32(g[1] << uint32(30)))))
        zeta = t[0]
        matrix = t[1:]
        fg = _update_fg(f, g, matrix)
        de = _update_de(d, e, matrix)
        f = fg[:N]
        g = fg[N:]
        d = de[:N]
        e = de[N:]
    return mul_lazy(_finish(d, f[N - 1]), _R3)
