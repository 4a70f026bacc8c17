"""`cuzk report`: a page that holds everything itself and says what the files say; files that are none are refused."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cuzk.cli import main
from cuzk.timing import Timer

VOID = {"meta", "br", "line", "rect", "circle", "link", "i"}


class Reader(HTMLParser):
    """Tags must close; text is collected."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [v or "" for k, v in attrs if k in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def timing_file(path: Path, more: float = 0.0, **facts: object) -> Path:
    timer = Timer()
    timer.partition = 0
    with timer.phase("witness"):
        time.sleep(0.005)
    with timer.phase("msm_h"), timer.phase("digits"):
        time.sleep(0.005 + more)
    if more:
        with timer.phase("only_here"):
            pass
    timer.span("worker_0", "msm_h", 0.006, 0.004, 0)
    timer.span("cuda:0", "ntt_h", 0.001, 0.004, 0)
    timer.stop()
    timer.write_json(path, {"source": "<made & up>", **facts})
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["report", *map(str, arguments)])
    out = capsys.readouterr()
    return left.value.code, out.out + out.err


def read(path: Path) -> tuple[Reader, str]:
    html = path.read_text()
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader, html


def test_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = timing_file(tmp_path / "a.json", settings={"presize": "<on>"})
    code, out = report(capsys, file, "-o", tmp_path / "out.html")
    assert code == 0 and "out.html" in out
    reader, html = read(tmp_path / "out.html")
    assert reader.links == [] and "url(" not in html and "@import" not in html and "<script" not in html
    for word in ("a.json", "witness", "digits", "worker_0", "cuda:0", "unaccounted", "ntt_msm_h", "total"):
        assert any(word in text for text in reader.words), word
    assert "<made & up>" not in html and "&lt;made &amp; up&gt;" in html
    assert re.search(r"<title>digits, partition 0: 0\.0\d+ s", html)
    assert "difference" not in html and "settings presize=&lt;on&gt;" in html


def test_two_files_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counters = {"values": {"page_faults": 12345}, "usage": {"user_seconds": 1.5}, "refused": {"cycles": "ENOENT: none <here>"}}
    variant = {"name": "base", "times": [1.0, 1.2], "seconds": {"median": 1.1}, "counters": counters}
    other = {"name": "presize=off", "times": [1.5, 1.4], "seconds": {"median": 1.45}, "words": "presize=off: slower & surer"}
    files = [timing_file(tmp_path / "a.json"), timing_file(tmp_path / "b.json", 0.02, variants=[variant, other])]
    assert report(capsys, *files, "-o", tmp_path / "out.html")[0] == 0
    reader, html = read(tmp_path / "out.html")
    text = " ".join(reader.words)
    assert "difference, s" in text and "presize=off: slower & surer" in text and "12,345" in text
    assert "cycles: ENOENT: none <here>" in text
    row = next(r for r in html.split("<h2>Phases")[1].split("<tr>") if ">msm_h<" in r)
    before, after = (json.loads(f.read_text())["phases"]["msm_h"] for f in files)
    assert f"{before:.4f}" in row and f"{after:.4f}" in row and f"{100 * (after - before) / before:+.1f}" in row
    assert "new" in next(r for r in html.split("<h2>Phases")[1].split("<tr>") if ">only_here<" in r)


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"seconds": 1, "phases": {}, "tree": {"name": "t", "start": 0, "seconds": 1}, ' + rest
            for rest in ('"tracks": [{"track": "w", "spans": [[1]]}]}', '"variants": [{"times": [], "seconds": {}}]}')
        ),
        "",
        "[]",
        "{",
        "{}",
        '{"seconds": 1, "phases": {}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0, "seconds": -1}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0, "seconds": 1, "children": [3]}}',
    ],
)
def test_files_that_are_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(text)
    code, out = report(capsys, tmp_path / "a.json", "-o", tmp_path / "out.html", "--json")
    assert code == 3 and not (tmp_path / "out.html").exists()
    assert json.loads(out)["error"]["file"].endswith("a.json")


def test_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, "-o", tmp_path / "out.html")[0] == 2
    assert report(capsys, tmp_path / "absent.json", "-o", tmp_path / "out.html")[0] == 2
    file = timing_file(tmp_path / "a.json")
    before = file.read_bytes()
    for place, word in ((file, "an input would be overwritten"), (tmp_path / "absent/out.html", "does not exist")):
        code, out = report(capsys, file, "-o", place)
        assert code == 2 and word in out
    assert file.read_bytes() == before
