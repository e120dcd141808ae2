//! Ralph's settings: from the environment, then `.ralphrc`, then Ralph's defaults.

use std::collections::BTreeMap;
use std::path::Path;

use haltline_agents::ralph::assignments;
use haltline_core::phase::{Bounds, Thresholds};
use haltline_core::shorten;

use super::files::head_of;
use crate::environment::variable;
use crate::front::text;

/// The settings file in the current folder.
const FILE: &str = ".ralphrc";
/// Largest settings file that is read.
const FILE_BYTES_MAX: u64 = 256 * 1024;

pub struct Settings {
    /// When the circuit opens, and for how long.
    pub bounds: Bounds,
    /// True if an open circuit is closed when the loop starts.
    pub auto_reset: bool,
}

impl Settings {
    /// Reads the settings for a folder. An invalid value prints a warning, and the default is used.
    pub fn read(folder: &Path) -> Self {
        let source = SettingsSource::new(folder);
        let threshold = |name, default| source.number(name, default, 1);
        Self {
            bounds: Bounds {
                thresholds: Thresholds {
                    no_progress: threshold("CB_NO_PROGRESS_THRESHOLD", 3),
                    same_error: threshold("CB_SAME_ERROR_THRESHOLD", 5),
                },
                permission_denials: Some(threshold("CB_PERMISSION_DENIAL_THRESHOLD", 2)),
                neutral: None,
                cooldown_ms: Some(u64::from(source.number("CB_COOLDOWN_MINUTES", 30, 0)) * 60_000),
            },
            auto_reset: source.flag("CB_AUTO_RESET"),
        }
    }
}

struct SettingsSource {
    file: BTreeMap<String, String>,
}

impl SettingsSource {
    fn new(folder: &Path) -> Self {
        let content = head_of(&folder.join(FILE), FILE_BYTES_MAX).unwrap_or_default();
        let read = assignments(&content).filter(|(name, _)| name.starts_with("CB_"));
        // As in a shell, the last assignment wins.
        Self { file: read.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    /// The value and where it was set.
    fn value(&self, name: &str) -> Option<(String, &'static str)> {
        let set = variable(name).map(|value| (value, "the environment"));
        set.or_else(|| self.file.get(name).filter(|value| !value.is_empty()).map(|value| (value.clone(), FILE)))
    }

    fn number(&self, name: &str, default: u32, least: u32) -> u32 {
        let Some((value, origin)) = self.value(name) else { return default };
        match value.trim().parse() {
            Ok(number) if number >= least => number,
            Ok(_) | Err(_) => {
                let value = shorten(&value);
                text::warn(&format!(
                    "{name} {value} in {origin}: expected a whole number of at least {least}; haltline uses {default}"
                ));
                default
            }
        }
    }

    fn flag(&self, name: &str) -> bool {
        let Some((value, origin)) = self.value(name) else { return false };
        match value.trim() {
            "true" | "1" => true,
            "false" | "0" => false,
            _other => {
                let value = shorten(&value);
                text::warn(&format!("{name} {value} in {origin}: expected true or false; haltline uses false"));
                false
            }
        }
    }
}
