//! Cursor. No package of it runs here, so only its documentation is known.

use crate::clients::promises::{Promise, Promises};

pub(super) const PROMISES: Promises = Promises {
    sees_failures: Promise::Yes,
    warns: Promise::By("after the call"),
    denies: Promise::Yes,
    stops: Promise::No("it can only deny"),
    sub_agents: Promise::By("each as a separate session"),
    cost: Promise::No("not reported"),
    fails_open: Promise::Yes,
};
