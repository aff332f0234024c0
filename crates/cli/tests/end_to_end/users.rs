//! Users of the console by commands that open the store.

use crate::support::World;

#[test]
fn a_user_is_made_listed_linked_signed_out_and_removed_without_a_service() {
    let world = World::new();
    assert_eq!(world.run("user list").code, 2, "there is no database yet");
    let account = world.json("account create --name research")["id"].as_str().unwrap().to_owned();
    let made = world.json(&format!("user create A@Example.com --account {account} --role developer"));
    let (id, url) = (made["user"]["id"].as_str().unwrap(), made["url"].as_str().unwrap());
    assert!(id.starts_with("usr_") && url.contains("/console/sign-in/link/"), "{made}");
    assert_eq!(made["user"]["email"], "a@example.com");
    assert_eq!(made["user"]["is_operator"], false);
    let plain = world.run("user create op@example.com --operator");
    assert!(plain.stdout.starts_with("http://") && plain.stdout.lines().count() == 1, "{plain:?}");

    let users = world.json("user list");
    assert_eq!(users.as_array().unwrap().len(), 2);
    assert_eq!((&users[0]["id"], &users[1]["is_operator"]), (&id.into(), &true.into()));
    assert!(users[0]["signed_in_at"].is_null());
    let table = world.run("user list").stdout;
    assert!(
        table.starts_with("USER") && table.contains("a@example.com") && table.contains("link"),
        "{table}"
    );

    for name in [id, "a@example.com", "A@EXAMPLE.COM"] {
        let again = world.json(&format!("user link {name}"));
        assert_eq!(again["user"]["id"], id);
        assert_ne!(again["url"], url);
        let lasts = again["expires_at"].as_i64().unwrap() - made["user"]["created_at"].as_i64().unwrap();
        assert!((259_200..259_800).contains(&lasts), "{again}");
    }
    assert_eq!(world.json(&format!("user sign-out {id}"))["ended_sessions"], 0);
    assert_eq!(world.json("user remove a@example.com")["id"], id);
    assert_eq!(world.run("user remove op@example.com").code, 2, "the last operator stays");
    assert_eq!(world.json("user list").as_array().unwrap().len(), 1);
}

#[test]
fn nobody_is_made_twice_or_for_an_account_that_is_not_there() {
    let world = World::new();
    let account = world.json("account create --name research")["id"].as_str().unwrap().to_owned();
    let nobody = "acct_01jz8m3v6qf8jbk2w5n7y9t0xd";
    for (line, code) in [
        ("user create a@example.com".to_owned(), 0),
        ("user create A@example.com".to_owned(), 2),
        ("user create example.com".to_owned(), 2),
        ("user create a\u{200b}b@example.com".to_owned(), 2),
        ("account create --name \u{202e}hcraeser".to_owned(), 2),
        (format!("user create b@example.com --account {nobody} --role owner"), 3),
        (format!("user create b@example.com --account {account}"), 2),
        (format!("user create b@example.com --account {account} --role boss"), 2),
        ("user create b@example.com --role owner".to_owned(), 2),
        ("user link b@example.com".to_owned(), 3),
        ("user remove usr_01jz8m3v6qf8jbk2w5n7y9t0xd".to_owned(), 3),
        ("user sign-out b@example.com".to_owned(), 3),
    ] {
        let ran = world.run(&line);
        assert_eq!(ran.code, code, "{line}: {ran:?}");
    }
    assert_eq!(world.json("user list").as_array().unwrap().len(), 1);
}

#[test]
fn a_user_is_linked_to_a_subject_by_hand() {
    let world = World::new();
    world.json("account create --name research");
    let made = world.json("user create a@example.com");
    world.json("user create b@example.com");
    let unset = world.run("user link a@example.com --subject s1");
    assert!(unset.code == 2 && unset.stderr.contains("--issuer"), "{unset:?}");

    let issuer = "https://id.example.com";
    let linked = world.json(&format!("user link a@example.com --subject -s1 --issuer {issuer}"));
    assert_eq!((&linked["id"], &linked["issuer"]), (&made["user"]["id"], &issuer.into()));
    assert!(linked.get("url").is_none(), "there is no link to hand on: {linked}");
    let base = world.read("overnight.toml");
    let (before, models) = base.split_once("[[models]]").unwrap();
    let section = format!("[console.oidc]\nissuer = \"{issuer}\"\nclient_id = \"c\"\n");
    world.write("overnight.toml", &format!("{before}{section}[[models]]{models}"));
    for (line, code, words) in [
        ("user link a@example.com --subject -s1", 0, "signs in as \"-s1\" at https://id.example.com"),
        ("user link a@example.com --subject s2", 2, "to be replaced"),
        ("user link a@example.com --subject s2 --replace", 0, "signs in as \"s2\""),
        ("user link b@example.com --subject s2", 2, made["user"]["id"].as_str().unwrap()),
        ("user link b@example.com --subject s2 --replace", 2, made["user"]["id"].as_str().unwrap()),
        ("user link b@example.com --subject s3 --issuer id.example.com", 2, "issuer"),
        (
            "user link b@example.com --subject s3 --issuer https://id.example.org",
            0,
            "this is not the provider",
        ),
        ("user link c@example.com --subject s4", 3, "user"),
        ("user link b@example.com --issuer https://id.example.com", 2, "--subject"),
        ("user link b@example.com --replace", 2, "--subject"),
    ] {
        let ran = world.run(line);
        assert_eq!(ran.code, code, "{line}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(words), "{line}: {ran:?}");
    }
    assert!(world.run("user list").stdout.contains("SSO"));
}

#[test]
fn a_link_made_beside_a_running_service_leads_to_it() {
    let world = World::new();
    let _serving = world.serve();
    let url = world.json("user create a@example.com")["url"].as_str().unwrap().to_owned();
    let serve: serde_json::Value = serde_json::from_str(&world.read("data/serve.json")).unwrap();
    assert!(url.starts_with(&format!("{}/console/sign-in/link/", serve["url"].as_str().unwrap())), "{url}");
    assert_eq!(world.json("user list").as_array().unwrap().len(), 2, "the first start made an operator");
    assert!(world.json("user list")[0]["email"].is_null());
}
