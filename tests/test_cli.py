"""The command line's skin: help, usage errors, one JSON object, exit codes."""

from __future__ import annotations

import errno
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuzk import __version__, pages, signals
from cuzk import cli as cli_module
from cuzk.cli import cli, main
from cuzk.errors import ResourceError
from cuzk.files import check_outputs
from cuzk.formats import srs
from cuzk.timing import Timer
from tests.conftest import ROOT


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuzk", *arguments], capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}
    )


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"cuzk {__version__}\n")


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_of_every_command(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: cuzk")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove"],
        ["prove", "no-such-file", "-o", "x"],
        ["prove", "README.md", "-o", "no-such-dir/proof.bin"],
        ["prove", "README.md", "-o", "docs"],
        ["no-such-command"],
        ["shape", "3KiB"],
        ["shape"],
        ["setup", "2KiB", "-o", "x", "--toxic-waste", "README.md", "--random"],
        ["synth-only", "--partition", "7"],
        ["verify"],
        ["verify", "README.md"],
    ],
)
def test_usage_errors_are_code_2_and_no_traceback(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert "cuzk: " in done.stderr


def test_json_errors_are_one_object_on_stdout() -> None:
    done = run("prove", "no-such-file", "-o", "x", "--json")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert found["version"] == __version__
    assert set(found["error"]) == {
        "code", "kind", "message", "phase", "partition", "file", "where", "expected", "got", "hint",
    }  # fmt: skip
    assert found["error"]["code"] == 2
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments", [["prove", "README.md", "-o", ""], ["setup", "2KiB", "-o", ""], ["fixture", "2KiB", "-o", ""]]
)
def test_an_empty_path_is_named(arguments: list[str]) -> None:
    done = run(*arguments, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (2, "usage")
    assert error["message"].endswith("empty path")


@pytest.mark.parametrize(("arguments", "where"), [(["shape", "3KiB"], "SIZE"), (["synth-only", "--size", "3KiB"], "--size")])
def test_a_bad_size_has_its_parts_apart(arguments: list[str], where: str) -> None:
    done = run(*arguments, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"], error["where"]) == (2, 2, where)
    assert "32GiB" in error["expected"] and "3KiB" in error["got"]
    assert "3KiB" not in error["message"] and "\n" not in error["message"]


def test_help_of_verify_says_what_is_not_checked() -> None:
    text = " ".join(run("verify", "--help").stdout.split())
    assert "only the public inputs are taken" in text and "labels and Merkle paths are not checked" in text


def test_device_errors() -> None:
    done = run("prove", "examples/c1-2kib.json", "-o", "/tmp/never.bin", "--device", "cuda")
    assert done.returncode == 6
    assert not Path("/tmp/never.bin").exists()
    assert run("prove", "examples/c1-2kib.json", "-o", "/tmp/never.bin", "--device", "tpu").returncode == 2


def test_unknown_cpu_path_is_a_usage_error() -> None:
    done = run("config", CUZK_CPU="fast")
    assert done.returncode == 2
    assert "CUZK_CPU" in done.stderr


def test_config_names_origins() -> None:
    done = run("config", "--json", CUZK_CPU="scalar")
    found = json.loads(done.stdout)
    assert found["cpu"] == {"value": "scalar", "origin": "environment CUZK_CPU"}


def test_a_reader_that_left_does_not_change_the_verdict() -> None:
    command = f"{sys.executable} -m cuzk config | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", command], capture_output=True, cwd=ROOT).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_full_disk_under_stdout_is_code_7(flags: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "cuzk", "config", *flags], stdout=full, stderr=subprocess.PIPE, cwd=ROOT)
    assert done.returncode == 7
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("flags", "name"), [([], "SIGINT"), (["--json"], "SIGINT"), (["--json"], "SIGTERM")])
def test_interrupt(flags: list[str], name: str, tmp_path: Path) -> None:
    import signal
    import time

    environment = {**os.environ, "CUZK_CACHE_DIR": str(tmp_path)}
    started = subprocess.Popen(
        [sys.executable, "-m", "cuzk", "synth-only", "--iterations", "100", *flags],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    assert started.stderr is not None
    first = started.stderr.readline()
    started.send_signal(getattr(signal, name))
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert first and started.returncode == 130, (first, err)
    assert "Traceback" not in err
    if flags:
        error = json.loads(out)["error"]
        assert error["code"] == 130 and error["phase"]
    else:
        assert out == ""


def test_interrupt_while_modules_are_imported() -> None:
    """The second signal comes while the first one ends the process."""
    code = (
        "import os, signal, sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'cuzk.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "import atexit\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from cuzk.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 130
    assert done.stderr == "cuzk: interrupted; nothing was written\n"
    done = subprocess.run([sys.executable, "-c", code, "config", "--json"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (130, "")
    found = json.loads(done.stdout)
    assert found["version"] == __version__
    assert (found["error"]["code"], found["error"]["kind"], found["error"]["file"]) == (130, "interrupted", None)


@pytest.mark.parametrize("module", ["cuzk.signals", "cuzk.cli"])
def test_interrupt_before_the_signals_are_taken_over(module: str) -> None:
    code = (
        "import sys\n"
        "class Stopped:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stopped())\n"
        "from cuzk.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "--json"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (130, "")
    assert json.loads(done.stdout)["error"]["kind"] == "interrupted"


def test_an_end_of_file_is_no_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """click ends a command that raised EOFError as if its user had left."""
    from cuzk import cli as command_line
    from cuzk import config

    def damaged() -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr(config, "effective", damaged)
    monkeypatch.setattr(command_line.signals, "install", lambda: None)
    with pytest.raises(SystemExit) as caught:
        command_line.main(["config", "--json"])
    assert caught.value.code == 8
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["message"]) == ("internal", "EOFError: Ran out of input")


@pytest.mark.parametrize("ignored", [False, True])
def test_a_hangup_ends_the_run_unless_it_is_ignored(ignored: bool) -> None:
    """As SIGTERM does; under nohup it changes nothing."""
    code = (
        "import os, signal, sys\n"
        f"signal.signal(signal.SIGHUP, signal.{'SIG_IGN' if ignored else 'SIG_DFL'})\n"
        "from cuzk import cli, config\n"
        "config.effective = lambda: os.kill(os.getpid(), signal.SIGHUP) or {}\n"
        "cli.main(['config', '--json'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == (0 if ignored else 130), done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout).get("error", {}).get("code") == (None if ignored else 130)


def test_outputs_that_would_destroy_something_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "c1.json"
    source.write_bytes((ROOT / "examples/c1-2kib.json").read_bytes())
    before = source.read_bytes()
    assert run("prove", str(source), "-o", str(source)).returncode == 2
    assert source.read_bytes() == before
    assert run("prove", str(source), "-o", "/dev/null").returncode == 2
    assert run("prove", str(source), "-o", str(tmp_path / "x"), "--timings", str(tmp_path / "x")).returncode == 2
    assert not (tmp_path / "x").exists()


def test_pipes_are_refused_at_once() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m cuzk inspect <(cat README.md)"], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 2
    assert "regular file" in done.stderr


@pytest.mark.parametrize(("value", "code"), [("1", 0), ("true", 0), ("false", 0), ("0", 0), ("", 0), ("yes", 2), ("2", 2)])
def test_switches_are_parsed(value: str, code: int) -> None:
    assert run("config", CUZK_TIMING=value).returncode == code


def test_a_misspelt_variable_is_named() -> None:
    done = run("config", CUZK_CPUU="scalar")
    assert done.returncode == 0
    assert "CUZK_CPUU means nothing to cuzk; did you mean CUZK_CPU?" in done.stderr


def test_ascii_locales_work() -> None:
    done = run("shape", "2KiB", LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr


def test_json_leaves_progress_on_stderr() -> None:
    done = run("prove", "tests/vectors/groth16/cubic/circuit.json", "-o", "/tmp/never.bin", "--params", "tests/vectors", "--json")
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["kind"] == "parameters"


def test_an_interrupt_says_in_which_phase(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.commands import explain
    from cuzk.timing import Timer

    def stopped(size: int | None) -> None:
        timer = Timer()
        timer.partition = 2
        with timer.phase("cards"), timer.phase("msm_h"):
            raise KeyboardInterrupt

    monkeypatch.setattr(explain, "run", stopped)
    monkeypatch.setattr(signals, "finish", lambda: None)
    with pytest.raises(SystemExit) as left:
        main(["explain", "--json"])
    error = json.loads(capsys.readouterr().out)["error"]
    assert left.value.code == 130 and (error["phase"], error["partition"]) == ("msm_h", 2)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc takes no files, whatever its permissions say")
def test_places_that_take_no_file_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="cannot write") as refused:
        check_outputs({"--timings": Path("/proc/x.json")}, [])
    assert str(refused.value.where).startswith("--timings")
    check_outputs({"--timings": tmp_path / "x.json"}, [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": "+sse2,-avx512f"}], ids=str)
def test_ifma_is_refused_where_code_is_compiled_without_it(variable: dict[str, str]) -> None:
    """LLVM would abort the process."""
    done = run("config", CUZK_CPU="ifma", **variable)
    assert done.returncode == 2 and "compiled for a CPU without" in done.stderr and next(iter(variable)) in done.stderr
    done = run("config", "--json", CUZK_CPU="auto", **variable)
    assert json.loads(done.stdout)["cpu"]["value"] == "scalar"


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_short_memory_is_code_7_with_its_phase(error: Exception) -> None:
    with pytest.raises((MemoryError, OSError)), Timer(silent=True).phase("witness"):
        raise error
    found = cli_module._as_cuzk_error(error)
    assert (found.code, found.message, found.phase) == (7, "out of memory", "witness")
    assert found.hint is not None and "ulimit" in found.hint


def test_a_library_that_finds_no_room_is_short_memory() -> None:
    """As llvmlite has it: its own words about a file, and the loader's behind them."""
    try:
        try:
            raise OSError("libllvmlite.so: failed to map segment from shared object")
        except OSError:
            raise OSError("Could not find/load shared object file") from None
    except OSError as error:
        found = cli_module._as_cuzk_error(error)
    assert (found.code, found.message) == (7, "out of memory") and "failed to map" in str(found.got)
    assert found.hint is not None and "ulimit" in found.hint
    words = "libopenblas.so: cannot allocate memory in static TLS block"
    assert cli_module._as_cuzk_error(ImportError(words)).code == 7
    assert cli_module._as_cuzk_error(ImportError("no module")).code == 8


def test_an_error_without_a_number_keeps_its_words() -> None:
    found = cli_module._as_cuzk_error(OSError("no such library"))
    assert (found.code, found.message) == (7, "no such library")


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="no huge pages")
def test_no_room_for_a_map_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*a: Any, **b: Any) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    path = tmp_path / "x.params"
    path.write_bytes(bytes(5000))
    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(ResourceError, match="not at fault") as caught:
        srs.map_file(path)
    assert caught.value.expected == "5000 bytes of address space" and "delete" not in str(caught.value)
    with pytest.raises(MemoryError, match=str(8 << 20)):
        pages.zeros(1 << 20)
