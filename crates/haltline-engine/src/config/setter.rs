//! Copies a configuration value into the policy that decisions use.
//!
//! Only keys that a file sets are written; the rest keeps the core's defaults, and a test holds the two equal.

use haltline_core::Policy;

use super::key::Value;

/// Where the policy holds the value of a key, by the type it has there.
#[derive(Clone, Copy, Debug)]
pub enum Setter {
    /// Decisions do not use the key.
    None,
    Number(fn(&mut Policy) -> &mut u32),
    Flag(fn(&mut Policy) -> &mut bool),
    Text(fn(&mut Policy) -> &mut String),
    List(fn(&mut Policy) -> &mut Vec<String>),
    /// An amount in millionths of a dollar.
    Money(fn(&mut Policy) -> &mut u64),
    /// The same, `None` if it is unknown.
    Cost(fn(&mut Policy) -> &mut Option<u64>),
    /// A limit on an amount or a number; zero means no limit.
    Budget(fn(&mut Policy) -> &mut Option<u64>),
    /// One of the key's texts, for which the policy has its own type.
    Choice(fn(&mut Policy, &str)),
}

impl Setter {
    /// Writes a value that its key allows into the policy.
    pub fn set(self, policy: &mut Policy, value: &Value) {
        match self {
            Setter::None => {}
            Setter::Number(field) => *field(policy) = number(value),
            Setter::Flag(field) => *field(policy) = *value == Value::Flag(true),
            Setter::Text(field) => text(value).clone_into(field(policy)),
            Setter::List(field) => *field(policy) = texts(value),
            Setter::Money(field) => *field(policy) = micros(value).unwrap_or_default(),
            Setter::Cost(field) => *field(policy) = micros(value),
            Setter::Budget(field) => {
                let limit = micros(value).unwrap_or_else(|| number(value).into());
                *field(policy) = (limit > 0).then_some(limit);
            }
            Setter::Choice(choose) => choose(policy, text(value)),
        }
    }
}

/// The number; the key's kind and range were checked when it was read.
pub fn number(value: &Value) -> u32 {
    let Value::Number(number) = value else { return 0 };
    u32::try_from(*number).expect("ranges are within u32")
}

fn micros(value: &Value) -> Option<u64> {
    if let Value::Money(micros) = value { Some(*micros) } else { None }
}

fn text(value: &Value) -> &str {
    if let Value::Text(text) = value { text } else { "" }
}

