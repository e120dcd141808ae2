//! The plugins for clients: their hooks are those that `init` writes, with a launcher instead of a path.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haltline_agents::Client;
use haltline_agents::install::{Entries, Hook, install};

/// Stands for the folder of the plugin until the client's own variable takes its place.
const FOLDER: &str = "PLUGIN-FOLDER";

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/plugins")
}

/// The hooks of a plugin; `folder` is how the client names the plugin's folder in a command.
fn hooks(client: Client, folder: &str) -> String {
    let args = ["hook", client.cli_name()].map(str::to_owned).into();
    let hook = Hook { command: format!("{FOLDER}/bin/haltline"), args };
    let plan = install(None, &Entries { client, hook, status_line: None }).expect("a new file");
    plan.text.replace(FOLDER, folder)
}

/// Compares a file with what it must be, or writes it with `UPDATE_PLUGINS=1`.
fn assert_is(path: &Path, text: &str, mode: u32) {
    if std::env::var_os("UPDATE_PLUGINS").is_some() {
        fs::create_dir_all(path.parent().expect("below packages")).expect("created");
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, text, "{}: run this test with UPDATE_PLUGINS=1", path.display());
    let found = fs::metadata(path).expect("there").permissions().mode() & 0o111;
    assert_eq!(found != 0, mode & 0o111 != 0, "{}", path.display());
}

#[test]
fn the_plugins_register_the_hooks_that_init_writes() {
    let launcher = fs::read_to_string(plugins().join("launcher.sh")).expect("there");
    let rows =
        [(Client::Claude, "claude", "${CLAUDE_PLUGIN_ROOT}"), (Client::Gemini, "gemini", "\\\"${extensionPath}\\\"")];
    for (client, name, folder) in rows {
        let plugin = plugins().join(name);
        assert_is(&plugin.join("hooks/hooks.json"), &hooks(client, folder), 0o644);
        assert_is(&plugin.join("bin/haltline"), &launcher, 0o755);
    }
}

#[test]
fn a_plugin_has_the_version_of_haltline() {
    for manifest in ["claude/.claude-plugin/plugin.json", "gemini/gemini-extension.json"] {
        let text = fs::read_to_string(plugins().join(manifest)).expect("there");
        let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&manifest["name"], &manifest["version"]), (&"haltline".into(), &env!("CARGO_PKG_VERSION").into()));
    }
}
