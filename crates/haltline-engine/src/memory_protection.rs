//! Keeps the folder in which an agent remembers things small (L9).

/// What that folder may hold; seed 002's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// A telemetry file with more lines is rotated.
    pub telemetry_lines_max: u32,
    /// A larger one too.
    pub telemetry_kb_max: u32,
    /// And an older one.
    pub telemetry_age_days_max: u32,
    /// Rotated files kept of each telemetry file.
    pub rotations_kept: u32,
    /// Session states that stay.
    pub sessions_max: u32,
    /// An older one is archived.
    pub session_age_days_max: u32,
    /// Entries of a session's evidence that stay.
    pub evidence_entries_max: u32,
    /// Entries of a session's tool history that stay.
    pub tool_history_entries_max: u32,
    /// The whole folder, in bytes.
    pub total_bytes_max: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            telemetry_lines_max: 1000,
            telemetry_kb_max: 50,
            telemetry_age_days_max: 7,
            rotations_kept: 5,
            sessions_max: 10,
            session_age_days_max: 7,
            evidence_entries_max: 100,
            tool_history_entries_max: 50,
            total_bytes_max: 5 * 1024 * 1024,
        }
    }
}
