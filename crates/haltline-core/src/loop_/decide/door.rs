//! Who tells: what comes through several configurations of one client counts once (L4).

use super::*;

impl Draft<'_> {
    /// The door that tells this.
    pub(super) fn door(&self) -> Option<Digest> {
        let stream = self.question.stream;
        let door = stream.door.as_deref()?;
        Some(match stream.naming {
            // One client may tell as itself and as another.
            Naming::Own | Naming::Begun => Digest::of(&[b"door", door.as_bytes(), stream.client.as_bytes()]),
            Naming::Counted => Digest::of(&[b"door", door.as_bytes()]),
        })
    }

    /// Whether an event without a name was told before, through another door.
    pub(super) fn is_told_before(&self) -> bool {
        match self.question.stream.naming {
            Naming::Own | Naming::Begun => {
                let (kind, door) = (self.question.what.nameless(), self.door());
                kind.zip(door).is_some_and(|(kind, door)| self.lane.is_told(kind, door, self.now))
            }
            // It is heard through one door, whatever it tells.
            Naming::Counted => false,
        }
    }

    /// Whether a client without names for its calls tells the same through another door. A session that begins is heard
    /// through the door that says so last: from then on it is the only one.
    pub(super) fn is_overheard(&self) -> bool {
        match self.question.stream.naming {
            Naming::Own | Naming::Begun => return false,
            Naming::Counted => {}
        }
        let is_beginning = matches!(self.question.what, Happening::SessionStart { .. });
        let (door, own) = (self.door(), self.lane.door);
        !is_beginning && door.is_some() && own.is_some() && door != own
    }
}
