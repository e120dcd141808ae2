//! What haltline knows of each client, compared with recorded payloads, transcripts and test runs.

mod classify;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod foreign_bytes;
mod gemini;
mod golden;
mod headless;
mod install;
mod opencode;
mod plain;
mod qwen;
mod status_block;
mod test_results;
mod transcript;
mod turn_end;
