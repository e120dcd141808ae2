//! Requests of the protocol of `haltline serve --stdio` (docs/reference/protocol.md): a plain event with an id, or a
//! question.

use haltline_core::shorten;
use serde_json::value::RawValue;

use super::{Fields, PlainError, PlainEvent, event_from_fields};
use crate::json;

/// Longest id of a request, as JSON.
const ID_BYTES_MAX: usize = 256;

/// One request. Its fields are read when the method is known.
pub struct Request<'a> {
    fields: Fields<'a>,
}

impl<'a> Request<'a> {
    /// Splits a line into fields.
    pub fn read(line: &'a str) -> Result<Self, PlainError> {
        Ok(Self { fields: Fields::read("request", line)? })
    }

    /// The id as JSON, which the response repeats.
    pub fn id(&self) -> Result<&'a RawValue, PlainError> {
        let expected = "a string or a number that is repeated in the response";
        let id = self.fields.get("id").ok_or_else(|| PlainError::missing("id", expected))?;
        let is_plain = id.get().starts_with(['"', '-']) || id.get().starts_with(|first: char| first.is_ascii_digit());
        match is_plain && id.get().len() <= ID_BYTES_MAX {
            true => Ok(id),
            false => Err(PlainError::wrong("id", &shorten(id.get()), expected)),
        }
    }

    /// Fails if the request is of another version of the protocol.
    pub fn check_version(&self) -> Result<(), PlainError> {
        self.fields.check_version()
    }

    pub fn method(&self) -> Result<String, PlainError> {
        self.fields.required_text("method", "what to do, such as before")
    }

    pub fn text(&self, field: &str) -> Result<Option<String>, PlainError> {
        self.fields.text(field)
    }

    pub fn required_text(&self, field: &str, expected: &str) -> Result<String, PlainError> {
        self.fields.required_text(field, expected)
    }

    /// The words of a list of strings.
    pub fn required_texts(&self, field: &str) -> Result<Vec<String>, PlainError> {
        let expected = "a list of strings";
        let value = self.fields.get(field).ok_or_else(|| PlainError::missing(field, expected))?;
        json::list(value).ok_or_else(|| self.fields.wrong(field, value, expected))
    }

    /// The plain event of this type that the request reports. `call` names the call if the request does not.
    pub fn event<'b>(&'b self, kind: &str, call: &'b RawValue) -> Result<PlainEvent, PlainError> {
        let mut values: json::Members<'b> = self.fields.values.clone();
        if self.fields.get("call").is_none() {
            values.insert("call".into(), call);
        }
        event_from_fields(kind, &Fields { values, within: "" })
    }
}
