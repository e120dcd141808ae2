//! OpenCode. At its start it downloads a package into every settings folder, and waits for it, unless a lock file says
//! that the package is there. haltline's plugin needs no package.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

/// A custom provider with Anthropic's API; its address is known only when the model is served.
const CONFIG: &str = r#"{
  "model": "scripted/scripted",
  "small_model": "scripted/scripted",
  "autoupdate": false,
  "share": "disabled",
  "permission": { "*": "allow" },
  "agent": { "general-purpose": { "mode": "subagent", "description": "does a part of the work" } },
  "enabled_providers": ["scripted"],
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/anthropic",
      "name": "scripted",
      "options": { "baseURL": "{env:SCRIPTED_URL}", "apiKey": "none" },
      "models": {
        "scripted": {
          "name": "scripted",
          "tool_call": true,
          "limit": { "context": 200000, "output": 8192 },
          "cost": { "input": 3, "output": 15 }
        }
      }
    }
  }
}
"#;

/// Makes the client believe that nothing has to be downloaded.
const LOCK: &str = r#"{ "packages": { "": { "dependencies": { "@opencode-ai/plugin": "*" } } } }
"#;

pub(super) const DRIVER: Driver = Driver {
    package: "opencode-ai",
    version: "1.18.33",
    program: "opencode",
    files: &[
        (".config/opencode/opencode.json", CONFIG),
        (".config/opencode/package-lock.json", LOCK),
        (".config/opencode/node_modules/.keep", ""),
    ],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::By("with the result"),
        denies: Promise::Yes,
        stops: Promise::Yes,
        sub_agents: Promise::By("stopped alone"),
        cost: Promise::By("tokens and dollars"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let mut arguments = vec!["run".to_owned(), "--format".to_owned(), "json".to_owned()];
        arguments.extend(session.arguments.iter().cloned());
        arguments.push(session.prompt.clone());
        arguments
    },
    environment: |model| {
        let off = [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_SHARE",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        ]
        .map(|name| (name, "1".to_owned()));
        off.into_iter().chain([("SCRIPTED_URL", format!("http://{model}/v1"))]).collect()
    },
};
