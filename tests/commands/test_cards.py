"""Partitions on several cards, some of which fail: what is proved again and where, which cards are dropped, what is said."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from cuzk.commands import cards as commands
from cuzk.commands import prove as command
from cuzk.commands.board import IN_A_ROW, MAX_RETRIES, Board
from cuzk.commands.cards import Cards, Work
from cuzk.errors import CuzkError, DeviceError, FalseInput, InternalError, ResourceError
from cuzk.progress import Progress
from cuzk.timing import Timer

PHASES = ("ntt_h", "msm_h", "msm_l", "msm_a", "msm_b_g1", "msm_b_g2", "assemble")


class Card:
    """Answers until it is lost."""

    name, bytes_in, bytes_out = "Test card", 0, 0

    def __init__(self, ordinal: int) -> None:
        self.ordinal, self.lost = ordinal, False

    def synchronize(self) -> None:
        if self.lost:
            raise DeviceError("an illegal address", where="cuCtxSynchronize")

    def free_memory(self) -> int:
        return 0


class Prover:
    """Stands in for `prove_cuda.Prover`. `mode`: ok, fails, wrong, lost, or how often it does one of them."""

    def __init__(self, ordinal: int, mode: str | float) -> None:
        self.card, self.mode = Card(ordinal), mode
        self.track, self.places = f"cuda:{ordinal}", [object(), object()]
        self.attempts: list[int] = []

    def synthesize(self, place: object, *rest: Any) -> None:
        with rest[-1].phase("witness"):
            self.card.synchronize()

    def prove(self, place: object, k: int, s: int, timer: Timer, step: Any) -> tuple[int, bool]:
        self.attempts.append(k)
        for name in PHASES:
            with timer.phase(name):
                time.sleep(0.0001)
        self.card.synchronize()
        mode = self.mode
        if isinstance(mode, float):
            mode = random.choice(["fails", "wrong", "lost"]) if random.random() < mode else "ok"
        if mode == "lost":
            self.card.lost = True
            raise DeviceError("an illegal address", where="cuLaunchKernel")
        if mode == "fails":
            with timer.phase("msm_h"):
                raise DeviceError("a launch failed", where="cuLaunchKernel")
        return k, mode != "wrong"


def cards_of(*modes: str | float) -> Cards:
    provers: Any = [Prover(i, mode) for i, mode in enumerate(modes)]
    return Cards(None, provers, None, True, {"cards": [{"free_memory": 0} for _ in modes]})  # type: ignore[arg-type]


def prove(cards: Cards, partitions: int = 10, timer: Timer | None = None) -> bytes:
    """`k` as r, so that the stand-ins know what they prove."""
    scalars = {k: (k, 0) for k in range(partitions)}
    work: Any = Work(None, None, None, lambda k: [], scalars, hints=lambda k: (None, None), doubt="the parameters")  # type: ignore[arg-type]
    return cards.prove(work, timer or Timer(), Progress(quiet=True))


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof is its partition's number and whether it is true."""

    def check(vk: Any, proof: tuple[int, bool], inputs: Any, hint: str) -> bytes:
        if not proof[1]:
            raise InternalError("the proof failed its check by pairing", hint=hint)
        return bytes([proof[0]])

    monkeypatch.setattr(commands, "encode_checked", check)


@pytest.mark.parametrize("bad", ["fails", "wrong", "lost"])
@pytest.mark.parametrize("first", [False, True])
def test_a_bad_card_leaves_its_partitions_to_the_good_one(bad: str, first: bool) -> None:
    cards = cards_of(bad, "ok") if first else cards_of("ok", bad)
    good = int(first)
    assert prove(cards) == bytes(range(10))
    its, others = (cards.facts["cards"][i] for i in (1 - good, good))
    assert its["lost"] is (bad == "lost") and not others["lost"]
    assert (its["proved"], others["proved"], others["moved"]) == (0, 10, [])
    tried = set(cards.provers[1 - good].attempts)  # type: ignore[attr-defined]
    assert tried <= set(its["moved"])
    # What a false proof is shows only once it is checked; until then the card goes on, to each partition once.
    assert 0 <= cards.facts["retries"] <= {"fails": IN_A_ROW + 1, "wrong": 10, "lost": 0}[bad]
    assert len(cards.working) == (1 if bad == "lost" else 2)


@pytest.mark.parametrize("bad", ["fails", "wrong"])
def test_without_a_good_card_a_partition_is_tried_three_times(bad: str) -> None:
    for modes in ((bad,), (bad, bad)):
        cards = cards_of(*modes)
        with pytest.raises(CuzkError) as caught:
            prove(cards)
        attempts = [k for prover in cards.provers for k in prover.attempts]  # type: ignore[attr-defined]
        assert caught.value.partition is not None and attempts.count(caught.value.partition) == 1 + MAX_RETRIES


def test_an_error_names_card_phase_and_partition() -> None:
    with pytest.raises(DeviceError) as caught:
        prove(cards_of("fails"), 1)
    assert (caught.value.where, caught.value.phase, caught.value.partition) == ("cuda:0, cuLaunchKernel", "msm_h", 0)
    with pytest.raises(InternalError) as false:
        prove(cards_of("wrong"), 1)
    assert false.value.where == "cuda:0" and str(false.value.hint).startswith("use another card, or --device cpu")


