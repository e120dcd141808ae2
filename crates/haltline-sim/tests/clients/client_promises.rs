//! Every client plays the same scenarios, and the results must match its row of the README's table. `.ci/clients NAME`
//! installs a client and runs its part.

use haltline_agents::Client;
use haltline_sim::clients::promises::table;
use haltline_sim::clients::scenarios::ClientTest;

fn client_test(client: Client) -> ClientTest<'static> {
    ClientTest { client, runner: env!("CARGO_BIN_EXE_client-run"), haltline: env!("CARGO_BIN_EXE_haltline-now") }
}

/// The scenarios of one client, and the settings it has before an installation.
macro_rules! client {
    ($name:ident, $client:expr, $settings:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn a_failing_loop_ends() {
                client_test($client).a_failing_loop_ends();
            }

            #[test]
            fn a_circle_ends() {
                client_test($client).a_circle_ends();
            }

            #[test]
            fn good_work_is_untouched() {
                client_test($client).good_work_is_untouched();
            }

            #[test]
            fn a_sub_agent_in_a_loop_is_stopped() {
                client_test($client).a_sub_agent_in_a_loop_is_stopped();
            }

            #[test]
            fn a_budget_is_kept() {
                client_test($client).a_budget_is_kept();
            }

            #[test]
            fn a_broken_haltline_is_in_nobodys_way() {
                client_test($client).a_broken_haltline_is_in_nobodys_way();
            }

            #[test]
            fn an_installation_leaves_no_trace() {
                client_test($client).an_installation_leaves_no_trace(None);
                if let Some(settings) = $settings {
                    client_test($client).an_installation_leaves_no_trace(Some(settings));
                }
            }
        }
    };
}

/// Hooks as a person may have written them, with unusual spaces.
const GROUPED: Option<&str> = Some(
    "{\n    \"description\" : \"mine\",\n    \"hooks\": { \"Stop\": [ { \"hooks\": [\n        \
     { \"type\": \"command\", \"command\": \"true\" } ] } ] }\n}",
);

/// The same for a client whose handlers are not in groups.
const FLAT: Option<&str> = Some(
    "{ \"version\": 1,\n   \"hooks\": { \"Stop\": [\n        { \"type\": \"command\", \"bash\": \"true\" } ] }\n}",
);

client!(claude, Client::Claude, GROUPED);
client!(codex, Client::Codex, GROUPED);
client!(gemini, Client::Gemini, GROUPED);
client!(opencode, Client::OpenCode, None::<&str>);
client!(qwen, Client::Qwen, GROUPED);
client!(cline, Client::Cline, None::<&str>);
client!(copilot, Client::Copilot, FLAT);

#[test]
fn the_readme_matches_the_results() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(path).expect("the README");
    let (before, rest) = readme.split_once("<!-- clients -->\n").expect("where the table begins");
    let (written, after) = rest.split_once("<!-- end of clients -->").expect("where it ends");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let new = format!("{before}<!-- clients -->\n{}<!-- end of clients -->{after}", table());
        std::fs::write(path, new).expect("written");
    } else {
        assert_eq!(written, table(), "run with UPDATE_REFERENCE=1");
    }
}
