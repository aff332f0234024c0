//! Accounts, keys and the audit by commands that open the store.

use serde_json::Value;

use crate::support::{World, wait_until};

#[test]
fn an_account_and_its_keys_are_made_listed_and_revoked_without_a_service() {
    let world = World::new();
    let account = world.json("account create --name research");
    let id = account["id"].as_str().unwrap();
    assert!(id.starts_with("acct_"));
    assert_eq!(account["name"], "research");
    assert_eq!(world.json("account list").as_array().unwrap().len(), 1);
    assert_eq!(world.json(&format!("account show {id}"))["id"], id);

    let key = world.json(&format!("key create --account {id} --name laptop --expires-in 90d"));
    let (secret, prefix) = (key["key"].as_str().unwrap(), key["prefix"].as_str().unwrap());
    assert!(secret.starts_with("on_live_") && secret.starts_with(prefix));
    let lasts = key["expires_at"].as_i64().unwrap() - key["created_at"].as_i64().unwrap();
    assert_eq!(lasts, 90 * 86_400);
    let plain = world.run(&format!("key create --account {id}"));
    assert!(plain.stdout.starts_with("on_live_") && plain.stdout.lines().count() == 1, "{plain:?}");

    let keys = world.json(&format!("key list --account {id}"));
    assert_eq!(keys.as_array().unwrap().len(), 2);
    assert!(!keys.to_string().contains(secret), "a list shows no key");
    assert!(keys[0]["last_used_at"].is_null(), "nobody has used it: {keys}");
    let revoked = world.json(&format!("key revoke {}", key["id"].as_str().unwrap()));
    assert!(revoked["revoked_at"].is_i64());
    let table = world.run(&format!("key list --account {id}"));
    assert!(table.stdout.lines().next().unwrap().starts_with("KEY"), "{table:?}");
    assert!(table.stdout.lines().next().unwrap().contains("LAST USED"), "{table:?}");
    assert!(table.stdout.contains("revoked") && table.stdout.contains("works"), "{table:?}");
}

#[test]
fn the_audit_log_says_what_commands_changed_and_by_whom() {
    let world = World::new();
    let id = world.json("account create --name research")["id"].as_str().unwrap().to_owned();
    let other = world.json("account create --name other")["id"].as_str().unwrap().to_owned();
    let key = world.json(&format!("key create --account {id} --name portal --scope admin"));
    world.json(&format!("account limit {id} --tokens-per-day 7"));
    world.json(&format!("account grant {id} 25 --source invoice-7"));
    world.json("user create ada@example.org --operator");
    let entries = |line: &str| {
        let ran = world.command(line).env("SUDO_USER", "ada").output().unwrap();
        crate::support::lines(&String::from_utf8(ran.stdout).unwrap())
    };
    let of_account = entries(&format!("audit-log --account {id} --json"));
    let actions: Vec<_> = of_account.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["credits.grant", "account.limits", "api_key.create", "account.create"]);
    assert_eq!(of_account[1]["details"]["tokens_per_day"], 7);
    assert_eq!(of_account[2]["target"]["id"], key["id"]);
    assert_eq!(of_account[2]["details"]["scope"], "admin");
    assert!(of_account.iter().all(|entry| entry["actor"]["type"] == "operator" && entry["account"] == *id));
    assert!(!format!("{of_account:?}").contains(key["key"].as_str().unwrap()));
    let all = entries("audit-log --json --limit 0 --since 1h");
    assert!(all.iter().any(|entry| entry["action"] == "user.create" && entry["account"].is_null()));
    assert!(all.iter().any(|entry| entry["account"] == *other));
    assert!(entries("audit-log --json --until 2001-01-01").is_empty());
    assert_eq!(entries("audit-log --json --action account.create").len(), 2);
    assert_eq!(entries("audit-log --json --limit 1").len(), 1);

    let named = world.command(&format!("account suspend {id}")).env("SUDO_USER", "ada").output().unwrap();
    assert!(named.status.success(), "{named:?}");
    let table = world.run("audit-log --action account.suspend");
    assert!(table.stdout.starts_with("TIME") && table.stdout.contains("operator ada"), "{table:?}");
    assert_eq!(world.run("audit-log --action account.destroy").code, 2);
    assert_eq!(world.run("audit-log --since yesterday").code, 2);
    assert_eq!(world.run("audit-log --account acct_01jz8m3v6qf8jbk2w5n7y9t0xd").code, 3);
}

#[test]
fn a_key_tells_when_it_was_used_last() {
    let world = World::new();
    world.write("prompts.jsonl", &crate::support::chats(1));
    assert_eq!(world.run("run prompts.jsonl -o out.jsonl").code, 0);
    let account = world.json("account list")[0]["id"].as_str().unwrap().to_owned();
    let key = &world.json(&format!("key list --account {account}"))[0];
    let (made, used) = (key["created_at"].as_i64().unwrap(), key["last_used_at"].as_i64().unwrap());
    assert!((made..made + 600).contains(&used), "{key}");
}

