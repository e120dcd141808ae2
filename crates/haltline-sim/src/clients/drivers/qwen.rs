//! Qwen Code.

use super::Driver;
use crate::clients::promises::{Promise, Promises};

pub(super) const DRIVER: Driver = Driver {
    package: "@qwen-code/qwen-code",
    version: "0.15.10",
    program: "qwen",
    files: &[],
    trust_arguments: &[],
    promises: Promises {
        sees_failures: Promise::Yes,
        warns: Promise::By("after the call"),
        denies: Promise::Yes,
        stops: Promise::By("at the next request"),
        sub_agents: Promise::By("counted as the agent's"),
        cost: Promise::By("tokens"),
        fails_open: Promise::Yes,
    },
    arguments: |session, _model| {
        let arguments = ["--auth-type", "openai", "--yolo", "--output-format", "stream-json"];
        let own = session.arguments.iter().map(String::as_str);
        arguments.into_iter().chain(own).chain([session.prompt.as_str()]).map(str::to_owned).collect()
    },
    environment: |model| {
        vec![
            ("OPENAI_API_KEY", "none".to_owned()),
            ("OPENAI_BASE_URL", format!("http://{model}/v1")),
            ("OPENAI_MODEL", "scripted".to_owned()),
            ("QWEN_CODE_NO_RELAUNCH", "true".to_owned()),
        ]
    },
};
