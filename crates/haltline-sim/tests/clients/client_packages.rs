//! Every package, in an empty home with a real Claude Code: install it, accept what the first run offers, check, end a
//! loop, uninstall, and nothing of haltline is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use haltline_agents::Client;
use haltline_sim::clients::plan::{Session, Stage};
use haltline_sim::clients::sandbox::Sandbox;
use haltline_sim::clients::script::{Script, ScriptStep, shell};

const HALTLINE: &str = env!("CARGO_BIN_EXE_haltline-now");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder with all packages, built once from the program under test.
fn packages() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("packages").tempdir().expect("a temporary folder").keep();
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/build");
        let output = Command::new(build).args(["--quick", "--binary", HALTLINE, "--out"]).arg(&folder).output();
        let output = output.expect("python3 is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder
    })
}

/// How one package is used.
struct Way {
    /// Puts the package into the home.
    install: String,
    /// Starts haltline from the package.
    haltline: String,
    /// Takes the package away.
    remove: &'static str,
    /// The program that the hooks must run, below the home.
    hooks_run: &'static str,
}

impl Way {
    fn works(&self) {
        let sandbox = Sandbox::new(Client::Claude, env!("CARGO_BIN_EXE_client-run"));
        sandbox.write("project/fail", "#!/bin/sh\necho ran >> ran.txt\necho no such table: users\nexit 1\n");
        let settings = "{ \"cleanupPeriodDays\": 20 }\n";
        sandbox.write("home/.claude/settings.json", settings);
        let script = Script::repeating("again", vec![ScriptStep::Call(shell("./fail"))], 20);
        let typed = |answer: &str, arguments: &str| {
            let haltline = &self.haltline;
            Stage::Command(format!("printf '{answer}\\n' | script -qec '{haltline}{arguments}' /dev/null"))
        };
        let command = |arguments: &str| Stage::Command(format!("{} {arguments}", self.haltline));
        let stages = [
            Stage::Command(self.install.clone()),
            typed("y", ""),
            command("doctor --json"),
            Stage::Clients(vec![Session::from_script(&script)]),
            command("incidents --json"),
            typed("", " uninstall --purge"),
            Stage::Command(self.remove.to_owned()),
        ];
        let outcome = sandbox.run(&[script], &stages);
        for done in &outcome.commands {
            assert_eq!(done.exit, Some(0), "{}: {}", done.command, done.output);
        }
        let offer = &outcome.commands[1].output;
        assert!(offer.contains("It is not installed yet") && offer.contains("Claude Code"), "{offer}");
        assert!(offer.contains(self.hooks_run), "{offer}");
        let checkup = json(&outcome.commands[2].output);
        assert_eq!((&checkup["is_installed"], &checkup["is_fine"]), (&true.into(), &true.into()), "{checkup:#}");
        assert_eq!((outcome.requests("again").len(), outcome.session().terminal_reason()), (5, "hook_stopped"));
        assert_eq!(json(&outcome.commands[3].output)["incidents"][0]["code"], "HL-FAIL-01");

        let home = sandbox.root().join("home");
        assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).expect("there"), settings, "byte for byte");
        let found = Command::new("find").arg(&home).args(["-iname", "*haltline*"]).output().expect("find is installed");
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "nothing is left");
    }
}

/// The JSON in an output; a package manager may print lines of its own before it.
fn json(output: &str) -> serde_json::Value {
    let start = output.find('{').unwrap_or_else(|| panic!("no JSON: {output}"));
    serde_json::from_str(&output[start..]).unwrap_or_else(|error| panic!("{error}: {output}"))
}

fn npm_packages() -> [String; 2] {
    let folder = packages().display();
    [format!("{folder}/haltline-{VERSION}.tgz"), format!("{folder}/haltline-linux-x64-{VERSION}.tgz")]
}

#[test]
fn the_script_installs_an_archive_whose_digest_it_has_checked() {
    let folder = packages().display();
    let releases = tempfile::tempdir().expect("a temporary folder");
    std::os::unix::fs::symlink(packages(), releases.path().join(format!("v{VERSION}"))).expect("linked");
    let way = Way {
        install: format!("HALTLINE_RELEASES=file://{} sh {folder}/install.sh", releases.path().display()),
        haltline: "~/.local/bin/haltline".to_owned(),
        remove: "rm ~/.local/bin/haltline",
        hooks_run: "home/.local/bin/haltline hook claude",
    };
    way.works();
}

#[test]
fn npm_installs_a_launcher_and_the_hooks_run_the_native_program() {
    let [launcher, native] = npm_packages();
    let way = Way {
        install: format!(
            "npm install --offline --omit=optional --no-audit --no-fund --prefix ~/tools {launcher} {native}"
        ),
        haltline: "~/tools/node_modules/.bin/haltline".to_owned(),
        remove: "rm -r ~/tools ~/.npm",
        hooks_run: "home/.local/share/haltline/bin/haltline hook claude",
    };
    way.works();
}

#[test]
fn npx_offers_to_install_hooks_that_outlive_its_cache() {
    let [launcher, native] = npm_packages();
    let way = Way {
        install: "true".to_owned(),
        haltline: format!(
            "npm exec --yes --offline --omit=optional --loglevel=error --package={launcher} --package={native} -- haltline"
        ),
        remove: "rm -r ~/.npm",
        hooks_run: "home/.local/share/haltline/bin/haltline hook claude",
    };
    way.works();
}

#[test]
fn the_debian_package_holds_the_program_its_pages_and_completions() {
    let way = Way {
        install: format!("dpkg-deb --extract {}/haltline_{VERSION}_amd64.deb ~/system", packages().display()),
        haltline: "~/system/usr/bin/haltline".to_owned(),
        remove: "test -s ~/system/usr/share/man/man1/haltline.1.gz \
            && test -s ~/system/usr/share/bash-completion/completions/haltline && rm -r ~/system",
        hooks_run: "home/system/usr/bin/haltline hook claude",
    };
    way.works();
}

#[test]
fn the_script_rejects_an_archive_with_another_digest() {
    let releases = tempfile::tempdir().expect("a temporary folder");
    let folder = releases.path().join(format!("v{VERSION}"));
    fs::create_dir(&folder).expect("created");
    let name = format!("haltline-{VERSION}-x86_64-unknown-linux-gnu.tar.xz");
    fs::copy(packages().join("SHA256SUMS"), folder.join("SHA256SUMS")).expect("copied");
    fs::write(folder.join(name), "something else").expect("written");
    let mut script = Command::new("sh");
    script.arg(packages().join("install.sh")).env("HOME", releases.path());
    script.env("HALTLINE_RELEASES", format!("file://{}", releases.path().display()));
    let output = script.output().expect("sh runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("digest"), "{text}");
    assert!(!releases.path().join(".local").exists());
}
