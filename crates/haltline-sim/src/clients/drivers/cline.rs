//! Cline. The address of its model can be set only in a file.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

/// The port is that of `scripted_model::PORT`.
const PROVIDERS: &str = r#"{
  "version": 1,
  "lastUsedProvider": "openai-compatible",
  "modes": {},
  "providers": {
    "openai-compatible": {
      "settings": {
        "provider": "openai-compatible",
        "apiKey": "none",
        "model": "scripted",
        "baseUrl": "http://127.0.0.1:8399/v1"
      },
      "updatedAt": "2026-02-01T10:00:00.000Z",
      "tokenSource": "manual"
    }
  }
}
"#;

pub(super) const DRIVER: Driver = Driver {
    package: "cline",
    version: "3.0.65",
    program: "cline",
    files: &[(".cline/data/settings/providers.json", PROVIDERS)],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::Yes,
        denies: Promise::By("by emptying the arguments"),
        stops: Promise::Yes,
        sub_agents: Promise::Yes,
        cost: Promise::No("hooks get no token counts"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let arguments = ["--json", "--auto-approve", "true", "--provider", "openai-compatible"];
        let own = session.arguments.iter().map(String::as_str);
        arguments.into_iter().chain(own).chain([session.prompt.as_str()]).map(str::to_owned).collect()
    },
    environment: |_model| {
        vec![
            ("CLINE_TELEMETRY_DISABLED", "1".to_owned()),
            ("DO_NOT_TRACK", "1".to_owned()),
            ("CLINE_NO_AUTO_UPDATE", "1".to_owned()),
        ]
    },
};
