//! GitHub Copilot CLI, with a custom model provider and without an account.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

pub(super) const DRIVER: Driver = Driver {
    package: "@github/copilot",
    version: "1.0.102",
    program: "copilot",
    files: &[],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::Yes,
        denies: Promise::Yes,
        stops: Promise::By("by SIGINT"),
        sub_agents: Promise::Yes,
        cost: Promise::By("tokens"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let arguments = ["--prompt", &session.prompt, "--allow-all-tools", "--allow-all-paths"];
        let own = session.arguments.iter().map(String::as_str);
        let more = ["--disable-client-telemetry", "--output-format", "json"];
        arguments.into_iter().chain(more).chain(own).map(str::to_owned).collect()
    },
    environment: |model| {
        vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("http://{model}")),
            ("COPILOT_PROVIDER_TYPE", "anthropic".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", "none".to_owned()),
            ("COPILOT_MODEL", "claude-sonnet-4.5".to_owned()),
            // It unpacks a quarter of a gigabyte at its first start: do that once for all homes.
            ("COPILOT_PKG_CACHE_HOME", super::folder().join("copilot-cache").display().to_string()),
        ]
    },
};
