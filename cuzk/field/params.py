"""BLS12-381 from its seed: the allowed literals, and everything that follows from them.

Curve y² = x³ + 4 over Fp; twist y² = x³ + 4(1 + u) over Fp2 = Fp[u]/(u² + 1); Fp6 = Fp2[v]/(v³ − (1 + u));
Fp12 = Fp6[w]/(w² − v). BLS12 family: r = x⁴ − x² + 1, p = (x − 1)²·r/3 + x.

Source  IETF draft-irtf-cfrg-pairing-friendly-curves section 4.2.1; the generators as in zkcrypto/bls12_381 src/notes/design.rs.
"""

# The seed, negative.
X = -0xD201000000010000
# r = x^4 - x^2 + 1, the order of G1 and G2 and the modulus of Fr.
R = X**4 - X**2 + 1
# p = (x - 1)^2 r / 3 + x, the modulus of Fp.
P = (X - 1) ** 2 * R // 3 + X
# Cofactors: h1 = (x - 1)^2 / 3; h2 = (x^8 - 4x^7 + 5x^6 - 4x^4 + 6x^3 - 4x^2 - 4x + 13) / 9.
H1 = (X - 1) ** 2 // 3
H2 = (X**8 - 4 * X**7 + 5 * X**6 - 4 * X**4 + 6 * X**3 - 4 * X**2 - 4 * X + 13) // 9

B_G1 = 4  # y^2 = x^3 + 4
B_G2 = (4, 4)  # y^2 = x^3 + 4 (1 + u)

# Generators: smallest x on the curve (4; 2 for the twist), smaller y, times the cofactor (spec re-derives them).
G1_X = 0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB
G1_Y = 0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1
G2_X = (
    0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
    0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
)
G2_Y = (
    0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
    0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
)

# Fr: multiplicative generator, 2-adicity, root of unity of order 2^32.
FR_GENERATOR = 7
FR_TWO_ADICITY = ((R - 1) & -(R - 1)).bit_length() - 1
FR_ROOT_OF_UNITY = pow(FR_GENERATOR, (R - 1) >> FR_TWO_ADICITY, R)

assert R.bit_length() == 255 and P.bit_length() == 381 and FR_TWO_ADICITY == 32 and (P + 1 - (X + 1)) % R == 0


def omega(log2_size: int) -> int:
    """Root of unity of order 2**log2_size in Fr, canonical. Source: bellperson src/domain.rs at d1fa22c."""
    return pow(FR_ROOT_OF_UNITY, 1 << (FR_TWO_ADICITY - log2_size), R)
