//! What goes wrong around the processes: clocks, files, the disk.

use std::fs;
use std::path::Path;

use super::invariant::Watch;
use super::state_file;
use super::world::{PROJECTS, World};
use crate::chance::Chance;

const DAY_MS: i64 = 86_400_000;
const PAGE_BYTES: usize = 4096;

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    WallClock { millis: i64 },
    Reboot,
    Mirror(usize, MirrorHarm),
    Store(StoreHarm),
}

/// What happens to a project's state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MirrorHarm {
    /// Somebody else's file is put there.
    Foreign,
    /// An older one of ours is put there.
    Older,
    Truncated,
    Garbage,
    Deleted,
    /// Killed between the file and its stamp.
    Unstamped,
}

/// What happens to the database while no process has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreHarm {
    Deleted,
    DeletedWithLog,
    Emptied,
    Garbage,
    Torn,
    GarbagePage,
    TornLog,
    GarbageLog,
    DeletedLog,
}

impl Disturbance {
    pub(super) fn any(chance: &mut Chance) -> Self {
        match chance.below(100) {
            0..=19 => Disturbance::WallClock { millis: *chance.pick(&[-DAY_MS, DAY_MS, -3_600_000, 3_600_000]) },
            20..=29 => Disturbance::Reboot,
            30..=79 => {
                let harms = [
                    MirrorHarm::Foreign,
                    MirrorHarm::Foreign,
                    MirrorHarm::Older,
                    MirrorHarm::Truncated,
                    MirrorHarm::Garbage,
                    MirrorHarm::Deleted,
                    MirrorHarm::Unstamped,
                ];
                Disturbance::Mirror(chance.index(PROJECTS), *chance.pick(&harms))
            }
            _rest => {
                let harms = [
                    StoreHarm::Deleted,
                    StoreHarm::DeletedWithLog,
                    StoreHarm::Emptied,
                    StoreHarm::Garbage,
                    StoreHarm::Torn,
                    StoreHarm::GarbagePage,
                    StoreHarm::TornLog,
                    StoreHarm::GarbageLog,
                    StoreHarm::DeletedLog,
                ];
                Disturbance::Store(*chance.pick(&harms))
            }
        }
    }

    /// Whether the store lost something by it.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Disturbance::Store(_))
    }

    pub(super) fn strike(self, world: &mut World, watch: &mut Watch, chance: &mut Chance) {
        match self {
            Disturbance::WallClock { millis } => world.set_wall_clock(millis),
            Disturbance::Reboot => world.reboot(),
            Disturbance::Mirror(project, harm) => harm.strike(project, world, watch, chance),
            Disturbance::Store(harm) => {
                world.end_processes();
                harm.strike(world, chance);
            }
        }
    }
}

impl MirrorHarm {
    fn strike(self, project: usize, world: &World, watch: &mut Watch, chance: &mut Chance) {
        let path = world.mirror(project);
        match self {
            MirrorHarm::Foreign => {
                let (id, count) = state_file::write_foreign(world, project, chance);
                watch.tell((project, id.to_owned()), count);
            }
            MirrorHarm::Older => {
                if let Some(content) = watch.older_mirror(project, chance) {
                    state_file::write(&path, &content);
                }
            }
            MirrorHarm::Truncated => shorten(&path, chance),
            MirrorHarm::Garbage => {
                let text: String = chance.bytes(40).into_iter().map(char::from).collect();
                state_file::write(&path, &text);
            }
            MirrorHarm::Deleted => {
                fs::remove_file(&path).ok();
                watch.set_mirror_behind(project, true);
            }
            MirrorHarm::Unstamped => {
                // Of both projects: the stamps do not say whose they are.
                fs::remove_dir_all(world.state_folder().join("mirrors")).ok();
            }
        }
    }
}

impl StoreHarm {
    fn strike(self, world: &World, chance: &mut Chance) {
        let (database, log) = (world.database(), world.log());
        match self {
            StoreHarm::Deleted => drop(fs::remove_file(&database)),
            StoreHarm::DeletedWithLog => {
                for path in [&database, &log, &world.state_folder().join("state.db-shm")] {
                    fs::remove_file(path).ok();
                }
            }
            StoreHarm::Emptied => replace(&database, |content, _| content.clear(), chance),
            StoreHarm::Garbage => replace(&database, |content, chance| *content = chance.bytes(content.len()), chance),
            StoreHarm::Torn => replace(&database, tear, chance),
            StoreHarm::GarbagePage => replace(&database, |content, chance| garbage_page(content, chance), chance),
            StoreHarm::TornLog => shorten(&log, chance),
            StoreHarm::GarbageLog => replace(&log, |content, chance| garbage_page(content, chance), chance),
            StoreHarm::DeletedLog => drop(fs::remove_file(&log)),
        }
    }
}

fn replace(path: &Path, change: impl FnOnce(&mut Vec<u8>, &mut Chance), chance: &mut Chance) {
    let Ok(mut content) = fs::read(path) else { return };
    change(&mut content, chance);
    fs::write(path, content).expect("the file can be written");
}

fn shorten(path: &Path, chance: &mut Chance) {
    let cut = |content: &mut Vec<u8>, chance: &mut Chance| {
        if !content.is_empty() {
            content.truncate(chance.index(content.len()));
        }
    };
    replace(path, cut, chance);
}

/// Between two pages, as a disk does; half a page of zeros can read as an empty one.
fn tear(content: &mut Vec<u8>, chance: &mut Chance) {
    content.truncate(chance.index(content.len() / PAGE_BYTES + 1) * PAGE_BYTES);
}

/// A whole page, with a first byte that no page begins with: single bytes inside a text would be an edit, which
/// `journal verify` shows and nothing undoes.
fn garbage_page(content: &mut [u8], chance: &mut Chance) {
    if content.len() < PAGE_BYTES {
        return;
    }
    let start = chance.index(content.len() / PAGE_BYTES) * PAGE_BYTES;
    let mut garbage = chance.bytes(PAGE_BYTES);
    garbage[0] = 0xff;
    content[start..start + PAGE_BYTES].copy_from_slice(&garbage);
}
