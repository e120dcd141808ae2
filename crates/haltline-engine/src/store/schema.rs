//! The tables, and how older files become newer ones. Formats are promises: a step is never edited, only added.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// One entry per version: the file's `user_version` says how many were taken.
const STEPS: &[&str] = &["
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
"];

/// The newest schema this haltline writes.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// haltline has neither views nor triggers; a file that has some was not made by haltline, and they do not run.
pub(super) fn allow_tables_only(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    Ok(())
}

/// The version of a file; 0 for an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Brings a file up to date, in one transaction.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    take_steps(connection, STEPS)
}

fn take_steps(connection: &Connection, steps: &[&str]) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Somebody else may have been faster between our look and our lock.
    let taken = usize::try_from(version(connection)?).unwrap_or_default();
    for step in steps.iter().skip(taken) {
        connection.execute_batch(step)?;
    }
    if taken < steps.len() {
        connection.pragma_update(None, "user_version", steps.len() as i64)?;
    }
    connection.execute_batch("COMMIT")
}

/// Whether everything can be read: what a damaged file fails at.
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
    fn an_older_file_takes_only_the_steps_it_lacks() {
        let connection = Connection::open_in_memory().expect("memory");
        let first = ["CREATE TABLE one (value INTEGER)"];
        let second = [first[0], "CREATE TABLE two (value INTEGER)"];
        take_steps(&connection, &first).expect("first");
        connection.execute("INSERT INTO one VALUES (7)", []).expect("insert");
        take_steps(&connection, &second).expect("second");
        take_steps(&connection, &second).expect("again changes nothing");
        assert_eq!(version(&connection).expect("version"), 2);
        let kept: i64 = connection.query_row("SELECT value FROM one", [], |row| row.get(0)).expect("row");
        assert_eq!(kept, 7);
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let connection = Connection::open_in_memory().expect("memory");
        let broken = ["CREATE TABLE one (value INTEGER)", "CREATE TABLE one (value INTEGER)"];
        assert!(take_steps(&connection, &broken).is_err());
        connection.execute_batch("ROLLBACK").expect("the transaction is still open");
        assert_eq!(version(&connection).expect("version"), 0);
    }
}
