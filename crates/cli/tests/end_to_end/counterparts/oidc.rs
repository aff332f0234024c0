//! Sign-in to the console through third-party providers. A script starts the provider and acts as the browser.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{node, serve};
use crate::support::{Running, World};

/// Contains characters that are escaped in several ways.
const SECRET: &str = "p:%2B+&=/\"~ aV8q_4.-L";

/// Users who exist before the first sign-in.
const PEOPLE: [&str; 3] = ["a@example.com", "b@example.com", "hand@example.com"];

/// Runs a script with the provider's address and these settings.
fn play(script: &str, package: &str, case: &str, settings: &str) -> Played {
    let world = World::new();
    let mut command = node(script, package);
    command.arg(case).stdin(Stdio::piped());
    command.stderr(File::create(world.path("story")).unwrap());
    let mut story = Running::of(&mut command);
    let line = story.line();
    let said: Value = serde_json::from_str(&line)
        .unwrap_or_else(|error| panic!("{error}: {line:?}: {}", world.read("story")));
    let issuer = said["issuer"].as_str().unwrap().to_owned();

    let base = world.read("overnight.toml");
    let (before, models) = base.split_once("[[models]]").unwrap();
    let provider = format!(
        "[console.oidc]\nname = \"Example\"\nissuer = \"{issuer}\"\nclient_id = \"overnight\"\n\
         client_secret_env = \"OIDC_CLIENT_SECRET\"\n{settings}"
    );
    world.write("overnight.toml", &format!("{before}{provider}[[models]]{models}"));
    world.json("account create --name research");
    for email in PEOPLE {
        world.json(&format!("user create {email}"));
    }
    let linked = world.json("user link hand@example.com --subject linked-by-hand");
    assert_eq!(linked["issuer"], *issuer);

    let (serving, url) = serve(&world, &[("OIDC_CLIENT_SECRET", SECRET)]);
    let service = json!({"url": url, "secret": SECRET});
    story.tell(&service.to_string());
    let code = story.code();
    assert_eq!(code, 0, "{case}: {}\n{}", world.read("story"), world.read("log"));
    let users = world.json("user list");
    drop(serving);
    Played { issuer, users, log: world.read("log") }
}

/// The state after a story.
struct Played {
    issuer: String,
    users: Value,
    log: String,
}

impl Played {
    /// The addresses of users linked to the provider.
    fn linked(&self) -> Vec<&str> {
        let users = self.users.as_array().unwrap().iter();
        let linked = users.filter(|user| user["issuer"] == *self.issuer);
        linked.map(|user| user["email"].as_str().unwrap()).collect()
    }
}

fn oidc_provider(case: &str, settings: &str) {
    let played = play("oidc-provider.js", "oidc-provider", case, settings);
    assert_eq!(played.linked(), ["a@example.com", "hand@example.com"]);
    for logged in ["access_denied", "another provider", "without the provider's name", "503", "not known"] {
        assert!(played.log.contains(logged), "{logged}: {}", played.log);
    }
    assert!(!played.log.contains(SECRET));
}

#[test]
fn oidc_provider_signs_people_in() {
    oidc_provider("plain", "");
}

#[test]
fn oidc_provider_signs_user_info_by_another_algorithm_and_replaces_a_key_under_its_name() {
    oidc_provider("signed", "");
}

#[test]
fn oidc_provider_changes_the_key_of_signed_user_info() {
    oidc_provider("rs256", "");
}

#[test]
fn oidc_provider_signs_by_ed25519_as_rfc_9864_names_it() {
    oidc_provider("ed25519", "");
}

#[test]
fn oidc_provider_signs_by_eddsa() {
    oidc_provider("eddsa", "");
}

#[test]
fn oidc_provider_tells_of_people_as_entra_does() {
    oidc_provider("edov", "trust_xms_edov = true\n");
}

#[test]
fn the_microsoft_of_emulate_signs_in_whom_the_operator_trusts_it_with() {
    let settings = "verified_domains = [\"example.com\"]\n";
    let played = play("emulate-oidc.js", "emulate", "microsoft", settings);
    assert_eq!(played.linked(), ["a@example.com", "hand@example.com"]);
}

#[test]
fn the_okta_of_emulate_signs_people_in() {
    let played = play("emulate-oidc.js", "emulate", "okta", "");
    assert_eq!(played.linked(), ["a@example.com", "hand@example.com"]);
}

#[test]
fn the_google_of_emulate_signs_people_in() {
    let played = play("emulate-oidc.js", "emulate", "google", "");
    assert_eq!(played.linked(), ["a@example.com", "hand@example.com"]);
}