#[test]
fn what_does_not_exist_is_refused_and_a_name_that_cannot_be_is_unusable() {
    let world = World::new();
    assert_eq!(world.run("account list").code, 2, "there is no database yet");
    assert!(!world.path("data").exists());
    world.json("account create --name a");
    let nobody = "acct_01jz8m3v6qf8jbk2w5n7y9t0xd";
    assert_eq!(world.run(&format!("account show {nobody}")).code, 3);
    assert_eq!(world.run(&format!("key create --account {nobody}")).code, 3);
    assert_eq!(world.run("key revoke key_01jz8m3v6qf8jbk2w5n7y9t0xd").code, 3);
    let nameless = world.command("account create --name").arg("").output().unwrap();
    assert_eq!(nameless.status.code(), Some(2));
}

#[test]
fn the_audit_tells_a_sound_database_from_a_broken_rule() {
    let world = World::new();
    world.write("prompts.jsonl", &crate::support::chats(5));
    assert_eq!(world.run("run prompts.jsonl -o out.jsonl").code, 0);
    let audit = world.json("audit");
    assert_eq!(audit["is_sound"], true);
    let rules = audit["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["checked"].as_i64().unwrap() > 0));
    assert!(rules.iter().all(|rule| rule["breaches"] == 0));
    let plain = world.run("audit");
    assert_eq!((plain.code, plain.stdout.contains("BROKEN")), (0, false));
}

#[test]
fn a_revoked_key_is_felt_within_a_second_and_a_new_one_at_once() {
    let world = World::new();
    let _serving = world.serve();
    let account = world.json("account create --name other");
    world.json(&format!("account activate {}", account["id"].as_str().unwrap()));
    let key = world.json(&format!("key create --account {}", account["id"].as_str().unwrap()));
    let list = |key: &Value| {
        let mut command = world.command("list");
        command.env("OVERNIGHT_API_KEY", key["key"].as_str().unwrap()).output().unwrap().status.code()
    };
    assert_eq!(list(&key), Some(0));
    world.json(&format!("key revoke {}", key["id"].as_str().unwrap()));
    let mut calls = 0;
    wait_until("the key is refused", || {
        calls += 1;
        list(&key) == Some(3)
    });
    assert!(calls < 100, "each call takes a hundredth of a second or more");
}

#[test]
fn an_account_is_granted_credits_each_month_by_the_service() {
    let world = World::new();
    let id = world.json("account create --name monthly")["id"].as_str().unwrap().to_owned();
    let balance = || world.json(&format!("account show {id}"))["balance"].clone();
    assert_eq!(balance(), "0");
    for amount in ["0", "-1", "much"] {
        assert_eq!(world.run(&format!("account monthly {id} {amount}")).code, 2, "{amount}");
    }
    assert_eq!(world.json(&format!("account monthly {id} 12.5"))["monthly_credits"], "12.5");
    assert!(world.run(&format!("account show {id}")).stdout.contains("monthly    12.5"));
    for _ in 0..2 {
        let serving = world.serve();
        wait_until("it is granted", || balance() == "12.5");
        serving.signal("TERM");
        serving.end();
    }
    let ledger = world.json(&format!("account ledger {id}"));
    assert_eq!(ledger.as_array().map(Vec::len), Some(1), "a second start grants nothing: {ledger}");
    assert!(ledger[0]["source"].as_str().unwrap().starts_with("monthly:20"), "{ledger}");
    assert_eq!(world.json(&format!("account monthly {id} none"))["monthly_credits"], Value::Null);
    let log = world.run("audit-log --json").stdout;
    assert_eq!(log.matches("credits.monthly").count(), 2, "{log}");
}

#[test]
fn an_account_is_closed_then_erased_by_the_service_and_its_folder_vacuumed_without_it() {
    let world = World::new();
    let serving = world.serve();
    let id = world.json("account create --name other")["id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&format!("account show {id}"))["retention_seconds"], Value::Null);
    assert_eq!(world.json(&format!("account retention {id} 7d"))["retention_seconds"], 7 * 86_400);
    assert!(world.run(&format!("account show {id}")).stdout.contains("retention  7d"));
    assert_eq!(world.run(&format!("account retention {id} 1h")).code, 2, "shorter than a day");
    assert_eq!(world.run(&format!("account retention {id} soon")).code, 2);
    assert_eq!(world.run(&format!("account erase {id}")).code, 2, "without --yes");
    assert_eq!(world.run(&format!("account erase {id} --yes")).code, 2, "it is not closed");
    assert_eq!(world.json(&format!("account close {id}"))["closed"], true);
    assert_ne!(world.run(&format!("key create --account {id}")).code, 0, "it is closed");
    assert_ne!(world.run(&format!("account resume {id}")).code, 0, "for good");
    assert!(world.run("account list").stdout.contains("closed"));
    world.json(&format!("account erase {id} --yes"));
    wait_until("the service erases it", || world.json(&format!("account show {id}"))["erased"] == true);
    assert_eq!(world.json(&format!("account show {id}"))["name"], "erased account");
    assert_eq!(world.json("audit")["is_sound"], true);

    let refused = world.run("vacuum");
    assert!(refused.code != 0 && refused.stderr.contains("is served by process"), "{refused:?}");
    drop(serving);
    let vacuumed = world.json("vacuum");
    assert!(vacuumed["bytes"].as_i64() <= vacuumed["bytes_before"].as_i64(), "{vacuumed}");
    assert!(world.run("vacuum").stdout.contains("it was"));
    assert_eq!(world.json("audit")["is_sound"], true);
}
