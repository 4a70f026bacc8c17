"""Who proves which partition, where several cards work and some of them may fail."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from cuzk.errors import CuzkError

MAX_RETRIES = 2
IN_A_ROW = 2  # failures after which a card gets nothing more while others work


class Board:
    """Which partitions are to be done, in work and done, for all cards together, and which cards work."""

    def __init__(self, partitions: Iterable[int], cards: Iterable[str]) -> None:
        self._todo = deque(partitions)
        self._left = len(self._todo)
        self._changed = threading.Condition()
        self._failed: dict[int, list[str]] = {k: [] for k in self._todo}  # by which cards, attempt by attempt
        self._in_a_row = dict.fromkeys(cards, 0)  # failures of each card that works; -1 after a proof
        self.given_back: dict[str, set[int]] = {card: set() for card in self._in_a_row}
        self.made_by: dict[int, str] = {}
        self.proofs: dict[int, bytes] = {}
        self.retries = 0
        self.error: CuzkError | None = None

    def take(self, card: str) -> int | None:
        """A partition for this card, once there is one; None when all are done, the run has failed, or the card has."""
        with self._changed:
            while self._left and self._works(card):
                k = next((k for k in self._todo if self._suits(k, card)), None)
                if k is not None:
                    self._todo.remove(k)
                    return k
                self._changed.wait()
            return None

    def _suits(self, k: int, card: str) -> bool:
        """A partition that failed goes to a card that did not fail it, if there is one, and to the best of them."""
        others = {name: row for name, row in self._in_a_row.items() if name not in self._failed[k]}
        if not self._failed[k] or not others:
            return True
        return others.get(card) == min(others.values())

    def _works(self, card: str) -> bool:
        return card in self._in_a_row and self.error is None

    def works(self, card: str) -> bool:
        """Whether this card has still something to do in this run."""
        with self._changed:
            return self._works(card)

    def done(self, k: int, card: str, proof: bytes) -> None:
        """A partition's proof, checked."""
        with self._changed:
            self.proofs[k], self.made_by[k] = proof, card
            self._left -= 1
            if card in self._in_a_row:
                self._in_a_row[card] = -1
            self._changed.notify_all()

    def again(self, k: int, card: str, error: CuzkError | None = None) -> bool:
        """Put a partition back. With the error of an attempt it counts as one; false if there have been too many.

        A card that failed `IN_A_ROW` times in a row gets nothing more, as long as others work.
        """
        with self._changed:
            if error is not None:
                if len(self._failed[k]) == MAX_RETRIES:
                    return False
                self._failed[k].append(card)
                self.retries += 1
                if card in self._in_a_row:
                    self._in_a_row[card] = max(0, self._in_a_row[card]) + 1
                    if self._in_a_row[card] >= IN_A_ROW and len(self._in_a_row) > 1:
                        del self._in_a_row[card]
            self.given_back[card].add(k)
            self._todo.appendleft(k)
            self._changed.notify_all()
            return True

    def leave(self, card: str) -> bool:
        """A card is lost. Whether others work."""
        with self._changed:
            self._in_a_row.pop(card, None)
            self._changed.notify_all()
            return bool(self._in_a_row)

    def fail(self, k: int | None, error: CuzkError) -> None:
        """End the run: nobody takes anything any more."""
        with self._changed:
            if self.error is None:
                error.partition = k if error.partition is None else error.partition
                self.error = error
            self._changed.notify_all()

    def facts(self, card: str) -> dict[str, Any]:
        """What became of a card's partitions: how many it proved, and which went from it to other cards."""
        moved = sorted(k for k in self.given_back.get(card, ()) if self.made_by.get(k, card) != card)
        return {"proved": sum(maker == card for maker in self.made_by.values()), "moved": moved}
