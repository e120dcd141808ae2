"""The parts of bench/campaign: each prints one row, and raises `Lost` where a promise of the store does not hold."""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RULE = """---
id: {id}
status: active
circuit_breaker:
  violation_threshold: {threshold}
  dedup_seconds: 0
---
# {id}
"""

# A process that takes longer hangs.
SECONDS_MAX = 20


class Lost(Exception):
    """A promise that did not hold."""


class World:
    """A project and a state folder in a temporary folder."""

    def __init__(self, root, program, rules, threshold):
        self.program = str(program)
        self.project = root / "project"
        self.state = root / "state"
        folder = self.project / "docs/constraints"
        folder.mkdir(parents=True)
        self.state.mkdir()
        for rule in rules:
            (folder / f"{rule}.md").write_text(RULE.format(id=rule, threshold=threshold))

    def environment(self):
        return {"HOME": str(self.state), "PATH": os.environ["PATH"], "HALTLINE_STATE_DIR": str(self.state)}

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [self.program, *arguments], cwd=self.project, env=self.environment(), stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *arguments, stdin=None):
        process = self.start(*arguments, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
        try:
            output, errors = process.communicate(stdin, timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Lost(f"hangs: {' '.join(arguments)}")
        if b"panicked" in errors or process.returncode == 101 or process.returncode < 0:
            raise Lost(f"panics: {' '.join(arguments)}: {errors.decode(errors='replace')[:500]}")
        return process.returncode, output.decode(errors="replace"), errors.decode(errors="replace")

    def violations(self, rule):
        exit_code, output, errors = self.run("constraint", "status", rule, "--json")
        if exit_code != 0:
            raise Lost(f"status of {rule}: {errors}")
        return json.loads(output)["totals"]["violations"]

    def verify(self):
        exit_code, output, errors = self.run("journal", "verify")
        if exit_code != 0:
            raise Lost(f"journal verify: {output}{errors}")


def kill(root, program, count, seed):
    """Kills writers at random instants: all that was acknowledged is counted, and nothing twice."""
    chance = random.Random(seed)
    rules = [f"r{number}" for number in range(8)]
    world = World(root, program, rules, 10_000)
    acknowledged, attempted = dict.fromkeys(rules, 0), dict.fromkeys(rules, 0)
    # Kills fall on the whole life of a process: half of them come within its usual time, some after its end.
    started = time.monotonic()
    for _ in range(10):
        world.run("constraint", "check", rules[0])
    usual = (time.monotonic() - started) / 10
    delays = [(chance.choice(rules), chance.uniform(0, 6 * usual)) for _ in range(count)]
    killed = 0

    def one(number, rule, delay):
        process = world.start("constraint", "record", rule, "--action", f"push {number}")
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        output, errors = process.communicate()
        if b"panicked" in errors:
            raise Lost(f"panics: {errors.decode(errors='replace')[:500]}")
        # What was printed was acknowledged, even if the kill came before the end.
        return rule, b"VIOLATION RECORDED" in output, process.returncode == -signal.SIGKILL

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(one, number, rule, delay) for number, (rule, delay) in enumerate(delays)]
        for number, job in enumerate(jobs):
            rule, is_acknowledged, is_killed = job.result()
            attempted[rule] += 1
            acknowledged[rule] += is_acknowledged
            killed += is_killed
            progress("kill", number + 1, count)
    for rule in rules:
        counted = world.violations(rule)
        if not acknowledged[rule] <= counted <= attempted[rule]:
            raise Lost(f"{rule}: {acknowledged[rule]} acknowledged, {counted} counted, {attempted[rule]} attempted")
    world.verify()
    return f"{killed:,} of {count:,} processes killed, {sum(acknowledged.values()):,} events acknowledged", "0 lost"


def damage_file(path, chance):
    content = bytearray(path.read_bytes())
    how = chance.choice(["flip", "zero", "cut", "empty", "delete", "grow", "noise"])
    place = chance.randrange(max(len(content), 1))
    length = min(chance.choice([1, 16, 512, 4096]), len(content) - place) if content else 0
    if how == "flip":
        for _ in range(chance.choice([1, 8, 64])):
            if content:
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif how == "zero":
        content[place:place + length] = bytes(length)
    elif how == "noise":
        content[place:place + length] = chance.randbytes(length)
    elif how == "cut":
        del content[place:]
    elif how == "empty":
        content.clear()
    elif how == "grow":
        content += chance.randbytes(chance.choice([1, 100, 5000]))
    else:
        path.unlink()
        return f"delete {path.name}"
    path.write_bytes(content)
    return f"{how} {path.name}"


def damage(root, program, count, seed):
    """Damages one or two files of a store with an OPEN circuit: it never reads as CLOSED, and nothing panics or hangs."""
    chance = random.Random(seed)
    place, whole = root / "place", root / "whole"
    place.mkdir()
    world = World(place, program, ["x"], 1)
    world.run("constraint", "record", "x", "--action", "push")
    # A project is known by its place: each damaged copy stands where the whole one stood.
    place.rename(whole)
    answers = {}
    for number in range(count):
        shutil.copytree(whole, place)
        files = sorted(path for path in world.state.rglob("*") if path.is_file())
        files.append(world.project / "docs/constraints/.circuit-state.json")
        done = [damage_file(path, chance) for path in chance.sample(files, chance.choice([1, 1, 2]))]
        try:
            for command in (("constraint", "check", "x"), ("status",), ("constraint", "check", "x")):
                exit_code, output, errors = world.run(*command)
                if command[0] == "constraint":
                    answers[exit_code] = answers.get(exit_code, 0) + 1
                    if exit_code == 0:
                        raise Lost(f"an OPEN circuit reads as CLOSED: {output}{errors}")
        except Lost as lost:
            raise Lost(f"store {number} of seed {seed} ({', '.join(done)}): {lost}")
        shutil.rmtree(place)
        progress("damage", number + 1, count)
    told = ", ".join(f"{answers[code]:,} × exit {code}" for code in sorted(answers))
    return f"{count:,} damaged stores, {told}", "0 closed"


def inputs(root, program, count, seed):
    """Feeds every reader with damaged inputs of fuzz/corpus, in one process."""
    corpus = Path(__file__).resolve().parent.parent / "fuzz/corpus"
    process = subprocess.run([str(program.parent / "campaign-inputs"), str(count), str(seed), str(corpus)], stdout=subprocess.PIPE, text=True)
    if process.returncode != 0:
        raise Lost(process.stdout)
    return process.stdout.strip().splitlines()[-1], "0 panics, 0 hangs"


def soak(root, program, count, seed):
    """64 writers stream events into one store: each is counted once."""
    writers = 64
    rules = [f"r{number}" for number in range(16)]
    world = World(root, program, rules, 10_000)
    each = max(count // writers // 100 * 100, 100)

    def one(writer):
        rule = rules[writer % len(rules)]
        acknowledged = 0
        for start in range(0, each, 100):
            lines = "".join(
                json.dumps({"v": 1, "type": "violation", "ts": "2026-01-01T00:00:00Z", "session": f"s{writer}", "constraint": rule,
                            "action": f"push {writer} {number}"}) + "\n" for number in range(start, start + 100))
            process = world.start("event", stdin=subprocess.PIPE)
            output, errors = process.communicate(lines.encode(), timeout=600)
            if b"panicked" in errors:
                raise Lost(f"panics: {errors.decode(errors='replace')[:500]}")
            acknowledged += output.count(b'"verdict"')
        return rule, acknowledged

    total = dict.fromkeys(rules, 0)
    with ThreadPoolExecutor(writers) as pool:
        for number, job in enumerate([pool.submit(one, writer) for writer in range(writers)]):
            rule, acknowledged = job.result()
            total[rule] += acknowledged
            progress("soak", number + 1, writers)
    for rule in rules:
        counted = world.violations(rule)
        if counted != total[rule] or total[rule] != each * writers // len(rules):
            raise Lost(f"{rule}: {total[rule]} acknowledged, {counted} counted, {each * writers // len(rules)} sent")
    world.verify()
    return f"{each * writers:,} events from {writers} writers at once", "0 lost, 0 twice"


PARTS = {"kill": (kill, 300, 10_000), "damage": (damage, 100, 2_000), "inputs": (inputs, 20_000, 10_000_000),
         "soak": (soak, 6_400, 1_000_000)}


def progress(part, done, count):
    if sys.stderr.isatty():
        print(f"\r{part} {done:,} of {count:,}", end="\n" if done == count else "", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/campaign")
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part; may be repeated")
    parser.add_argument("--long", action="store_true", help="run the numbers that bench/README.md records")
    parser.add_argument("--count", type=int, help="kills, stores, inputs or events")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = False
    for name in arguments.only or PARTS:
        part, short, long = PARTS[name]
        count = arguments.count or (long if arguments.long else short)
        started = time.monotonic()
        # What a killed process started may still write.
        with tempfile.TemporaryDirectory(prefix="haltline-campaign-", ignore_cleanup_errors=True) as root:
            try:
                did, result = part(Path(root), arguments.programs / "haltline", count, arguments.seed)
            except Lost as lost:
                failed, did, result = True, f"count {count:,}, seed {arguments.seed}", f"FAILED: {lost}"
        print(f"{name:8} {did}: {result} ({time.monotonic() - started:.0f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
