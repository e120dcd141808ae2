//! What haltline does in each client, as in the README's table. The scenarios hold every client to its row, so the
//! table says what was observed with the version it names.

use haltline_agents::Client;

use super::drivers;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// haltline distinguishes a failed command from a successful one.
    pub sees_failures: Promise,
    /// haltline warns the model before it denies anything.
    pub warns: Promise,
    /// haltline denies a call, and the model reads why.
    pub denies: Promise,
    /// haltline ends the agent's turn.
    pub stops: Promise,
    /// haltline also sees the calls of sub-agents.
    pub sub_agents: Promise,
    /// Budgets know what the model used.
    pub cost: Promise,
    /// The client continues when haltline is missing or broken.
    pub fails_open: Promise,
}

/// Whether one thing works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    Yes,
    /// It works in this way.
    By(&'static str),
    /// It does not work, for this reason.
    No(&'static str),
}

impl Promise {
    /// True when it works.
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
    let heads = ["client", "sees failures", "warns", "denies", "stops", "sub-agents", "cost", "fails open"];
    let mut lines = vec![line(heads.map(str::to_owned)), line(heads.map(|_| "---".to_owned()))];
    for client in Client::ALL {
        let title = format!("[{}](docs/guides/{}.md)", client.title(), client.cli_name());
        let (name, promises) = match drivers::run_of(client) {
            drivers::DriverRun::Installed(driver) => (format!("{title} {}", driver.version), &driver.promises),
            drivers::DriverRun::Documented(promises) => (format!("{title}, untested"), promises),
        };
        let cells = [
            promises.sees_failures,
            promises.warns,
            promises.denies,
            promises.stops,
            promises.sub_agents,
            promises.cost,
            promises.fails_open,
        ];
        let [failures, warns, denies, stops, sub_agents, cost, fails_open] = cells.map(Promise::cell);
        lines.push(line([name, failures, warns, denies, stops, sub_agents, cost, fails_open]));
    }
    lines.concat()
}

fn line(cells: [String; 8]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
