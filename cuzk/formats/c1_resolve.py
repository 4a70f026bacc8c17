"""From a C1 and what the caller knows to the public facts of its proof; ids given by the caller are checked, never assumed."""

from __future__ import annotations

from cuzk.errors import FalseInput, UsageError
from cuzk.formats import registry
from cuzk.formats.c1 import C1
from cuzk.formats.c1_layout import COMMITMENTS
from cuzk.formats.registry import RegisteredProof
from cuzk.seal import graph, replica
from cuzk.seal.challenges import FEATURES
from cuzk.seal.replica import Replica

Rule = tuple[bytes, str, str]  # porep_id, API version, feature


def _rule(proof: RegisteredProof) -> Rule:
    return proof.porep_id, proof.api_version, proof.feature


def _ids(c1: C1, miner: int | None, sector: int | None) -> tuple[int, int] | None:
    """Miner id and sector number as far as both are known, held against the wrapper's SectorNum."""
    if sector is not None and c1.sector_number is not None and sector != c1.sector_number:
        raise FalseInput(  # as where only replica_id tells: the id does not hold
            f"--sector {sector} is not the C1's SectorNum {c1.sector_number}",
            file=c1.file,
            where="SectorNum",
            expected=sector,
            got=c1.sector_number,
            hint="check --sector, or leave it out: SectorNum stands in for it",
        )
    if miner is not None:
        number = sector if sector is not None else c1.sector_number
        if number is None:
            hint = "give --sector too: this form of C1 holds no sector number"
            raise UsageError("--miner without a sector number", file=c1.file, hint=hint)
        return miner, number
    if sector is not None and c1.sector_number is None:
        hint = "give --miner too: a sector number alone can be checked against nothing in this C1"
        raise UsageError("--sector without --miner", file=c1.file, hint=hint)
    return None


def _replica_id(c1: C1, ids: tuple[int, int], porep_id: bytes) -> bytes:
    return replica.replica_id(*ids, c1.ticket, c1.comm_d, porep_id)


def _candidates(c1: C1) -> list[RegisteredProof]:
    """Registered proofs of the C1's size and number of partitions."""
    return [p for p in registry.of_size(c1.sector) if p.partitions == c1.vanilla.partitions]


def _explicit(
    c1: C1, registered_proof: RegisteredProof | None, porep_id: bytes | None, api_version: str | None, feature: str | None
) -> tuple[RegisteredProof | None, Rule] | None:
    """What the file or the options say outright; options that contradict the file or one another are refused."""
    if api_version is not None and api_version not in graph.API_VERSIONS:
        expected = ", ".join(graph.API_VERSIONS)
        raise UsageError("unknown API version", where="--api-version", expected=expected, got=ascii(api_version)[:40])
    if feature is not None and feature not in FEATURES:
        expected = ", ".join(FEATURES)
        raise UsageError("unknown feature", where="--feature", expected=expected, got=ascii(feature)[:40])
    if porep_id is not None and len(porep_id) != 32:
        raise UsageError("porep id of a wrong length", where="--porep-id", expected="32 bytes", got=len(porep_id))
    proof = c1.registered_proof or registered_proof
    if c1.registered_proof and registered_proof and c1.registered_proof is not registered_proof:
        raise UsageError(
            f"--registered-proof {registered_proof.name} is not the C1's {c1.registered_proof.name}",
            file=c1.file,
            expected=registered_proof.name,
            got=c1.registered_proof.name,
        )
    given = (porep_id, api_version, feature)
    if proof:
        for option, value, own in zip(("--porep-id", "--api-version", "--feature"), given, _rule(proof), strict=True):
            if value is not None and value != own:
                shown = [v.hex() if isinstance(v, bytes) else v for v in (own, value)]
                raise UsageError(f"{option} contradicts {proof.name}", expected=shown[0], got=shown[1])
        return proof, _rule(proof)
    if porep_id is None:
        if api_version or feature:
            raise UsageError("--api-version and --feature say nothing without --porep-id", file=c1.file)
        return None
    number = int.from_bytes(porep_id, "little")
    named = registry.REGISTERED[number] if number < len(registry.REGISTERED) else None
    agrees = named and api_version in (None, named.api_version) and feature in (None, named.feature)
    if named and named.sector is c1.sector and agrees:
        return named, _rule(named)
    if api_version is None:
        hint = "give --api-version (1.0.0, 1.1.0 or 1.2.0) too"
        raise UsageError("--porep-id without --api-version", file=c1.file, hint=hint)
    return None, (porep_id, api_version, feature or "interactive")


