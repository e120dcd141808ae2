//! Codex CLI. A model that it does not know gets the plain tools, `exec_command` and `spawn_agent`.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

/// Everything except the address of the model, which is known only when the model is served.
const CONFIG: &str = r#"model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
base_url = "http://127.0.0.1:9/v1"
request_max_retries = 1
stream_max_retries = 1
"#;

pub(super) const DRIVER: Driver = Driver {
    package: "@openai/codex",
    version: "0.166.0",
    program: "codex",
    files: &[(".codex/config.toml", CONFIG)],
    trust_arguments: &["--dangerously-bypass-hook-trust"],
    promises: Promises {
        sees_failures: Promise::By("from its transcript"),
        warns: Promise::Yes,
        denies: Promise::Yes,
        stops: Promise::By("by SIGINT"),
        sub_agents: Promise::Yes,
        cost: Promise::By("tokens"),
        fails_open: Promise::Yes,
    },
    arguments: |session, model| {
        let base = format!("model_providers.scripted.base_url=\"http://{model}/v1\"");
        // Features that would use the network at the end of a run are off; the client would wait for it otherwise.
        let mut arguments = vec!["exec".to_owned(), "--json".to_owned(), "--config".to_owned(), base];
        for feature in ["plugins", "apps", "remote_plugin", "api_key_model_discovery"] {
            arguments.extend(["--disable".to_owned(), feature.to_owned()]);
        }
        arguments.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
        arguments.extend(session.arguments.iter().cloned());
        arguments.push(session.prompt.clone());
        arguments
    },
    environment: |_model| vec![("SCRIPTED_KEY", "none".to_owned())],
};
