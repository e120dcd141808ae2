//! The real binary, run as a client, a script and a person run it.

mod attempt;
mod attempt_hook;
mod backtest;
mod bad_input;
mod border_clock;
mod border_files;
#[cfg(target_os = "linux")]
mod border_operator;
mod border_project;
mod breaker_file;
mod budget;
mod claim;
mod command_line;
mod config_change;
mod demo;
mod foreign_locks;
mod github_action;
mod guards;
mod hook_chats;
mod hook_clients;
mod hook_input;
mod hook_program;
mod hook_races;
mod hook_stream;
mod in_client;
mod incidents;
mod install;
mod install_more;
#[cfg(target_os = "linux")]
mod interruption;
mod json_reference;
mod loop_commands;
mod mcp;
mod memory;
mod notify;
mod operator;
mod operator_commands;
mod pause;
mod processes;
mod protocol;
#[cfg(target_os = "linux")]
mod provenance;
mod ralph;
mod readme;
mod reference;
mod remedies;
mod screen;
mod seed_loop;
mod settings_watch;
mod support;
#[cfg(target_os = "linux")]
mod switched_off;
