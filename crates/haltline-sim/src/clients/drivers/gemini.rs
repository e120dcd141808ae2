//! Gemini CLI. Its authentication can be set only in the file that also has its hooks.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

const SETTINGS: &str = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false }
}
"#;

pub(super) const DRIVER: Driver = Driver {
    package: "@google/gemini-cli",
    version: "0.61.0",
    program: "gemini",
    files: &[(".gemini/settings.json", SETTINGS)],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::By("after the call"),
        denies: Promise::Yes,
        stops: Promise::Yes,
        sub_agents: Promise::By("counted as the agent's"),
        cost: Promise::By("tokens"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let arguments = ["--prompt", &session.prompt, "--model", "gemini-2.5-flash", "--yolo", "--skip-trust"];
        let own = session.arguments.iter().map(String::as_str);
        arguments.into_iter().chain(["--output-format", "stream-json"]).chain(own).map(str::to_owned).collect()
    },
    environment: |model| {
        vec![
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", format!("http://{model}")),
            // One process instead of two.
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
            ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
        ]
    },
};
