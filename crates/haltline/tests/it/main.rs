//! The real binary, run as a client, a script and a person run it.

mod attempt;
mod attempt_hook;
mod backtest;
mod bad_input;
mod breaker_file;
mod claim;
mod hook_chats;
mod hook_clients;
mod hook_input;
mod hook_races;
mod hook_stream;
mod install;
#[cfg(target_os = "linux")]
mod interruption;
mod loop_commands;
mod memory;
mod notify;
mod operator;
mod processes;
mod ralph;
mod reference;
mod seed_loop;
mod support;
