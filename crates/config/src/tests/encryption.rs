use super::*;

#[test]
fn keys_have_a_folder_beside_the_data() {
    assert_eq!(load_text("").unwrap().encryption, None);
    assert_eq!(load_text("[encryption]\nenabled = true").unwrap().encryption, None);
    for (text, enabled) in [("", true), ("enabled = true", true), ("enabled = false", false)] {
        let config =
            load_text(&format!("data_dir = \"d\"\n[encryption]\nkey_dir = \"keys\"\n{text}")).unwrap();
        let encryption = config.encryption.unwrap();
        assert_eq!((encryption.key_dir.to_str(), encryption.enabled), (Some("keys"), enabled));
    }
    let absolute = std::env::current_dir().unwrap().join("d/keys");
    for inside in ["d", "d/keys", "d/./keys", absolute.to_str().unwrap()] {
        let text = format!("data_dir = \"d\"\n[encryption]\nkey_dir = \"{inside}\"");
        check_refused(&text, &["`encryption.key_dir` must be outside `data_dir`", "line 3"]);
    }
    check_refused("[encryption]\nkey_dir = \"\"", &["`encryption.key_dir` must be a path"]);
    check_refused("[encryption]\nenabled = 1", &["`encryption.enabled`"]);
}
