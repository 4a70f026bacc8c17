"""The command `cuzk bench`: its JSON, its text, what it refuses."""

from __future__ import annotations

import builtins
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cuzk import statistics
from cuzk.bench import known, machine, measure, process, prove
from cuzk.bench.process import Run
from cuzk.circuits import synthesis
from cuzk.cli import main
from cuzk.commands import bench
from cuzk.errors import InternalError, ParametersError, UsageError
from cuzk.parameters import policy


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["bench", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_one_object_with_rows_and_the_machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.0)
    code, out, _ = call(capsys, "ntt", "--size", "2^8", "--runs", "2", "--threads", "1", "--json")
    assert code == 0
    found = json.loads(out)
    assert set(found) == {"command", "subjects", "rows", "machine", "load_after", "noise", "device", "seconds", "version"}
    assert found["subjects"] == ["ntt"] and found["device"] == "cpu"
    assert [(r["subject"], r["name"], r["threads"], r["seconds"]["n"]) for r in found["rows"]] == [("ntt", "ntt 2^8", 1, 2)]
    assert set(found["machine"]) == {
        "cpu", "path", "cores", "usable_cores", "memory", "system", "versions", "commit", "sources", "load",
    }  # fmt: skip
    assert "busy" in found["noise"]["ntt"]["line"] or "quiet" in found["noise"]["ntt"]["line"]


def test_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUZK_CPU", raising=False)
    assert (
        bench.command(bench.Options("msm", "2^4", 2, 1, peers=True)) == "cuzk bench msm --size '2^4' --runs 2 --threads 1 --peers"
    )
    monkeypatch.setenv("CUZK_CPU", "scalar")
    options = bench.Options("prove", device="cuda:0", opts=("presize=off",), variant="base,presize=on", as_json=True)
    words = "--device cuda:0 --opt presize=off --variant base,presize=on --json"
    assert bench.command(options) == f"CUZK_CPU=scalar cuzk bench prove {words}"
    assert bench.command(bench.Options()) == "CUZK_CPU=scalar cuzk bench"


def test_without_a_checkout_the_digest_of_the_sources_says_what_ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    shutil.copytree(machine.ROOT / "cuzk" / "bench", installed / "cuzk" / "bench")
    monkeypatch.setattr(machine, "ROOT", installed)
    found = machine.describe()
    assert found["commit"] is None and len(found["sources"]) == 64
    result = {"rows": [], "machine": found, "load_after": None, "noise": {}}
    assert f"no checkout, sources {found['sources'][:12]}" in bench.text(result)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "msm", "--size", "4", "--runs", "1", "--threads", "1", "--peers")
    assert code == 0
    assert "; CPU time " in out and "; windows of " in out and " bits; " in out
    assert "msm g1 2^4" in out and "times as fast as py_arkworks_bls12381" in out and "compared with" in out and "cores" in out


def test_one_run_has_no_spread_and_memory_is_in_gib() -> None:
    row = {
        "name": "prove 2KiB",
        "path": "ifma",
        "threads": 2,
        "seconds": statistics.summary([1.5]).as_dict(),
        "peak_memory": 3 << 29,
    }
    assert bench.line(row) == "prove 2KiB, ifma, 2 thread(s): 1.500 s (one run); peak memory 1.50 GiB"
    row["seconds"], row["cpu_seconds"] = statistics.summary([1.0, 2.0]).as_dict(), statistics.summary([0.002, 0.002]).as_dict()
    assert "1.500 s (1.000 s to 2.000 s, spread " in bench.line(row) and "n = 2); CPU time 2.000 ms; " in bench.line(row)


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        (["--size", "2^10"], "2^10"),
        (["--opt", "presize=off"], "presize=off"),
        (["field", "--size", "2^10"], "field"),
        (["ntt", "--opt", "presize=off"], "ntt"),
        (["--variant", "base,presize=off"], "no subject"),
        (["ntt", "--threads", "4096"], 4096),
    ],
)
def test_what_is_refused_is_named_before_anything_else(
    arguments: list[str], got: object, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, *arguments, "--json")
    error = json.loads(out)["error"]
    assert (code, error["got"], err) == (2, got, "") and error["expected"]
    assert ("needs a subject" in error["message"]) == (got in ("2^10", "presize=off"))


def test_memory_that_runs_out_is_told_in_words_of_the_subject(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: object) -> None:
        raise MemoryError("no room")

    for subject, hint in (("ntt", measure.SMALLER), ("field", "free memory, or raise its limit (ulimit -v)")):
        monkeypatch.setattr(f"cuzk.bench.{subject}.run", none)
        code, out, _ = call(capsys, subject, "--json")
        error = json.loads(out)["error"]
        assert (code, error["message"], error["got"], error["hint"]) == (7, "out of memory", "no room", hint)


