"""Adds facts and circuits of other projects to a store and folds its log back: fill-store.py STATE_DB FACTS CIRCUITS.

Every row is a copy of one that haltline itself wrote, under other keys, so it looks as real rows do whatever the
schema is. Links are random: nothing on the measured path follows another project's chain.
"""

import os
import sqlite3
import sys
import time

PROJECTS = 100
ROWS_PER_INSERT = 10_000


def template(database, table, order):
    """The newest row of a table, as a dictionary."""
    rows = database.execute(f"SELECT * FROM {table} ORDER BY {order} DESC LIMIT 1")
    return dict(zip((column[0] for column in rows.description), rows.fetchone()))


def insert(database, table, row, changes, total):
    """Writes one copy of `row` per element of `changes`, with those columns changed."""
    columns = list(row)
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    batch, done = [], 0
    for change in changes:
        batch.append([change.get(column, row[column]) for column in columns])
        if len(batch) == ROWS_PER_INSERT or done + len(batch) == total:
            database.executemany(sql, batch)
            done += len(batch)
            batch = []
            if done == total or done % 200_000 == 0:
                print(f"bench: {table}: {done:,} of {total:,} rows", file=sys.stderr, flush=True)


def fill(database, facts_each, circuits_each):
    """Gives each of the other projects as many facts and circuits."""
    project = template(database, "project", "id")
    circuit = template(database, "circuit", "project")
    fact = template(database, "fact", "seq")
    # Spread over the whole range of keys, as hashes of paths are, and in order, so that pages fill up.
    keys = [(number + 1) * ((1 << 63) // (PROJECTS + 2)) for number in range(PROJECTS)]
    name = lambda number: f"{circuit['name']}-{number % circuits_each:06}"
    insert(database, "project", project, (
        {"id": key, "identity": f"/other/project-{key}/.git".encode(), "seq": facts_each, "hash": os.urandom(32)}
        for key in keys
    ), PROJECTS)
    insert(database, "circuit", circuit, (
        {"project": key, "name": name(number), "last": facts_each - number}
        for key in keys for number in range(circuits_each)
    ), PROJECTS * circuits_each)
    insert(database, "fact", fact, (
        {"project": key, "seq": seq, "previous": max(0, seq - circuits_each), "name": name(seq), "hash": os.urandom(32)}
        for key in keys for seq in range(1, facts_each + 1)
    ), PROJECTS * facts_each)


def main(path, facts, circuits):
    began = time.monotonic()
    database = sqlite3.connect(path, isolation_level=None)
    if facts and circuits:
        database.execute("BEGIN IMMEDIATE")
        fill(database, max(1, facts // PROJECTS), max(1, circuits // PROJECTS))
        database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    seconds, megabytes = time.monotonic() - began, os.path.getsize(path) / 1e6
    print(f"bench: {path}: {megabytes:,.1f} MB after {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
