//! The tables, and the migrations from older files. Formats are promises: a migration is never edited, only added.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// One migration per version: the file's `user_version` says how many have run.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE project (
        id INTEGER PRIMARY KEY,
        identity BLOB NOT NULL,
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL,
        anchor_seq INTEGER NOT NULL,
        anchor_hash BLOB NOT NULL,
        oldest_seq INTEGER NOT NULL
    );
    CREATE TABLE circuit (
        project INTEGER NOT NULL,
        name TEXT NOT NULL,
        last INTEGER NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (project, name)
    ) WITHOUT ROWID;
    CREATE TABLE fact (
        project INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        previous INTEGER NOT NULL,
        name TEXT NOT NULL,
        body TEXT NOT NULL,
        texts TEXT,
        texts_digest BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (project, seq)
    ) WITHOUT ROWID;
    CREATE TABLE anchor (
        project INTEGER NOT NULL,
        name TEXT NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (project, name)
    ) WITHOUT ROWID;
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        project INTEGER NOT NULL,
        name TEXT NOT NULL,
        incident TEXT NOT NULL,
        attempts INTEGER NOT NULL
    );
",
    "
    CREATE TABLE incident (
        project INTEGER NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        seq INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        start TEXT NOT NULL,
        ending TEXT,
        texts TEXT,
        PRIMARY KEY (project, id)
    ) WITHOUT ROWID;
    CREATE INDEX incident_rank ON incident (project, rank, seq);
",
    // A row of a table without rowid goes onto overflow pages beyond a quarter of a page, and every commit of a hook
    // wrote three more pages for that. Nothing is renamed: a foreign trigger in the file would make that fail.
    "
    CREATE TEMPORARY TABLE circuit_2 AS SELECT project, name, last, state FROM circuit;
    DROP TABLE circuit;
    CREATE TABLE circuit (
        project INTEGER NOT NULL,
        name TEXT NOT NULL,
        last INTEGER NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (project, name)
    );
    INSERT INTO circuit (project, name, last, state) SELECT project, name, last, state FROM temp.circuit_2;
    DROP TABLE temp.circuit_2;
",
];

/// The newest schema this haltline writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Disables views and triggers: haltline has none, so a file that has some was not made by haltline.
pub(super) fn allow_tables_only(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    Ok(())
}

/// The schema version of a file; 0 for an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Runs the migrations that a file lacks, in one transaction.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    run_migrations(connection, MIGRATIONS)
}

fn run_migrations(connection: &Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Another process may have migrated the file after we checked and before we got the lock.
    let applied = usize::try_from(version(connection)?).unwrap_or_default();
    for migration in migrations.iter().skip(applied) {
        connection.execute_batch(migration)?;
    }
    if applied < migrations.len() {
        connection.pragma_update(None, "user_version", migrations.len() as i64)?;
    }
    connection.execute_batch("COMMIT")
}

/// Fails if SQLite finds damage in the file.
pub(super) fn check_readable(connection: &Connection) -> rusqlite::Result<()> {
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(rusqlite::Error::SqliteFailure(code, Some(verdict)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_gets_only_the_migrations_it_lacks() {
        let connection = Connection::open_in_memory().expect("memory");
        let first = ["CREATE TABLE one (value INTEGER)"];
        let second = [first[0], "CREATE TABLE two (value INTEGER)"];
        run_migrations(&connection, &first).expect("first");
        connection.execute("INSERT INTO one VALUES (7)", []).expect("insert");
        run_migrations(&connection, &second).expect("second");
        run_migrations(&connection, &second).expect("again changes nothing");
        assert_eq!(version(&connection).expect("version"), 2);
        let kept: i64 = connection.query_row("SELECT value FROM one", [], |row| row.get(0)).expect("row");
        assert_eq!(kept, 7);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let connection = Connection::open_in_memory().expect("memory");
        let broken = ["CREATE TABLE one (value INTEGER)", "CREATE TABLE one (value INTEGER)"];
        assert!(run_migrations(&connection, &broken).is_err());
        connection.execute_batch("ROLLBACK").expect("the transaction is still open");
        assert_eq!(version(&connection).expect("version"), 0);
    }
}
