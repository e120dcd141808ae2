//! The GitHub action: its script plays the step that runs the agent, with the real haltline.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Answer, HALTLINE, Site};

/// What the step leaves: its exit code, the outputs, and the summary of the job.
struct Step {
    answer: Answer,
    outputs: String,
    summary: String,
}

fn run_step(site: &Site, inputs: &[(&str, &str)]) -> Step {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/action/run");
    let (outputs, summary) = (site.home().join("outputs"), site.home().join("summary"));
    let mut command = Command::new("python3");
    site.configure(&mut command);
    let folder = Path::new(HALTLINE).parent().expect("in a folder").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command.arg(script).env("PATH", format!("{folder}:{path}")).envs(inputs.iter().copied());
    command.env("GITHUB_OUTPUT", &outputs).env("GITHUB_STEP_SUMMARY", &summary);
    let answer = Answer::new(&command.output().expect("python3 is installed"));
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    Step { answer, outputs: read(&outputs), summary: read(&summary) }
}

#[test]
fn an_agent_that_finishes_gives_its_cost() {
    let site = Site::new();
    let result = r#"{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.25,"session_id":"s","result":"x","usage":{"input_tokens":1,"output_tokens":1}}"#;
    site.file("result.json", result);
    let inputs =
        [("AGENT_COMMAND", "cat result.json"), ("IS_LOOP", "true"), ("MAX_ITERATIONS", "2"), ("DONE_IF", "true")];
    let step = run_step(&site, &inputs);
    assert_eq!(step.answer.code, Some(0), "{:?}", step.answer);
    assert!(step.outputs.contains("tripped=false\n") && step.outputs.contains("cost_usd=0.25\n"), "{}", step.outputs);
    assert!(step.summary.contains("Cost: $0.25"), "{}", step.summary);
}

#[test]
fn a_loop_without_progress_trips_and_the_summary_names_the_incident() {
    let site = Site::new();
    let inputs = [("AGENT_COMMAND", "echo no change"), ("IS_LOOP", "true"), ("MAX_ITERATIONS", "20")];
    let step = run_step(&site, &inputs);
    assert_eq!(step.answer.code, Some(77), "{:?}", step.answer);
    assert!(step.outputs.contains("tripped=true\n"), "{}", step.outputs);
    assert!(
        step.summary.contains("| incident | code | about |") && step.summary.contains("HL-PHASE"),
        "{}",
        step.summary
    );
}

#[test]
fn the_code_of_the_agent_is_the_code_of_the_step() {
    let site = Site::new();
    let step = run_step(&site, &[("AGENT_COMMAND", "exit 3"), ("MAX_TIME", "1h")]);
    assert_eq!(step.answer.code, Some(3), "{:?}", step.answer);
    assert!(step.outputs.contains("tripped=false\nend=command failed\ncost_usd=\n"), "{}", step.outputs);
}

#[test]
fn the_action_hands_every_input_to_the_script() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/action");
    let action = fs::read_to_string(folder.join("action.yml")).expect("there");
    let script = fs::read_to_string(folder.join("run")).expect("there");
    let names = ["AGENT_COMMAND", "IS_LOOP", "MAX_ITERATIONS", "MAX_TIME", "MAX_COST", "DONE_IF"];
    for name in names {
        assert!(action.contains(&format!("        {name}: ${{{{ inputs.")), "{name}");
        assert!(script.contains(&format!("\"{name}\"")), "{name}");
    }
}
