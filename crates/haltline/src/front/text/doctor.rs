//! Text of `haltline doctor`.

use super::{count, wrap};
use crate::view::doctor::DoctorView;

/// `haltline doctor`.
pub fn doctor(view: &DoctorView) -> String {
    let mut out = format!("haltline {}   {}\n\n", view.version, view.binary);
    for check in &view.checks {
        let label = format!("{:<9}{:<13}", if check.is_fine { "ok" } else { "problem" }, check.name);
        out.push_str(&wrap(&label, &check.says));
        if let Some(fix) = &check.fix {
            out.push_str(&wrap(&format!("{:22}fix: ", ""), fix));
        }
    }
    for self_test in &view.self_tests {
        let client = self_test.client;
        out.push_str(&format!("\nOne command that fails again and again, told to the hooks of {client}:\n"));
        out.push_str("  round  verdict  expected  ms\n");
        for (index, round) in self_test.rounds.iter().enumerate() {
            let number = index + 1;
            out.push_str(&format!("  {number:<7}{:<9}{:<10}{:.1}\n", round.verdict, round.expected, round.ms));
        }
        let (calls, median, slowest) = (self_test.hook_calls, self_test.median_ms, self_test.slowest_ms);
        out.push_str(&format!(
            "  {}, median {median:.1} ms, slowest {slowest:.1} ms\n",
            count(calls as u64, "hook call")
        ));
    }
    let problems = view.checks.iter().filter(|check| !check.is_fine).count();
    let conclusion = match (view.is_installed, problems) {
        (false, _) => "haltline is not installed.".to_owned(),
        (true, 0) => "Everything is fine.".to_owned(),
        (true, problems) => format!("{} to fix.", count(problems as u64, "problem")),
    };
    out.push_str(&format!("\n{conclusion}\n"));
    out
}
