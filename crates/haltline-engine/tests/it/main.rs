//! The store, the mirror, snapshots and checkpoints, with real files and real git.

mod alone;
mod archive;
mod calendar;
mod changes;
mod checkpoint;
mod config;
mod constraint_file;
mod file;
mod git;
mod memory_protection;
mod mirror;
mod project;
mod replay;
mod report_file;
mod retention;
mod salvage;
mod scope_file;
mod scope_path;
mod secrets;
mod session_file;
mod spool;
mod store_contract;
mod support;
