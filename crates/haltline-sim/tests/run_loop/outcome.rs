//! What a run came to: its exit code, its one line, and its report, which must agree with one another.

use serde_json::Value;

#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub report: Value,
}

impl Outcome {
    /// The exit code and the one line, without what differs from run to run: the time it took and the incident's name.
    pub fn told(&self) -> (i32, String) {
        let line = self.err.lines().last().unwrap_or_default();
        let text = |name: &str| self.report[name].as_str().unwrap_or_else(|| panic!("no {name}: {self:#?}"));
        let (end, reason) = (text("end"), text("reason"));
        // Where haltline only observes, the course stands still once it is open, and the loop goes on.
        let last = self.rounds().last().and_then(|round| round["iteration"].as_u64());
        let rounds = match self.report["course"]["iteration"].as_u64().max(last) {
            Some(1) => " after 1 iteration".to_owned(),
            Some(rounds) => format!(" after {rounds} iterations"),
            None => String::new(),
        };
        let seconds = self.report["wall_seconds"].as_u64().expect("reported");
        let head = format!("haltline: {end}{rounds} in {seconds}s: ");
        let first = reason.lines().next().unwrap_or_default();
        assert_eq!(line, format!("{head}{first}"), "the line says what the report says: {self:#?}");
        let code = self.code.unwrap_or(-1);
        let known = match end {
            "completed" => code == 0,
            "budget" => code == 75,
            "tripped" => code == 77,
            "aborted" => code == 130,
            "command cannot run" => code == 1,
            "command failed" => code != 0,
            _ => false,
        };
        assert!(known, "the code says what the report says: {self:#?}");
        (code, without_incident(&format!("{end}{rounds}: {first}")))
    }

    /// Checks all three, and says what else is known where they are not as expected.
    #[track_caller]
    pub fn assert(&self, code: i32, line: &str) {
        assert_eq!(self.told(), (code, line.to_owned()), "{self:#?}");
    }

    /// How each iteration was judged.
    pub fn judged(&self) -> Vec<&str> {
        self.each("judged")
    }

    /// The error of each iteration, or why it says nothing; `-` where there is neither.
    pub fn said(&self) -> Vec<&str> {
        let rounds = self.rounds().iter();
        rounds.map(|round| round["error"].as_str().or(round["neutral"].as_str()).unwrap_or("-")).collect()
    }

    fn each(&self, name: &str) -> Vec<&str> {
        self.rounds().iter().map(|round| round[name].as_str().unwrap_or("-")).collect()
    }

    /// The iterations of the report.
    pub fn rounds(&self) -> &[Value] {
        self.report["iterations"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The signs of progress of each iteration: where, how many, and what they weigh.
    pub fn signs(&self) -> Vec<String> {
        let sign = |sign: &Value| {
            format!("{} {} weighs {}", sign["source"].as_str().unwrap_or("?"), sign["count"], sign["weight"])
        };
        let of = |round: &Value| {
            let signs: Vec<String> = round["signs"].as_array().into_iter().flatten().map(sign).collect();
            signs.join(", ")
        };
        self.rounds().iter().map(of).collect()
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
