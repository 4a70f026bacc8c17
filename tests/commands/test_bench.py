"""The command `cuzk bench`: its JSON, its text, what it refuses."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest

from cuzk.cli import main
from cuzk.commands import bench
from cuzk.errors import UsageError


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["bench", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_one_object_with_rows_and_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "ntt", "--size", "2^8", "--runs", "2", "--threads", "1", "--json")
    assert code == 0
    found = json.loads(out)
    assert set(found) == {"subjects", "rows", "machine", "load_after", "noise", "device", "seconds", "version"}
    assert found["subjects"] == ["ntt"] and found["device"] == "cpu"
    assert [(r["subject"], r["name"], r["threads"], r["seconds"]["n"]) for r in found["rows"]] == [("ntt", "ntt 2^8", 1, 2)]
    assert set(found["machine"]) == {
        "cpu", "path", "cores", "usable_cores", "memory", "system", "versions", "commit", "load",
    }  # fmt: skip
    assert "busy" in found["noise"]["ntt"]["line"] or "quiet" in found["noise"]["ntt"]["line"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "msm", "--size", "4", "--runs", "1", "--threads", "1", "--peers")
    assert code == 0
    assert "msm g1 2^4" in out and "times as fast as py_arkworks_bls12381" in out and "compared with" in out and "cores" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["gpu"],
        ["ntt", "--size", "2^5"],
        ["ntt", "--size", "2KiB"],
        ["prove", "--size", "3KiB"],
        ["field", "--size", "2^10"],
        ["--size", "2^10"],
        ["ntt", "--runs", "0"],
        ["ntt", "--size", "2^8", "--threads", "0"],
        ["ntt", "--size", "2^8", "--threads", "4096"],
        ["ntt", "--device", "tpu"],
    ],
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *arguments)
    assert code == 2 and out == "" and "cuzk: " in err


def test_no_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "ntt", "--device", "cuda")[0] == 6


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **others: Any) -> Any:
        if name.startswith("py_arkworks"):
            raise ImportError(name)
        return real(name, *rest, **others)

    monkeypatch.setattr(bench.arkworks.importlib, "import_module", lambda name: absent(name))
    with pytest.raises(UsageError, match="peer is not installed"):
        bench.run(bench.Options("msm", peers=True))


def test_sector_sizes_in_any_case() -> None:
    assert bench.sizes("prove", "2kib,8MiB,2048") == (2048, 8 << 20)
    assert bench.sizes("msm", "2^3") == (3,)
    assert bench.sizes(None, None) == ()
