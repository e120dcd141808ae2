//! Prepares the texts of an event for the store: secrets are masked and lengths are capped (E10).
//!
//! Every text that a decision may write into a fact passes through here. What a test runner printed and what claims say
//! stays verbatim; it is masked where it is shown.

use std::borrow::Cow;

use haltline_core::Event;
use haltline_core::attempt::{AttemptEvent, Printed};

use crate::redact::{mask, storable};

/// The event with its texts in the form that may be stored (E10).
pub(crate) fn storable_event(mut event: Event) -> Event {
    for text in event.texts_mut() {
        *text = storable(text);
    }
    if let Event::Attempt { event: AttemptEvent::Attempt(attempt), .. } = &mut event
        && let Some(error) = &mut attempt.error
    {
        // The caller need not know how much is kept, or what looks like a secret.
        let from = error.text.ceil_char_boundary(error.text.len().saturating_sub(Printed::BYTES_MAX));
        error.text.drain(..from);
        error.has_secrets = matches!(mask(&error.text), Cow::Owned(_));
    }
    event
}
