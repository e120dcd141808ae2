"""Times `haltline backtest` on unpacked Claude Code files, beside ccusage and as they grow. Started by bench/backtest."""

import argparse
import os
import shutil
import statistics
import time

arguments = argparse.ArgumentParser()
for name in ["haltline", "ccusage", "work", "rounds"]:
    arguments.add_argument(f"--{name}", required=True)
options = arguments.parse_args()
work, rounds = options.work, int(options.rounds)
claude = f"{work}/claude"
environment = {
    "PATH": os.environ["PATH"],
    "HOME": work,
    "CLAUDE_CONFIG_DIR": claude,
    "HALTLINE_STATE_DIR": f"{work}/state",
    "HALTLINE_CONFIG": f"{work}/none.toml",
}


def run(command):
    """Wall time and processor time in seconds, and the most memory of one process in MB."""
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.chdir(work)
        os.execve(command[0], command, environment)
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - started
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def median(runs):
    return [statistics.median(one[place] for one in runs) for place in range(3)]


def files(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def backtest(path, *more):
    return [options.haltline, "backtest", path, "--json", *more]


recorded = files(claude)
corpus = sum(os.path.getsize(path) for path in recorded)
longest = max(len(line) for path in recorded for line in open(path, "rb"))
print(f"{len(recorded)} files, {corpus / 1e6:.1f} MB, longest line {longest / 1e6:.2f} MB, {os.cpu_count()} cores, {rounds} rounds\n")

programs = {"haltline backtest --json": backtest(f"{claude}/projects"),
            "haltline backtest --json --jobs 1": backtest(f"{claude}/projects", "--jobs", "1")}
if options.ccusage:
    # The program itself, not the script that starts it: Node.js takes a while to do nothing. The script makes it
    # executable when it runs first.
    run([options.ccusage, "session", "--offline"])
    native = [path for path in files(os.path.join(os.path.dirname(options.ccusage), "..", "@ccusage")) if os.access(path, os.X_OK)]
    programs["ccusage session --offline"] = [options.ccusage, "session", "--offline"]
    if native:
        programs["the same, without Node.js"] = [os.path.realpath(native[0]), "session", "--offline"]
for command in programs.values():
    run(command)
seen = {name: [] for name in programs}
for number in range(rounds):
    order = list(programs.items())
    # Whatever disturbs the machine disturbs all of them.
    for name, command in order[number % len(order):] + order[:number % len(order)]:
        seen[name].append(run(command))
base = median(seen["ccusage session --offline"]) if options.ccusage else None
print(f"{'medians':<36}{'wall s':>8}{'ratio':>7}{'cpu s':>8}{'ratio':>7}{'peak MB':>9}")
for name, runs in seen.items():
    wall, cpu, memory = median(runs)
    ratios = [f"{wall / base[0]:.2f}", f"{cpu / base[1]:.2f}"] if base else ["-", "-"]
    print(f"{name:<36}{wall:>8.3f}{ratios[0]:>7}{cpu:>8.3f}{ratios[1]:>7}{memory:>9.1f}")
print("goal: ratio of haltline backtest to ccusage session at most 3\n")

print(f"{'as it grows':<36}{'MB':>8}{'wall s':>8}{'cpu s':>8}{'s/GB cpu':>9}{'peak MB':>9}")


def grown(label, path):
    size = sum(os.path.getsize(one) for one in (files(path) if os.path.isdir(path) else [path]))
    wall, cpu, memory = median([run(backtest(path)) for _ in range(max(3, rounds // 2))])
    print(f"{label:<36}{size / 1e6:>8.1f}{wall:>8.3f}{cpu:>8.3f}{cpu / size * 1e9:>9.2f}{memory:>9.1f}")


for times in [1, 4, 16]:
    folder = f"{work}/times{times}"
    for copy in range(times):
        os.makedirs(f"{folder}/{copy}")
        for path in recorded:
            # A link to a file would be read once.
            shutil.copyfile(path, f"{folder}/{copy}/{os.path.basename(path)}")
    grown(f"all files, {times} x", folder)
largest = max(recorded, key=os.path.getsize)
content = open(largest, "rb").read()
for times in [1, 4, 16]:
    path = f"{work}/one{times}.jsonl"
    with open(path, "wb") as file:
        for copy in range(times):
            # Calls and responses have names; the same ones again would be taken for copies.
            file.write(content.replace(b'"toolu_', b'"toolu_%d_' % copy).replace(b'"msg_', b'"msg_%d_' % copy))
    grown(f"the largest file, {times} x its lines", path)
for megabytes in [1, 16, 48]:
    path = f"{work}/line{megabytes}.jsonl"
    with open(path, "wb") as file:
        file.write(content)
        text = b"x" * (megabytes * 1_000_000)
        file.write(b'{"type":"user","message":{"role":"user","content":"' + text + b'"},"sessionId":"long"}\n')
    grown(f"the same with a line of {megabytes} MB", path)