fn texts(value: &Value) -> Vec<String> {
    if let Value::List(texts) = value { texts.clone() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::key::Kind;
    use super::super::keys::KEYS;
    use super::*;

    /// A value that the key can have and that is not its default.
    fn another(kind: &Kind) -> Value {
        match kind {
            Kind::Number { low, default, .. } => Value::Number(i64::from(if default == low { low + 1 } else { *low })),
            Kind::Choice(choices) => Value::Text(choices[1].to_owned()),
            Kind::Text(_) | Kind::Folder(_) => Value::Text("elsewhere".to_owned()),
            Kind::Flag(flag) => Value::Flag(!flag),
            Kind::List(_) => Value::List(vec!["one".to_owned()]),
            Kind::Prices => Value::List(vec!["model 1 2 3 4".to_owned()]),
            Kind::Targets => Value::List(vec!["desktop".to_owned()]),
            Kind::Money { default, .. } => Value::Money(default + 1),
            Kind::Cost => Value::Money(1),
        }
    }

    #[test]
    fn defaults_of_the_keys_equal_the_defaults_of_the_core() {
        let mut policy = Policy::default();
        KEYS.iter().for_each(|key| key.setter.set(&mut policy, &another(&key.kind)));
        assert_ne!(policy, Policy::default());
        KEYS.iter().for_each(|key| key.setter.set(&mut policy, &key.default_value()));
        assert_eq!(policy, Policy::default());
    }

    #[test]
    fn every_key_of_a_breaker_changes_its_own_value_of_the_policy() {
        let mut policies = Vec::new();
        for key in KEYS {
            let mut policy = Policy::default();
            key.setter.set(&mut policy, &another(&key.kind));
            let table = key.name.split('.').next().unwrap_or_default();
            let affects_decisions = match key.name {
                "mode" | "memory.tool_history_max" => true,
                "constraint.directory" | "constraint.mirror" | "loop.interrupt" | "run.grace_seconds" => false,
                _other => ["constraint", "loop", "agents", "api", "budget", "provider", "phase", "claim", "run"]
                    .contains(&table),
            };
            assert_eq!(policy != Policy::default(), affects_decisions, "{}", key.name);
            assert!(!affects_decisions || !policies.contains(&policy), "{} moves what another key moves", key.name);
            policies.push(policy);
        }
    }

    #[test]
    fn a_setter_takes_the_values_of_its_key() {
        for key in KEYS {
            let is_fitting = match (key.setter, key.kind) {
                (Setter::None, _)
                | (Setter::Number(_) | Setter::Budget(_), Kind::Number { .. })
                | (Setter::Money(_) | Setter::Budget(_), Kind::Money { .. })
                | (Setter::Flag(_), Kind::Flag(_))
                | (Setter::Text(_), Kind::Text(_) | Kind::Folder(_))
                | (Setter::List(_), Kind::List(_) | Kind::Prices)
                | (Setter::Cost(_), Kind::Cost)
                | (Setter::Choice(_), Kind::Choice(_)) => true,
                _other => false,
            };
            assert!(is_fitting, "{}: {:?} for {:?}", key.name, key.setter, key.kind);
        }
    }

    /// The values of a policy by the path of their field.
    fn fields(policy: &Policy) -> BTreeMap<String, Vec<String>> {
        let (mut path, mut fields) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
        for line in format!("{policy:#?}").lines().map(str::trim) {
            let (name, value) = line.split_once(": ").unwrap_or(("", line));
            if line.starts_with(['}', ']', ')']) {
                path.pop();
                continue;
            }
            path.push(name.to_owned());
            if !line.ends_with(['{', '[', '(']) {
                fields.entry(path.join("/").trim_end_matches('/').to_owned()).or_default().push(value.to_owned());
                path.pop();
            }
        }
        fields
    }

    /// The field with a key's own name, where policy and configuration use the same names.
    fn field_named_alike(key: &str) -> Option<String> {
        let path = key.replace("run.progress.", "phase.weights.").replace('.', "/");
        let (table, name) = path.rsplit_once('/')?;
        match table.split('/').next()? {
            "constraint" | "claim" => Some(format!("/{path}")),
            "phase" => Some(format!("/{}", path.trim_end_matches("_threshold"))),
            "loop" if ["enabled", "threshold", "warn", "deny", "in_a_row", "of_recent", "recent"].contains(&name) => {
                Some(format!("/{}", path.replacen("loop/", "loop_/", 1)))
            }
            _other => None,
        }
    }

    #[test]
    fn every_key_sets_one_field_that_no_other_key_sets() {
        let (before, mut known) = (fields(&Policy::default()), BTreeMap::new());
        for key in KEYS.iter().filter(|key| !matches!(key.setter, Setter::None)) {
            let mut policy = Policy::default();
            key.setter.set(&mut policy, &another(&key.kind));
            let after = fields(&policy);
            let mut changed: Vec<&String> =
                after.keys().filter(|field| after.get(*field) != before.get(*field)).collect();
            if key.name == "loop.preset" {
                // The preset has numbers of its own for what no file sets.
                let own = ["/loop_/agent_spawn/threshold", "/loop_/agents/concurrent_max"];
                assert_eq!(own.map(|field| changed.iter().any(|changed| *changed == field)), [true; 2]);
                changed.retain(|field| !own.contains(&field.as_str()));
            }
            let [field] = changed.as_slice() else { panic!("{} sets {changed:?}", key.name) };
            if let Some(expected) = field_named_alike(key.name) {
                assert_eq!(**field, expected, "{}", key.name);
            }
            let other = known.insert((*field).clone(), key.name);
            assert_eq!(other, None, "{} sets {field} too", key.name);
        }
    }
}
