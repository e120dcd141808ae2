//! OpenCode. It installs a package for its plugins at the start, from the network, unless that is there already.

use super::{Beside, Driver};

/// A service of its own, which speaks as Anthropic's does; where it is, is known only when it is served.
const CONFIG: &str = r#"{
  "model": "scripted/scripted",
  "small_model": "scripted/scripted",
  "autoupdate": false,
  "share": "disabled",
  "permission": { "*": "allow" },
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

pub(super) const DRIVER: Driver = Driver {
    package: "opencode-ai",
    version: "1.18.33",
    program: "opencode",
    files: &[(".config/opencode/opencode.json", CONFIG)],
    beside: Some(Beside { package: "@opencode-ai/plugin", folders: &["home/.config/opencode", "project/.opencode"] }),
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
