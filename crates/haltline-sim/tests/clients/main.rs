//! Real clients against a model that follows a script. `.ci/clients` installs them and runs this; `cargo test` does not.

mod client_attacks;
mod client_claude;
mod client_cline;
mod client_codex;
mod client_continuation;
mod client_copilot;
mod client_escapes;
mod client_facts;
mod client_faults;
mod client_gemini;
mod client_hook_sources;
mod client_install;
mod client_loop;
mod client_opencode;
mod client_packages;
mod client_plugins;
mod client_promises;
mod client_provenance;
mod client_qwen;
mod client_scope;
