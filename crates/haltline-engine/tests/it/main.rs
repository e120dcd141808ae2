//! The store, the mirror, snapshots and checkpoints, with real files and real git.

mod archive;
mod changes;
mod checkpoint;
mod memory_protection;
mod mirror;
mod replay;
mod retention;
mod salvage;
mod scope_path;
mod store_contract;
mod support;