@pytest.mark.parametrize("count", [1, 2])
def test_every_phase_is_there_however_many_cards_prove(count: int) -> None:
    timer = Timer()
    prove(cards_of(*count * ["ok"]), timer=timer)
    timer.stop()
    totals, beside = timer.totals(), timer.side_by_side()
    assert {*PHASES, "witness", "verify"} <= set(totals)
    assert set(beside) >= {"witness", "verify"} | (set(PHASES) if count > 1 else set())
    assert sum(totals.values()) - sum(beside.values()) == pytest.approx(timer.root.seconds, abs=1e-4)
    assert all(not name[0].isspace() for name in timer.table().splitlines() if name.split()[0] in totals)


def test_after_the_last_card_nothing_is_tried() -> None:
    cards = cards_of("lost", "lost")
    with pytest.raises(DeviceError, match="illegal address"):
        prove(cards)
    assert [fact["lost"] for fact in cards.facts["cards"]] == [True, True]
    with pytest.raises(DeviceError, match="no card is left") as caught:
        prove(cards)
    assert caught.value.code == 6 and "cuda:0 Test card" in str(caught.value.where)


def test_a_card_without_memory_leaves_its_partitions_to_the_others() -> None:
    for full in (1, 2):
        cards = cards_of("ok", "ok")
        for prover in cards.provers[:full]:
            prover.prove = lambda *_: (_ for _ in ()).throw(ResourceError("the card is out of memory"))  # type: ignore[method-assign]
        if full == 1:
            assert prove(cards) == bytes(range(10)) and cards.facts["cards"][1]["proved"] == 10
        else:
            with pytest.raises(ResourceError) as caught:
                prove(cards)
            assert caught.value.where in ("cuda:0", "cuda:1") and caught.value.partition is not None
        assert cards.facts["retries"] == 0 and len(cards.working) == 2


def test_a_false_input_ends_the_run() -> None:
    cards = cards_of("ok", "ok")
    cards.provers[0].prove = lambda *_: (_ for _ in ()).throw(FalseInput("a path"))  # type: ignore[method-assign]
    with pytest.raises(FalseInput) as caught:
        prove(cards)
    assert caught.value.where is None and cards.facts["retries"] == 0


def test_no_run_hangs_or_gives_anything_wrong() -> None:
    seed = random.randrange(1 << 32)
    random.seed(seed)
    for _ in range(60):
        cards = cards_of(*(random.choice([0.05, 0.2, 0.5, "fails", "wrong", "ok"]) for _ in range(random.randint(1, 4))))
        count = random.choice([1, 2, 10])
        raised: list[CuzkError] = []
        try:
            assert prove(cards, count) == bytes(range(count)), seed
        except (DeviceError, InternalError) as error:
            raised.append(error)
        assert all(e.partition is not None and "cuda:" in str(e.where) for e in raised), seed
        tries = [k for prover in cards.provers for k in prover.attempts]  # type: ignore[attr-defined]
        lost = sum(prover.card.lost for prover in cards.provers)
        assert all(tries.count(k) <= 1 + MAX_RETRIES + lost for k in set(tries)), seed


def test_the_board_gives_a_failed_partition_to_another_card() -> None:
    board, error = Board([3, 4], ["a", "b"]), InternalError("false")
    assert board.take("a") == 3 and board.again(3, "a", error) and board.retries == 1
    assert board.take("a") == 4 and board.take("b") == 3, "the first card does not get it again"
    assert board.again(3, "b", error) and board.take("a") == 3, "unless all have failed it"
    assert board.again(3, "a") and board.take("a") == 3 and board.retries == 2, "given back without an attempt"
    assert not board.again(3, "a", error)
    board.done(3, "b", b"three")
    board.done(4, "a", b"four")
    assert board.take("a") is None and board.proofs == {3: b"three", 4: b"four"}
    assert board.facts("a") == {"proved": 1, "moved": [3]} and board.facts("b") == {"proved": 1, "moved": []}


def test_both_threads_of_a_card_may_find_it_lost() -> None:
    """The one that proves and the one that stages: its partitions go back once each, and the others go on."""
    cards = cards_of("ok", "lost")
    lost = cards.provers[1]
    lost.card.lost = True
    board = Board([3, 4], ["cuda:0", "cuda:1"])
    run = commands._Run(lost, cards, board, None, None, None, Progress(quiet=True))  # type: ignore[arg-type]
    assert (board.take("cuda:1"), board.take("cuda:1")) == (3, 4)
    assert not run._failed(3, DeviceError("an illegal address")) and not run._failed(4, DeviceError("an illegal address"))
    assert cards.working == cards.provers[:1] and board.error is None and board.retries == 0
    assert {board.take("cuda:0"), board.take("cuda:0")} == {3, 4} and board.take("cuda:1") is None


def test_results_name_the_cards_that_were_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cards were asked for, and one partition takes one."""
    opened, asked = cards_of("ok"), [Card(0), Card(1)]
    opened.free = lambda: None  # type: ignore[method-assign]
    work: Any = Work(None, None, None, lambda k: [], {0: (0, 0)}, hints=lambda k: (None, None))  # type: ignore[arg-type]
    monkeypatch.setattr(command, "open_cards", lambda *_: opened)
    monkeypatch.setattr(command, "work_of", lambda *_: work)
    monkeypatch.setattr(command, "_whole", lambda _, proofs: proofs)
    facts: dict[str, Any] = {}
    rest: Any = ({}, None, None, Timer(), Progress(quiet=True), facts)
    assert command._prove_on_cards(None, asked, *rest) == b"\0"  # type: ignore[arg-type]
    assert facts["device"] == "cuda:0" and len(facts["cards"]) == 1
    opened.provers.clear()
    assert command._prove_on_cards(None, asked, *rest) is None, "no card has room"  # type: ignore[arg-type]
