//! What haltline knows of each client, compared with recorded payloads, transcripts and test runs.

mod classify;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod events_page;
mod foreign_bytes;
mod gemini;
mod golden;
mod headless;
mod install;
mod opencode;
mod plain;
mod plugins;
mod price;
mod process_markers;
mod qwen;
mod ralph;
mod self_test;
mod status_block;
mod test_results;
mod transcript;
mod turn_end;
