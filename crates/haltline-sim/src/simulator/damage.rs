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
    Mirror(usize, MirrorDamage),
    Store(StoreDamage),
}

/// Damage to a project's state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MirrorDamage {
    /// The file is replaced by one of another machine.
    Foreign,
    /// The file is replaced by an older one of ours.
    Older,
    Truncated,
    Garbage,
    Deleted,
    /// The process was killed after it wrote the file and before it wrote the file's stamp.
    Unstamped,
}

/// Damage to the database while no process has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreDamage {
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
                let damages = [
                    MirrorDamage::Foreign,
                    MirrorDamage::Foreign,
                    MirrorDamage::Older,
                    MirrorDamage::Truncated,
                    MirrorDamage::Garbage,
                    MirrorDamage::Deleted,
                    MirrorDamage::Unstamped,
                ];
                Disturbance::Mirror(chance.index(PROJECTS), *chance.pick(&damages))
            }
            _rest => {
                let damages = [
                    StoreDamage::Deleted,
                    StoreDamage::DeletedWithLog,
                    StoreDamage::Emptied,
                    StoreDamage::Garbage,
                    StoreDamage::Torn,
                    StoreDamage::GarbagePage,
                    StoreDamage::TornLog,
                    StoreDamage::GarbageLog,
                    StoreDamage::DeletedLog,
                ];
                Disturbance::Store(*chance.pick(&damages))
            }
        }
    }

    /// True when the store may have lost something.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Disturbance::Store(_))
    }

    pub(super) fn strike(self, world: &mut World, watch: &mut Watch, chance: &mut Chance) {
        match self {
            Disturbance::WallClock { millis } => world.set_wall_clock(millis),
            Disturbance::Reboot => world.reboot(),
            Disturbance::Mirror(project, damage) => damage.strike(project, world, watch, chance),
            Disturbance::Store(damage) => {
                world.end_processes();
                damage.strike(world, chance);
            }
        }
    }
}

impl MirrorDamage {
    fn strike(self, project: usize, world: &World, watch: &mut Watch, chance: &mut Chance) {
        let path = world.mirror(project);
        match self {
            MirrorDamage::Foreign => {
                let (id, count) = state_file::write_foreign(world, project, chance);
                watch.add_reported((project, id.to_owned()), count);
            }
            MirrorDamage::Older => {
                if let Some(content) = watch.older_mirror(project, chance) {
                    state_file::write(&path, &content);
                }
            }
            MirrorDamage::Truncated => shorten(&path, chance),
            MirrorDamage::Garbage => {
                let text: String = chance.bytes(40).into_iter().map(char::from).collect();
                state_file::write(&path, &text);
            }
            MirrorDamage::Deleted => {
                fs::remove_file(&path).ok();
                watch.set_mirror_behind(project, true);
            }
            MirrorDamage::Unstamped => {
                // Of both projects: the stamps do not name their project.
                fs::remove_dir_all(world.state_folder().join("mirrors")).ok();
            }
        }
    }
}

impl StoreDamage {
    fn strike(self, world: &World, chance: &mut Chance) {
        let (database, log) = (world.database(), world.log());
        match self {
            StoreDamage::Deleted => drop(fs::remove_file(&database)),
            StoreDamage::DeletedWithLog => {
                for path in [&database, &log, &world.state_folder().join("state.db-shm")] {
                    fs::remove_file(path).ok();
                }
            }
            StoreDamage::Emptied => replace(&database, |content, _| content.clear(), chance),
            StoreDamage::Garbage => {
                replace(&database, |content, chance| *content = chance.bytes(content.len()), chance)
            }
            StoreDamage::Torn => replace(&database, tear, chance),
            StoreDamage::GarbagePage => replace(&database, |content, chance| garbage_page(content, chance), chance),
            StoreDamage::TornLog => shorten(&log, chance),
            StoreDamage::GarbageLog => replace(&log, |content, chance| garbage_page(content, chance), chance),
            StoreDamage::DeletedLog => drop(fs::remove_file(&log)),
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

/// Cuts the file between two pages, as a disk does; half a page of zeros could be read as an empty page.
fn tear(content: &mut Vec<u8>, chance: &mut Chance) {
    content.truncate(chance.index(content.len() / PAGE_BYTES + 1) * PAGE_BYTES);
}

/// Overwrites a whole page, with a first byte that no page begins with: single changed bytes inside a text would be an
/// edit, which `journal verify` shows and nothing undoes.
fn garbage_page(content: &mut [u8], chance: &mut Chance) {
    if content.len() < PAGE_BYTES {
        return;
    }
    let start = chance.index(content.len() / PAGE_BYTES) * PAGE_BYTES;
    let mut garbage = chance.bytes(PAGE_BYTES);
    garbage[0] = 0xff;
    content[start..start + PAGE_BYTES].copy_from_slice(&garbage);
}