def _search(c1: C1, ids: tuple[int, int] | None) -> tuple[RegisteredProof, Rule]:
    """The registered proof under which the ids give the C1's replica_id."""
    known = registry.of_size(c1.sector)
    if not known:
        hint = "give --porep-id and --api-version (and --feature): no registered proof has this size"
        raise UsageError(f"porep_id and API version of this {c1.sector.name} C1 are not known", file=c1.file, hint=hint)
    if ids is None:
        hint = "give --registered-proof, or --miner and --sector to find it by, or --porep-id and --api-version"
        raise UsageError("the bincode form does not say its registered proof", file=c1.file, hint=hint)
    for proof in _candidates(c1):
        if _replica_id(c1, ids, proof.porep_id) == c1.replica_id:
            return proof, _rule(proof)
    tried = ", ".join(p.name for p in _candidates(c1))
    raise FalseInput(
        f"replica_id is not that of miner {ids[0]}, sector {ids[1]} under any registered proof",
        file=c1.file,
        where="replica_id",
        expected=f"one of {tried}",
        got=c1.replica_id.hex(),
        hint="check --miner and --sector, or give --porep-id and --api-version",
    )


def _refuse_mismatch(c1: C1, proof: RegisteredProof | None, feature: str) -> None:
    if proof and proof.sector is not c1.sector:
        raise UsageError(
            f"--registered-proof {proof.name} but the C1 is of a {c1.sector.name} sector",
            file=c1.file,
            expected=proof.sector.name,
            got=c1.sector.name,
        )
    wanted = c1.sector.partitions_of(feature)
    if c1.vanilla.partitions != wanted:
        name = proof.name if proof else f"{feature} {c1.sector.name}"
        got = f"{c1.vanilla.partitions} partitions"
        raise UsageError(f"wrong number of partitions for {name}", file=c1.file, expected=wanted, got=got)


def resolve(
    c1: C1,
    miner: int | None = None,
    sector: int | None = None,
    registered_proof: RegisteredProof | None = None,
    porep_id: bytes | None = None,
    api_version: str | None = None,
    feature: str | None = None,
) -> Replica:
    """The public facts of the proof that this C1 is for.

    With miner and sector number (the wrapper's SectorNum stands in for an absent `sector`) replica_id is recomputed.
    Without them the C1's replica_id is taken and `ids_checked` is False.

    Raises  UsageError for options that are contradictory or do not suffice; FalseInput if SectorNum or replica_id is not
            that of the ids
    Source  rust-fil-proofs at 87348a7: filecoin-proofs/src/api/seal.rs 507-645
    """
    ids = _ids(c1, miner, sector)
    proof, (rule_id, version, rule_feature) = _explicit(c1, registered_proof, porep_id, api_version, feature) or _search(c1, ids)
    _refuse_mismatch(c1, proof, rule_feature)
    if ids:
        computed = _replica_id(c1, ids, rule_id)
        if computed != c1.replica_id:
            raise FalseInput(
                f"replica_id is not that of miner {ids[0]}, sector {ids[1]}",
                file=c1.file,
                where="replica_id",
                expected=computed.hex(),
                got=c1.replica_id.hex(),
                hint="check --miner and --sector; ticket, comm_d and porep_id of the C1 enter too",
            )
    return Replica(
        sector=c1.sector,
        porep_id=rule_id,
        api_version=version,
        feature=rule_feature,
        **{name: getattr(c1, name) for name in COMMITMENTS},
        registered_proof=proof.name if proof else None,
        miner=ids[0] if ids else None,
        sector_number=ids[1] if ids else c1.sector_number,
        ids_checked=ids is not None,
    )
