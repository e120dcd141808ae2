//! Programs that a shell did not find (L6). Until something is installed or the search path changes, another call of one
//! cannot succeed, whatever else is edited meanwhile.

use serde::{Deserialize, Serialize};

use crate::identity::{Action, Digest};

/// How many programs are kept.
const PROGRAMS_MAX: usize = 8;

/// The programs that were not found, each with the number of turns and the last of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MissingPrograms {
    programs: Vec<(Digest, u32, u64)>,
}

impl MissingPrograms {
    /// A call failed because the program is not there. The calls of one turn count once.
    pub(super) fn add(&mut self, program: Digest, turn: u64) {
        match self.programs.iter_mut().find(|known| known.0 == program) {
            Some((_, count, last)) if *last < turn => (*count, *last) = (count.saturating_add(1), turn),
            Some(_) => {}
            None => {
                if self.programs.len() >= PROGRAMS_MAX {
                    self.programs.remove(0);
                }
                self.programs.push((program, 1, turn));
            }
        }
    }

    /// The key and the count of the missing program that a call would run by its bare name.
    pub(super) fn called_by(&self, action: &Action) -> Option<(Digest, u32)> {
        if self.programs.is_empty() {
            return None;
        }
        let called = action.script.as_deref()?.missing_candidates();
        let count = |program: &Digest| self.programs.iter().find(|known| known.0 == *program).map(|known| known.1);
        called.into_iter().filter_map(|program| Some((key(program), count(&program)?))).max_by_key(|(_, count)| *count)
    }

    /// Forgets what the circuit with this key counted.
    pub(super) fn forget(&mut self, closed: Digest) {
        self.programs.retain(|known| key(known.0) != closed);
    }

    pub(super) fn clear(&mut self) {
        self.programs.clear();
    }
}

fn key(program: Digest) -> Digest {
    Digest::from_parts(&[b"missing", &program.0.to_be_bytes()])
}
