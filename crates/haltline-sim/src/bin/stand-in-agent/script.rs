//! Parses a script: sections for runs, blocks for verbs.

use std::collections::BTreeMap;

/// The lines of a script, by section.
#[derive(Clone, Debug, Default)]
pub struct Script {
    always: Vec<String>,
    runs: Vec<(u64, u64, Vec<String>)>,
    blocks: BTreeMap<String, Vec<String>>,
}

impl Script {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        let mut section = Section::Always;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(head) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = Section::parse(head)?;
                match &section {
                    Section::Always => {}
                    Section::Runs(from, to) => script.runs.push((*from, *to, Vec::new())),
                    Section::Block(name) => {
                        script.blocks.insert(name.clone(), Vec::new());
                    }
                }
                continue;
            }
            let lines = match &section {
                Section::Always => Some(&mut script.always),
                Section::Runs(..) => script.runs.last_mut().map(|(_, _, lines)| lines),
                Section::Block(name) => script.blocks.get_mut(name),
            };
            lines.into_iter().for_each(|lines| lines.push(line.to_owned()));
        }
        Ok(script)
    }

    /// The lines that a run executes.
    pub fn lines_of_run(&self, run: u64) -> Vec<String> {
        let fitting = self.runs.iter().filter(|(from, to, _)| (*from..=*to).contains(&run));
        self.always.iter().chain(fitting.flat_map(|(_, _, lines)| lines)).cloned().collect()
    }

    pub fn block(&self, name: &str) -> Result<&[String], String> {
        self.blocks.get(name).map(Vec::as_slice).ok_or_else(|| format!("the script has no [block {name}]"))
    }
}

enum Section {
    Always,
    Runs(u64, u64),
    Block(String),
}

impl Section {
    fn parse(head: &str) -> Result<Self, String> {
        let unknown = || format!("[{head}]: expected [run 1], [run 2-4], [run 5-] or [block NAME]");
        let (kind, rest) = head.split_once(' ').ok_or_else(unknown)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| unknown());
        match (kind, rest.split_once('-')) {
            ("run", None) => Ok(Section::Runs(number(rest)?, number(rest)?)),
            ("run", Some((from, ""))) => Ok(Section::Runs(number(from)?, u64::MAX)),
            ("run", Some((from, to))) => Ok(Section::Runs(number(from)?, number(to)?)),
            ("block", _) => Ok(Section::Block(rest.trim().to_owned())),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_executes_the_common_lines_and_its_own_section() {
        let script = Script::parse("say a\n# not this\n[run 2-3]\n say b\n[run 3-]\nsay c\n[block x]\nsay d\n")
            .expect("a script");
        let runs: Vec<String> = (1..=4).map(|run| script.lines_of_run(run).join(", ")).collect();
        assert_eq!(runs, ["say a", "say a, say b", "say a, say b, say c", "say a, say c"]);
        assert_eq!(script.block("x").expect("there"), ["say d"]);
        assert!(script.block("y").is_err() && Script::parse("[what]").is_err());
    }
}
