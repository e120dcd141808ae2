//! Cursor. There is no package of it that runs here: what its documentation says is all that is known.

use crate::clients::promises::{Promise, Promises};

pub(super) const PROMISES: Promises = Promises {
    sees_failures: Promise::Yes,
    warns: Promise::By("after the call"),
    refuses: Promise::Yes,
    stops: Promise::No("only refused"),
    sub_agents: Promise::By("each as a session of its own"),
    cost: Promise::No("told nowhere"),
    fails_open: Promise::Yes,
};
