//! What haltline does in each client, as the README's table says it. The scenarios hold every client to its row, so the
//! table says what was seen with the version it names.

use haltline_agents::Client;

use super::drivers;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// A failed command is told from a good one.
    pub sees_failures: Promise,
    /// The model is warned before anything is refused.
    pub warns: Promise,
    /// A call is refused, and the model reads why.
    pub refuses: Promise,
    /// The agent's turn ends.
    pub stops: Promise,
    /// Calls of sub-agents are watched too.
    pub sub_agents: Promise,
    /// Budgets know what the model took.
    pub cost: Promise,
    /// The client goes on where haltline is missing or broken.
    pub fails_open: Promise,
}

/// What is promised of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It works.
    Yes,
    /// It works, and this is how.
    By(&'static str),
    /// It does not, and this is why.
    No(&'static str),
}

impl Promise {
    /// Whether it works.
    pub fn is_kept(self) -> bool {
        match self {
            Promise::Yes | Promise::By(_) => true,
            Promise::No(_) => false,
        }
    }

    fn cell(self) -> String {
        match self {
            Promise::Yes => "yes".to_owned(),
            Promise::By(how) => format!("yes, {how}"),
            Promise::No(why) => format!("no, {why}"),
        }
    }
}

/// The table of all clients, in Markdown.
pub fn table() -> String {
    let heads = ["client", "sees failures", "warns", "refuses", "stops", "sub-agents", "cost", "fails open"];
    let mut lines = vec![line(heads.map(str::to_owned)), line(heads.map(|_| "---".to_owned()))];
    for client in Client::ALL {
        let title = format!("[{}](docs/guides/{}.md)", client.title(), client.word());
        let (name, row) = match drivers::of(client) {
            drivers::Run::Installed(driver) => (format!("{title} {}", driver.version), &driver.promises),
            drivers::Run::Documented(promises) => (format!("{title}, untested"), promises),
        };
        let cells = [row.sees_failures, row.warns, row.refuses, row.stops, row.sub_agents, row.cost, row.fails_open];
        let [failures, warns, refuses, stops, sub_agents, cost, fails_open] = cells.map(Promise::cell);
        lines.push(line([name, failures, warns, refuses, stops, sub_agents, cost, fails_open]));
    }
    lines.concat()
}

fn line(cells: [String; 8]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
