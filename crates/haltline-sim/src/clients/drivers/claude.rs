//! Claude Code.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

pub(super) const DRIVER: Driver = Driver {
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    program: "claude",
    files: &[],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::Yes,
        denies: Promise::Yes,
        stops: Promise::Yes,
        sub_agents: Promise::Yes,
        cost: Promise::Yes,
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let arguments = ["--print", &session.prompt, "--model", "claude-sonnet-4-5"];
        let more = ["--allowedTools", "Bash,Read,Edit,Write,Agent", "--output-format", "stream-json", "--verbose"];
        let own = session.arguments.iter().map(String::as_str);
        arguments.into_iter().chain(more).chain(own).map(str::to_owned).collect()
    },
    environment: |model| {
        vec![
            ("ANTHROPIC_BASE_URL", format!("http://{model}")),
            ("ANTHROPIC_API_KEY", "sk-ant-none".to_owned()),
            ("DISABLE_TELEMETRY", "1".to_owned()),
            ("DISABLE_ERROR_REPORTING", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ]
    },
};
