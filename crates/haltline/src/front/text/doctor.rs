//! Text of `haltline doctor`.

use super::{Page, count};
use crate::view::doctor::{DoctorView, SelfTestView};

/// `haltline doctor`.
pub fn doctor(view: &DoctorView) -> String {
    let mut page = Page::new(22);
    page.line(format_args!("haltline {}   {}\n", view.version, view.binary));
    for check in &view.checks {
        page.field(&format!("{:<9}{}", if check.is_fine { "ok" } else { "problem" }, check.name), &check.says);
        if let Some(fix) = &check.fix {
            page.wrapped(&format!("{:22}fix: ", ""), fix);
        }
    }
    view.self_tests.iter().for_each(|self_test| push_self_test(&mut page, self_test));
    let problems = view.checks.iter().filter(|check| !check.is_fine).count();
    page.blank();
    page.line(match (view.is_installed, problems) {
        (false, _) => "haltline is not installed.".to_owned(),
        (true, 0) => "Everything works.".to_owned(),
        (true, problems) => format!("{} to fix.", count(problems, "problem")),
    });
    page.finish()
}

fn push_self_test(page: &mut Page, self_test: &SelfTestView) {
    let client = self_test.client;
    page.line(format_args!("\nSelf-test: a loop, played through the hooks of {client}:"));
    page.line("  round  verdict  expected  ms");
    for (number, round) in (1..).zip(&self_test.rounds) {
        page.line(format_args!("  {number:<7}{:<9}{:<10}{:.1}", round.verdict, round.expected, round.ms));
    }
    let (calls, median, slowest) = (self_test.hook_calls, self_test.median_ms, self_test.slowest_ms);
    page.line(format_args!("  {}, median {median:.1} ms, slowest {slowest:.1} ms", count(calls, "hook call")));
}
