//! The result of a run: its exit code, its last line, and its report, which must agree.

use serde_json::Value;

#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub report: Value,
}

impl Outcome {
    /// The exit code and the last line, without the parts that differ between runs: the duration and the incident id.
    pub fn exit_and_line(&self) -> (i32, String) {
        let line = self.err.lines().last().unwrap_or_default();
        let text = |name: &str| self.report[name].as_str().unwrap_or_else(|| panic!("no {name}: {self:#?}"));
        let (end, reason) = (text("end"), text("reason"));
        // In observe mode the phase run stops counting once it is OPEN, and the loop continues.
        let last = self.iterations().last().and_then(|iteration| iteration["iteration"].as_u64());
        let iterations = match self.report["course"]["iteration"].as_u64().max(last) {
            Some(1) => " after 1 iteration".to_owned(),
            Some(iterations) => format!(" after {iterations} iterations"),
            None => String::new(),
        };
        let seconds = self.report["wall_seconds"].as_u64().expect("reported");
        let shown = if matches!(end, "tripped" | "budget") { "stopped" } else { end };
        let head = format!("haltline: {shown}{iterations} ({seconds} s): ");
        let first = reason.lines().next().unwrap_or_default();
        assert_eq!(line, format!("{head}{first}"), "the line says what the report says: {self:#?}");
        let code = self.code.unwrap_or(-1);
        let known = match end {
            "completed" => code == 0,
            "budget" => code == 75,
            "tripped" => code == 77,
            "aborted" => code == 130,
            "command cannot run" => matches!(code, 1 | 126 | 127),
            "command failed" => code != 0,
            _ => false,
        };
        assert!(known, "the code says what the report says: {self:#?}");
        (code, without_incident(&format!("{end}{iterations}: {first}")))
    }

    /// Fails unless exit code, line and report are as expected, and then prints the whole outcome.
    #[track_caller]
    pub fn assert(&self, code: i32, line: &str) {
        assert_eq!(self.exit_and_line(), (code, line.to_owned()), "{self:#?}");
    }

    /// How each iteration was judged.
    pub fn judged(&self) -> Vec<&str> {
        self.each("judged")
    }

    /// The error of each iteration, or why it is neutral; `-` where there is neither.
    pub fn reasons(&self) -> Vec<&str> {
        let iterations = self.iterations().iter();
        iterations
            .map(|iteration| iteration["error"].as_str().or(iteration["neutral"].as_str()).unwrap_or("-"))
            .collect()
    }

    fn each(&self, name: &str) -> Vec<&str> {
        self.iterations().iter().map(|iteration| iteration[name].as_str().unwrap_or("-")).collect()
    }

    /// The iterations of the report.
    pub fn iterations(&self) -> &[Value] {
        self.report["iterations"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The signs of progress of each iteration: source, count and weight.
    pub fn signs(&self) -> Vec<String> {
        let sign = |sign: &Value| {
            format!("{} {} weighs {}", sign["source"].as_str().unwrap_or("?"), sign["count"], sign["weight"])
        };
        let of = |iteration: &Value| {
            let signs: Vec<String> = iteration["signs"].as_array().into_iter().flatten().map(sign).collect();
            signs.join(", ")
        };
        self.iterations().iter().map(of).collect()
    }

    /// The lines haltline wrote about the run before its last one.
    pub fn lines(&self) -> Vec<&str> {
        self.err.lines().filter_map(|line| line.strip_prefix("haltline: ")).collect()
    }
}

fn without_incident(line: &str) -> String {
    match line.split_once("(haltline why ") {
        Some((before, rest)) => {
            let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
            format!("{before}(haltline why …{rest}")
        }
        None => line.to_owned(),
    }
}
