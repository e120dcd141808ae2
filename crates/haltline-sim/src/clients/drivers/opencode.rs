//! OpenCode. At its start it fetches a package from the network into every folder of settings, unless a lock file says
//! that it is there, and waits for it. haltline's plugin needs none.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

/// A service of its own, which speaks as Anthropic's does; where it is, is known only when it is served.
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

/// What makes the client believe that nothing is to be fetched.
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
    trusting: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::By("with the result"),
        refuses: Promise::Yes,
        stops: Promise::Yes,
        sub_agents: Promise::By("stopped alone"),
        cost: Promise::By("tokens and dollars"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let mut words = vec!["run".to_owned(), "--format".to_owned(), "json".to_owned()];
        words.extend(session.arguments.iter().cloned());
        words.push(session.prompt.clone());
        words
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
