use super::*;

const OLD: &str = "[[models]]\nname = \"old\"\n";

#[test]
fn a_model_has_other_names_and_an_end() {
    let text = format!(
        "[[models]]\nname = \"new\"\naliases = [\"a\", \"b\"]\n{OLD}retires_at = \"2027-01-31T02:00:00+02:00\"\nreplaced_by = \"new\"\n"
    );
    let config = load_text(&text).unwrap();
    assert_eq!(config.models[0].names().collect::<Vec<_>>(), ["new", "a", "b"]);
    let old = &config.models[1];
    let at = old.retires_at.unwrap();
    assert_eq!(
        (at.to_string(), old.replaced_by.as_deref()),
        ("2027-01-31T00:00:00Z".to_owned(), Some("new"))
    );
    assert!(old.is_offered(at.0 - 1) && !old.is_offered(at.0), "it retires at that moment");
    assert!(config.models[0].is_offered(i64::MAX), "a model without an end stays");
}

#[test]
fn a_name_leads_to_one_model() {
    let new = format!("{OLD}[[models]]\nname = \"new\"\n");
    check_table(
        &new,
        r#"
        aliases = ["old"] => ^`models[1].aliases` has "old", which is the `name` of a model
        aliases = ["new"] => ^`models[1].aliases` has "new", which is the `name` of a model
        aliases = ["a", "a"] => ^`models[1].aliases` has "a", which is given twice
        aliases = [""] => ^`models[1].aliases` has "": a name has 1 to 256 bytes
        aliases = "a" => ^`models[1].aliases` must be a list of strings
        aliases = ["a"] ; [[models]] ; name = "third" ; aliases = ["a"] => ^`models[2].aliases` has "a", which is given twice
        "#,
    );
}

#[test]
fn an_engine_serves_models_and_no_aliases() {
    let text = ENGINE.replace("[[engines]]", "aliases = [\"old\"]\n[[engines]]");
    let part = "^`engines[0].models` names \"old\", which is an alias: name \"m\"";
    check_refused(&format!("{text}models = {{ old = \"served\" }}\n"), &[part]);
    assert_eq!(load_text(&text).unwrap().engines[0].models.keys().collect::<Vec<_>>(), ["m"]);
}

#[test]
fn a_model_that_retires_says_when_and_what_replaces_it() {
    let old = format!("[[models]]\nname = \"new\"\n{OLD}");
    check_table(
        &old,
        r#"
        retires_at = "2027-01-31" => ^`models[1].retires_at` must be a time with its offset from UTC
        retires_at = "2027-01-31T00:00:00" => ^`models[1].retires_at` must be a time with its offset from UTC
        replaced_by = "new" => ^`models[1].replaced_by` needs `retires_at`
        retires_at = "2027-01-31T00:00:00Z" ; replaced_by = "old" => ^`models[1].replaced_by` names "old", which is no other model
        retires_at = "2027-01-31T00:00:00Z" ; replaced_by = "none" => ^`models[1].replaced_by` names "none", which is no other model
        "#,
    );
}
