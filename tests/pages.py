"""Pages of the documentation as somebody follows them: from top to bottom, in a folder of their own, only shorter.

Everything in a fenced block is done. A block that begins with ``# NAME.EXT`` is a file, or more of it; other Python is
run; a block without a language holds commands. A block of ``text`` is what one sees: every line of it must have been
printed, with whatever numbers. Files are written first, since one process does everything and imports a module once.

What is shortened are numbers of steps and episodes (``SHORTER``), in commands, snippets and files alike.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHORTER = {"steps": 64, "episodes": 4, "checkpoint-every": 32, "evaluation-episodes": 4}
FEW = "--evaluation-episodes 4"
MOST_SECONDS = 1800  # what never ends is a mistake
RUNNER = """
import ast, json, subprocess, sys
from openteam.cli import parse, run
from openteam.garbage import collect_garbage_rarely

collect_garbage_rarely()  # as the command does
names = {"__name__": "__main__"}

def snippet(code):  # like a cell of a notebook: what stands last is shown
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "snippet", "exec"), names)
    value = last and eval(compile(ast.Expression(last.value), "snippet", "eval"), names)
    if value is not None:
        print(getattr(value, "_repr_html_", value.__repr__)()[:1000])

def command(words):
    try:
        return run(words)
    except SystemExit as end:  # help ends the program
        return end.code or 0

for kind, what in json.load(sys.stdin):
    print(kind, what, file=sys.stderr, flush=True)
    if kind == "snippet":
        snippet(what)
    elif kind == "script":
        sys.stdout.flush()
        subprocess.run([sys.executable, *what], check=True)
    elif kind == "parse":
        parse(what[0], what[1:])
    elif code := command(what):
        if kind == "command":
            sys.exit(code)
        print("refused", code, file=sys.stderr, flush=True)
"""
KINDS = {"openteam": "command", "python": "script"}
Work = Sequence[tuple[str, str | list[str]]]


def blocks(page: str) -> list[tuple[str, str]]:
    """All fenced blocks of a page: language and content."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def blocks_in(page: str, language: str) -> list[str]:
    """Those in one language; commands have none."""
    return [code for named, code in blocks(page) if named == language]


def file_of(block: str) -> str | None:
    """The name of the file that a block belongs to."""
    found = re.match(r"# (\S+\.(?:py|toml))\n", block)
    return found and found[1]


def files(page: str) -> dict[str, str]:
    """All files that a page has its reader write, blocks of the same name joined."""
    written: dict[str, str] = {}
    for _, code in blocks(page):
        if name := file_of(code):
            written[name] = written.get(name, "") + code
    return written


def snippets(page: str) -> list[str]:
    """All Python of a page that belongs to no file."""
    return [code for code in blocks_in(page, "python") if file_of(code) is None]


def commands(block: str) -> list[list[str]]:
    """The words of each command of a block, without comments. A backslash goes on in the next line."""
    lines = (shlex.split(line, comments=True) for line in block.replace("\\\n", "").splitlines())
    return [words for words in lines if words]


def shorter(words: Sequence[str], few: str = FEW) -> list[str]:
    """The same command with less to do; ``few`` is added to all trainings."""
    numbers = {f"--{name}": number for name, number in SHORTER.items()}
    words = [
        min(word, str(numbers[before]), key=float) if before in numbers else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    return [*words, *few.split()] if words[1:2] == ["train"] and not {"--help", "--help-all"} & set(words) else words


def shorter_code(code: str, learner: str | None = None) -> str:
    """The same Python or TOML with less to do; ``learner`` is trained instead of GPL-Q."""
    code = code if learner is None else code.replace('"gpl-q"', learner)
    code = re.sub(r"\bcheckpoint_every( ?= ?)[\d_.e]+", rf"checkpoint_every\g<1>{SHORTER['checkpoint-every']}", code)
    code = re.sub(r"\bsteps=[\d_.e]+", f"steps={SHORTER['steps']}, evaluation_episodes=4", code)
    code = re.sub(r"\bsteps = [\d_.e]+", f"steps = {SHORTER['steps']}\nevaluation_episodes = 4", code)
    return re.sub(r"\bepisodes=[\d_.e]+", f"episodes={SHORTER['episodes']}", code)


def work_of(
    page: str, few: str = FEW, learner: str | None = None, only_read: Sequence[str] = (), others: Sequence[str] = ()
) -> Work:
    """What a page has its reader do, in order, after all files are written.

    Commands that begin like one of ``only_read`` are parsed and not run. ``others`` are programs that are not tried.
    """
    work: list[tuple[str, str | list[str]]] = []
    for language, code in blocks(page):
        if language == "python" and file_of(code) is None:
            work.append(("snippet", shorter_code(code, learner)))
        for words in commands(code) if language == "" else []:
            assert words[0] in (*KINDS, *others), words
            if words[0] in KINDS:
                read = shlex.join(words).startswith(tuple(only_read))
                work.append(("parse" if read else KINDS[words[0]], shorter(words, few)[1:]))
    return work


def do(work: Work, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Do it all in one fresh process, like a user's, with this source, wherever it is installed."""
    env = {**env, "PYTHONPATH": str(ROOT), "OPENTEAM_COMPILE": "quickest", "MPLBACKEND": "agg"}
    given = {"input": json.dumps(list(work)), "cwd": folder, "env": env, "timeout": MOST_SECONDS}
    ran = subprocess.run([sys.executable, "-c", RUNNER], capture_output=True, text=True, **given)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran


def cells(notebook: str) -> list[str]:
    """The code of a notebook. Its own kernel and its packages are not needed to run it."""
    content = json.loads((ROOT / notebook).read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def write_files(page: str, folder: Path) -> None:
    """The files of a page, shorter."""
    for name, content in files(page).items():
        (folder / name).write_text(shorter_code(content), encoding="utf-8")


def follow(page: str, folder: Path, env: Mapping[str, str], **how) -> subprocess.CompletedProcess[str]:
    """Do all that a page says, and see what it shows."""
    write_files(page, folder)
    ran = do(work_of(page, **how), folder, env)
    check_seen(page, ran.stdout + ran.stderr)
    return ran


def check_seen(page: str, output: str) -> None:
    """Whatever a page shows was printed."""
    unseen = [line for text in blocks_in(page, "text") for line in text.splitlines() if not seen(line, output)]
    assert not unseen, (unseen, output)


def seen(line: str, output: str) -> bool:
    """Whether a line was printed, with other numbers and spaces; dots stand for anything."""
    words = [re.escape(word) for word in re.sub(r"[\u2500-\u257f]+", " ", line).split()]
    pattern = r"\s+".join(re.sub(r"(\\-)?\d[\d,]*(\\\.\d+)?|nan", r"(?:[-\\d.,]+|nan)", word) for word in words)
    plain = re.sub(r"[\u2500-\u257f]+", " ", output)
    return any(re.search(pattern.replace("…", ".*"), one) for one in plain.splitlines())
