"""Times checkpoints of a tree of many files beside `git stash create`, in turn. See README.md."""

import argparse
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

LIMIT = 3.0

options = argparse.ArgumentParser(prog="bench/checkpoint")
options.add_argument("--program", required=True, help=argparse.SUPPRESS)
options.add_argument("--work", required=True, help=argparse.SUPPRESS)
options.add_argument("--rounds", type=int, default=15)
options.add_argument("--files", type=int, default=10_000)
options.add_argument("--changed", type=int, default=10)
chosen = options.parse_args()

tree = pathlib.Path(chosen.work) / "tree"
tree.mkdir()
chance = random.Random(1)
environment = {
    "PATH": os.environ["PATH"], "HOME": chosen.work, "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Bench", "GIT_AUTHOR_EMAIL": "bench@example.org",
    "GIT_COMMITTER_NAME": "Bench", "GIT_COMMITTER_EMAIL": "bench@example.org",
}


def run(*command):
    started = time.perf_counter()
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter() - started) * 1000, done.stdout


def git(*arguments):
    return run("git", *arguments)


def haltline(act):
    return run(chosen.program, act, str(tree))


def text():
    return "".join(chance.choice("abcdefgh \n") for _ in range(chance.randint(200, 6000)))


paths = [tree / f"folder{number % 50}" / f"part{number // 50 % 10}" / f"file{number}.txt" for number in range(chosen.files)]
for path in paths:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text())
git("init", "-q")
git("config", "gc.auto", "0")
git("add", "-A")
git("commit", "-q", "-m", "first")
git("gc", "-q")
# Files as young as the index are hashed again by git and by us; those of a real tree are older.
time.sleep(4)
git("update-index", "-q", "--refresh")
time.sleep(4)


def forget():
    shutil.rmtree(tree / ".git" / "haltline", ignore_errors=True)
    shutil.rmtree(tree / ".git" / "refs" / "haltline", ignore_errors=True)


STASH = "git stash create"
times = {}


def timed(label, measured):
    times.setdefault(label, []).append(measured[0])


for _round in range(chosen.rounds):
    for path in chance.sample(paths, chosen.changed):
        path.write_text(text())
    (tree / "untracked").write_text(text())
    timed(STASH, git("stash", "create"))
    forget()
    timed("first checkpoint", haltline("take"))
    git("config", "filter.any.clean", "cat")
    forget()
    timed("first checkpoint where a filter is configured: every file is hashed", haltline("take"))
    git("config", "--unset", "filter.any.clean")
    timed("next checkpoint, nothing changed", haltline("take"))
    for path in chance.sample(paths, chosen.changed):
        path.write_text(text())
    timed(f"what changed: {chosen.changed} files", haltline("changed"))
    timed(f"next checkpoint, {chosen.changed} files changed", haltline("take"))
    for path in chance.sample(paths, chosen.changed):
        path.write_text(text())
    timed(f"rollback of {chosen.changed} files", haltline("back"))
    timed(STASH, git("stash", "create"))
    git("checkout", "-q", "--", ".")

unit = statistics.median(times[STASH])
judged = ["first checkpoint", "next checkpoint, nothing changed", f"next checkpoint, {chosen.changed} files changed"]
print(f"{chosen.files:,} files, {chosen.rounds} rounds, load {os.getloadavg()[0]:.1f}\n")
print("| command | lowest ms | median ms | × stash, median | target |")
print("|---|---:|---:|---:|---:|")
for label, measured in times.items():
    median = statistics.median(measured)
    target = f"< {LIMIT:.0f} ×" if label in judged else ""
    print(f"| {label} | {min(measured):.0f} | {median:.0f} | {median / unit:.2f} | {target} |")
late = [label for label in judged if statistics.median(times[label]) >= LIMIT * unit]
if late:
    sys.exit(f"bench/checkpoint: too slow: {', '.join(late)}")
