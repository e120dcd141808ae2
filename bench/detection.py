"""The tables of `bench/detection`: rates of `haltline backtest --json` on recorded sessions and labelled histories.

Recorded sessions without labels were watched by a person, so whatever is said about them is a false alarm. Intervals are
95 %: Wilson's for shares, for saved calls that of a ratio of two sums.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys

PRESETS = ("default", "literal")
SUPERVISED = ("entire-cli", "agentv-codex")
LABELLED = "intercode"
CALLS_MIN = 4
Z = 1.959964


class Bad(Exception):
    """Something that cannot be measured; the message says what to do."""


# --- backtest -------------------------------------------------------------------------------------------------------

def backtest(options, path, *choice):
    """The session objects of one replay. Nothing of the user's own configuration is in force."""
    home = options.work / "home"
    home.mkdir(exist_ok=True)
    environment = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
    command = [options.bin / "haltline", "backtest", "--json", *choice, path]
    run = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines() or ["no message"]
        raise Bad(f"haltline backtest {' '.join(map(str, choice))} {path}: {lines[0]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def refusal(session):
    """(call, circuit, calls after it) of the first call that was refused or stopped, or None."""
    found = [trip for trip in session["trips"] if trip["verdict"] in ("deny", "stop")]
    found += [first for verdict in ("deny", "stop") if (first := session["first"].get(verdict))]
    if not found:
        return None
    first = min(found, key=lambda trip: trip["call"])
    return first["call"], first["circuit"], first.get("calls_after", session["calls"] - first["call"])


def warning(session):
    first = session["first"].get("warn")
    return (first["call"], first["circuit"]) if first else None


# --- intervals ------------------------------------------------------------------------------------------------------

def wilson(part, whole):
    """The share in percent and its interval."""
    if not whole:
        return None
    share = part / whole
    centre = (share + Z * Z / (2 * whole)) / (1 + Z * Z / whole)
    half = Z / (1 + Z * Z / whole) * math.sqrt(share * (1 - share) / whole + Z * Z / (4 * whole * whole))
    return 100 * share, 100 * max(0, centre - half), 100 * min(1, centre + half)


def ratio(pairs):
    """The sum of the first of each pair over the sum of the second, in percent, and its interval."""
    whole = sum(second for _, second in pairs)
    if not whole:
        return None
    share = sum(first for first, _ in pairs) / whole
    spread = math.sqrt(sum((first - share * second) ** 2 for first, second in pairs)) / whole
    return 100 * share, 100 * max(0, share - Z * spread), 100 * min(1, share + Z * spread)


def shown(interval):
    return "-" if interval is None else "{:.1f} % ({:.1f}–{:.1f})".format(*interval)


# --- tallies --------------------------------------------------------------------------------------------------------

def denials(session):
    """The refused calls of which the recording says what they brought."""
    return [trip for trip in session["trips"] if trip.get("brought")]


def is_regretted(trip):
    """The refused call would have brought a new result that is no failure."""
    return trip["brought"] == "new"


def supervised_rates(sessions):
    warned = sum(warning(session) is not None for session in sessions)
    refused = sum(refusal(session) is not None for session in sessions)
    return wilson(warned, len(sessions)), wilson(refused, len(sessions))


def labelled_rates(sessions, labels, calls_known):
    """Failed refused, solved refused, calls saved; runs of at least CALLS_MIN calls."""
    counts, pairs = collections.Counter(), []
    for session in sessions:
        label, calls = labels.get(session["session"]), session["calls"]
        if label is None or calls_known.get(session["session"], calls) < CALLS_MIN:
            continue
        found = refusal(session)
        counts[label] += 1
        counts[label, "refused"] += found is not None
        if label == "failed":
            pairs.append((found[2] if found else 0, calls))
    shares = [wilson(counts[label, "refused"], counts[label]) for label in ("failed", "solved")]
    return counts, [*shares, ratio(pairs)]


def regret_rates(sessions, labels):
    """Refused calls that brought something new; solved runs with such a refused call."""
    every = [trip for session in sessions for trip in denials(session)]
    solved = [session for session in sessions if labels.get(session["session"]) == "solved"]
    harmed = sum(any(map(is_regretted, denials(session))) for session in solved)
    return wilson(sum(map(is_regretted, every)), len(every)), wilson(harmed, len(solved))


def code_rates(sessions, labels, calls_known):
    """{code: counts}: runs whose first refusal it is, failed runs it refuses at all, its refused calls and the regretted ones."""
    rates = collections.defaultdict(collections.Counter)
    failed = 0
    for session in sessions:
        label, calls = labels.get(session["session"]), session["calls"]
        for trip in denials(session):
            rates[trip["code"]]["denials"] += 1
            rates[trip["code"]]["regretted"] += is_regretted(trip)
        if label is None or calls_known.get(session["session"], calls) < CALLS_MIN:
            continue
        failed += label == "failed"
        refused = [trip for trip in session["trips"] if trip["verdict"] in ("deny", "stop")]
        if refused:
            rates[min(refused, key=lambda trip: trip["call"])["code"]]["first", label] += 1
        if label == "failed":
            for code in {trip["code"] for trip in refused}:
                rates[code]["recalled"] += 1
    return failed, rates


def judged(session, history):
    """How one history was judged."""
    found = refusal(session)
    if history["label"] == "work":
        return "refused" if found else "warned" if warning(session) else "passed"
    if found is None:
        return "missed"
    first, last = history["refused"]
    return "early" if found[0] < first else "late" if found[0] > last else "in time"


def corpus_counts(sessions, histories):
    """{class: Counter of how its histories were judged}."""
    counts = collections.defaultdict(collections.Counter)
    for history in histories:
        counts[history["class"]][history["label"], judged(sessions[history["session"]], history)] += 1
    return counts


# --- what there is to measure ---------------------------------------------------------------------------------------

def read_corpus(options):
    """The labelled histories: the file with their events, and what they are."""
    events, labels = options.work / "histories.jsonl", options.work / "labels.jsonl"
    with open(events, "wb") as file:
        command = [options.bin / "bench-histories", options.bench / "corpus", "--labels", labels]
        if subprocess.run(command, stdout=file, check=False).returncode != 0:
            raise Bad("bench/corpus cannot be read; the line above says where")
    return events, [json.loads(line) for line in labels.read_text().splitlines()]


def read_data(options):
    """{name: folder} of the recorded sessions that are there; the others are named."""
    there = {}
    for name in (*SUPERVISED, LABELLED):
        folder = options.data / name
        if folder.is_dir():
            there[name] = folder
        else:
            print(f"skipped: {name}: no such folder in {options.data}; give the folder of recorded sessions as argument or in HALTLINE_DATA")
    return there


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


# --- tables ---------------------------------------------------------------------------------------------------------

def table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("|---" + "|---:" * (len(heads) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def print_supervised(options, there):
    names = [name for name in SUPERVISED if name in there]
    if not names:
        return
    rows = []
    for preset in PRESETS:
        every = []
        for name in names:
            sessions = backtest(options, there[name], "--preset", preset)
            every += sessions
            if preset == PRESETS[0]:
                note_unseen(name, there[name], sessions)
            rows.append([f"{name}, {preset}", len(sessions), *map(shown, supervised_rates(sessions))])
            if options.alarms and preset == "default":
                print_alarms(name, sessions, {})
        rows.append([f"both, {preset}", len(every), *map(shown, supervised_rates(every))])
    print("Supervised sessions: every warning and every refusal is a false alarm.\n")
    table(["sessions of", "sessions", "warned", "refused"], rows)


def print_labelled(options, there):
    if LABELLED not in there:
        return
    folder, rows = there[LABELLED], []
    labels, calls = read_json(folder / "labels.json"), read_json(folder / "calls.json")
    for preset in PRESETS:
        sessions = backtest(options, folder, "--preset", preset)
        if preset == PRESETS[0]:
            note_unseen(LABELLED, folder, sessions)
        counts, rates = labelled_rates(sessions, labels, calls)
        rows.append([f"{LABELLED}, {preset}", counts["failed"], shown(rates[0]), counts["solved"], shown(rates[1]), shown(rates[2]), *map(shown, regret_rates(sessions, labels))])
        if options.alarms and preset == "default":
            print_alarms(LABELLED, sessions, labels)
        if preset == PRESETS[0]:
            judged_by_default = sessions
    print(f"Benchmark runs of at least {CALLS_MIN} calls: failed ones are to be refused, solved ones are not.\n")
    table(["runs of", "failed", "failed refused", "solved", "solved refused", "failed runs' calls saved", "regret", "solved harmed"], rows)
    print_codes(judged_by_default, labels, calls)


def print_codes(sessions, labels, calls):
    failed, rates = code_rates(sessions, labels, calls)
    rows = []
    for code, found in sorted(rates.items()):
        first, hurt = found["first", "failed"], found["first", "solved"]
        rows.append([
            code, f"{first} / {hurt}", shown(wilson(first, first + hurt)), shown(wilson(found["recalled"], failed)),
            found["denials"], shown(wilson(found["regretted"], found["denials"])),
        ])
    print("By code, preset default. Precision: of the runs that the code refuses first, those that failed. Recall: of the failed runs, those")
    print("that the code refuses at some call. Regret: of its refused calls, those that brought a new result and no failure.\n")
    table(["code", "first in failed / solved", "precision", "recall", "refused calls", "regret"], rows)


def note_unseen(name, folder, sessions):
    """A session that is not replayed is not judged: that must not look like a good rate."""
    unseen = set(read_json(folder / "calls.json")) - {session["session"] for session in sessions}
    if unseen:
        print(f"unseen: {name}: {len(unseen)} sessions are not in the output of backtest, such as {min(unseen)}")


def print_alarms(name, sessions, labels):
    for session in sessions:
        found = refusal(session)
        if found and labels.get(session["session"]) != "failed":
            print(f"alarm: {name} {session['session']}: refused at call {found[0]} of {session['calls']} by {found[1]}")


def print_corpus(options, events, histories):
    rows = []
    for preset in PRESETS:
        sessions = {session["session"]: session for session in backtest(options, events, "--preset", preset)}
        counts = corpus_counts(sessions, histories)
        both = sum(counts.values(), collections.Counter())
        loops = sum(number for (label, _), number in both.items() if label == "loop")
        work = sum(number for (label, _), number in both.items() if label == "work")
        row = [both["loop", verdict] for verdict in ("in time", "early", "late", "missed")]
        rows.append([f"histories, {preset}", loops, *row, work, both["work", "refused"], both["work", "warned"]])
        if preset == "default":
            by_class, judgements = counts, sessions
    print("Labelled histories of bench/corpus.\n")
    table(["histories", "loops", "in time", "early", "late", "missed", "work", "refused", "warned"], rows)
    if options.classes:
        print_classes(by_class)
    if options.alarms:
        print_misjudged(judgements, histories)


def print_classes(counts):
    for label, verdicts in (("loop", ("in time", "early", "late", "missed")), ("work", ("passed", "warned", "refused"))):
        rows = []
        for name, found in sorted(counts.items()):
            if any(key[0] == label for key in found):
                rows.append([name, *(found[label, verdict] for verdict in verdicts)])
        table([f"class of {label}", *verdicts], rows)


def print_misjudged(sessions, histories):
    for history in histories:
        session = sessions[history["session"]]
        verdict = judged(session, history)
        if verdict in ("passed", "in time"):
            continue
        found = refusal(session) or warning(session)
        where = f" at call {found[0]} by {found[1]}" if found else ""
        window = "" if history["label"] == "work" else ", expected at {} to {}".format(*history["refused"])
        print(f"{verdict}: {history['session']} ({history['place']}){where}{window}: {history['why']}")
    print()


# --- the trade-off --------------------------------------------------------------------------------------------------

def patterns(options):
    """{pattern: its numbers} for every pattern with a limit, as the reference of the configuration says."""
    found, section = {}, None
    for line in (options.bench.parent / "docs/reference/config.toml").read_text().splitlines():
        if match := re.fullmatch(r"\[loop\.(\w+)\]", line):
            section = match[1]
        elif line.startswith("["):
            section = None
        elif section and (match := re.fullmatch(r"(warn|deny|threshold) = (\d+)", line)):
            found.setdefault(section, {})[match[1]] = int(match[2])
    return found


def moved(numbers, step):
    """A pattern's limits, stricter or looser by a step; a warning stays below a refusal."""
    lines = {key: max(1, number + step) for key, number in numbers.items()}
    if {"warn", "deny"} <= lines.keys():
        lines["deny"] = max(2, lines["deny"])
        lines["warn"] = min(lines["warn"], lines["deny"] - 1)
    return lines


def section(pattern, lines):
    return f"[loop.{pattern}]\n" + "".join(f"{key} = {number}\n" for key, number in lines.items())


def variants(options):
    """(name, configuration) of each point of the curve."""
    # Limits of rates and totals are no question of evidence.
    known = {name: numbers for name, numbers in patterns(options).items() if "deny" in numbers or name == "tool_failure"}
    yield "as shipped", ""
    for step in (-1, 1, 2):
        yield f"every limit {step:+}", "".join(section(name, moved(numbers, step)) for name, numbers in known.items())
    for name, numbers in known.items():
        yield f"{name} off", f"[loop.{name}]\nenabled = false\n"
        for step in (-1, 1):
            yield f"{name} {step:+}", section(name, moved(numbers, step))


def print_curve(options, there, events, histories):
    rows = []
    for name, text in variants(options):
        file = options.work / "variant.toml"
        file.write_text(text)
        try:
            rows.append([name, *curve_point(options, there, events, histories, file)])
        except Bad as error:
            print(f"skipped: {name}: {error}")
    print("The same with other limits, one change at a time.\n")
    heads = ["limits", "supervised warned", "supervised refused", "failed refused", "solved refused", "saved", "loops in time", "loops early", "work refused"]
    table(heads, rows)


def curve_point(options, there, events, histories, file):
    choice = ("--config", file)
    sessions = [session for name in SUPERVISED if name in there for session in backtest(options, there[name], *choice)]
    point = [*supervised_rates(sessions)]
    rates = [None] * 3
    if LABELLED in there:
        folder = there[LABELLED]
        labels, calls = read_json(folder / "labels.json"), read_json(folder / "calls.json")
        rates = labelled_rates(backtest(options, folder, *choice), labels, calls)[1]
    sessions = {session["session"]: session for session in backtest(options, events, *choice)}
    both = sum(corpus_counts(sessions, histories).values(), collections.Counter())
    loops = sum(number for (label, _), number in both.items() if label == "loop")
    return [*map(shown, point + rates), f"{both['loop', 'in time']} of {loops}", both["loop", "early"], both["work", "refused"]]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bin", "bench", "work", "data"):
        arguments.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("classes", "alarms", "curve"):
        arguments.add_argument(f"--{name}", action="store_true")
    options = arguments.parse_args()
    # Replays run in a folder of their own.
    for name in ("bin", "bench", "work", "data"):
        setattr(options, name, getattr(options, name).absolute())
    events, histories = read_corpus(options)
    there = read_data(options)
    print_supervised(options, there)
    print_labelled(options, there)
    print_corpus(options, events, histories)
    if options.curve:
        print_curve(options, there, events, histories)


if __name__ == "__main__":
    try:
        main()
    except Bad as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(1)
