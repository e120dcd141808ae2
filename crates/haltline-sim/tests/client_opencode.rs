//! haltline with a real OpenCode and a model that misbehaves by script. `.ci/clients opencode` installs the client and
//! runs this.

use haltline_agents::Client;
use haltline_sim::clients::outcome::Outcome;
use haltline_sim::clients::place::Place;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::script::{Script, Step, shell};

fn place(config: &str) -> Place {
    let (runner, haltline) = (env!("CARGO_BIN_EXE_client-run"), env!("CARGO_BIN_EXE_haltline-now"));
    let place = Place::with_haltline(Client::OpenCode, runner, haltline, config);
    // It writes down that it ran: what was refused left no line.
    place.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
    place
}

fn one(command: &str) -> Step {
    Step::Call(shell(command))
}

fn play(place: &Place, script: &Script) -> Outcome {
    place.run(std::slice::from_ref(script), &[Stage::Clients(vec![Session::of(script)])])
}

#[test]
fn adhoc() {
    let place = place("");
    let outcome = play(&place, &Script::repeating("again", vec![one("./fail")], 8));
    for exchange in outcome.requests("again") {
        eprintln!("{} {:#?}", exchange.number, exchange.new_texts());
    }
    eprintln!("{:#?}", outcome.session());
    panic!("look");
}