def test_the_failure_of_a_process_is_that_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    its = ParametersError("the file is damaged", file="x.params", hint="delete it", phase="srs_load")
    output = json.dumps({"error": its.as_dict()}).encode()
    monkeypatch.setattr(process, "watched", lambda *_: process.Ended(1.0, 1.0, 1, 5, output, ""))
    code, out, _ = call(capsys, "prove", "--runs", "1", "--json")
    assert code == 5 and json.loads(out)["error"] == its.as_dict() | {"message": "cuzk prove: the file is damaged"}


def test_help_says_how_many_runs_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(call(capsys, "--help")[1].split())
    assert f"until they have run for {measure._LEAST_SECONDS:.0f} seconds" in words and measure._MORE + 1 == 5
    assert "at most five times --runs in all" in words and f"A number up to {measure.LARGEST} as --size" in words


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
        ["field", "--peers"],
        ["prove", "--peers"],
        ["msm", "--size", "4", "--threads", "2", "--peers"],
        ["ntt", "--opt", "presize=off"],
        ["synth", "--opt", "msm-window=one"],
        ["synth", "--variant", "base,presize=off"],
        ["prove", "--opt", "fast=on"],
        ["prove", "--variant", "base,fast=on"],
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


def test_settings_of_proofs_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    proof = known.digests()["proof"]
    ran: list[str] = []

    def process_of(arguments: list[str], path: str) -> Run:
        opts = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--opt"]
        ran.append("+".join(opts))
        seconds = (2.0 if "msm-window=one" in opts else 1.0) + 0.001 * len(ran)
        answer = {"proof": proof, "verified": True, "seconds": seconds, "phases": {"start": 0.1, "msm_h": seconds}}
        return Run(seconds, 1.0, 1 << 20, answer, True)

    monkeypatch.setattr(process, "cuzk", process_of)
    monkeypatch.setattr(policy, "verifying_key", lambda *_: (None, None))
    setting = "base,msm-window=one,stream-witness=on+presize=off"
    code, out, err = call(capsys, "prove", "--variant", setting, "--opt", "parallel-b-g2=on", "--runs", "6", "--json")
    assert code == 0
    assert [f"round {k} of 6: base " in err for k in range(1, 8)] == [True] * 6 + [False]
    rows = json.loads(out)["rows"]
    assert [r["name"] for r in rows] == [f"prove 2KiB, {name}" for name in setting.split(",")]
    assert [r.get("verdict") for r in rows] == [None, "slower", "not told apart"]
    assert rows[1]["cpu_verdict"] == "not told apart"
    one, other = ran[6:9], ran[9:12]  # behind two of warm-up each
    assert one == other[::-1]
    assert one == ["parallel-b-g2=on", "parallel-b-g2=on+msm-window=one", "presize=off+parallel-b-g2=on+stream-witness=on"]
    assert rows[0]["settings"]["parallel-b-g2"] == "on" and rows[1]["changed"] == "parallel-b-g2=on msm-window=one"
    code, out, _ = call(capsys, "prove", "--variant", "base,msm-window=one,base", "--runs", "1")
    assert "base (2) and base are equal settings: an A/A test" in out and "settings: msm-window=one" in out
    assert "differences are medians of the differences within rounds" in out
    table = out[out.index("medians of phases") :].splitlines()
    assert table[1].split() == ["phase", "base", "msm-window=one", "base", "(2)"] and table[3].split()[0] == "msm_h"
    assert len(table[3].split()) == 4


def test_rounds_with_a_cold_process_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def process_of(arguments: list[str], path: str) -> Run:
        ran.append(arguments[0])
        return Run(float(len(ran)), 1.0, 0, {}, len(ran) != 3)

    monkeypatch.setattr(process, "cuzk", process_of)
    runs = prove._rounds({"base": ["a"], "other": ["b"]}, "ifma", 2)
    assert ran == ["a", "b", "b", "a", "a", "b"]
    assert {name: [r.seconds for r in each] for name, each in runs.items()} == {"base": [1.0, 5.0], "other": [2.0, 6.0]}
    monkeypatch.setattr(process, "cuzk", lambda *_: Run(1.0, 1.0, 0, {}, False))
    with pytest.raises(InternalError, match="adds to the cache"):
        prove._rounds({"base": ["a"]}, "ifma", 2)


def test_settings_with_different_proofs_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def process_of(arguments: list[str], path: str) -> Run:
        answer = {"proof": "01" if "--opt" in arguments else "00", "phases": {"start": 0.1}, "seconds": 1.0}
        return Run(1.0, 1.0, 1 << 20, answer, True)

    monkeypatch.setattr(process, "cuzk", process_of)
    code, _, err = call(capsys, "prove", "--variant", "base,presize=off", "--runs", "1")
    assert code == 8 and "settings give different proofs" in err


def test_switches_reach_synthesis(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    honest = synthesis.synthesize

    def watched(shape, prologue, repeated, settings, *rest, **more):
        seen.append(settings.lc_layout)
        return honest(shape, prologue, repeated, settings, *rest, **more)

    monkeypatch.setattr(synthesis, "synthesize", watched)
    assert call(capsys, "synth", "--opt", "lc-layout=csr", "--runs", "1", "--threads", "2")[0] == 0
    assert set(seen) == {"csr"}
