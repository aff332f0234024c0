use super::*;

const OLD: &str = "[[models]]\nname = \"old\"\n";

fn error_of(text: &str) -> String {
    load_text(text).unwrap_err().to_string()
}

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
    let with = |aliases: &str| format!("[[models]]\nname = \"new\"\naliases = {aliases}\n{OLD}");
    for (aliases, expected) in [
        ("[\"old\"]", "`models[0].aliases` has \"old\", which is the `name` of a model"),
        ("[\"new\"]", "`models[0].aliases` has \"new\", which is the `name` of a model"),
        ("[\"a\", \"a\"]", "`models[0].aliases` has \"a\", which is given twice"),
        ("[\"\"]", "`models[0].aliases` has \"\": a name has 1 to 256 bytes"),
        ("\"a\"", "`models[0].aliases` must be a list of strings"),
    ] {
        let error = error_of(&with(aliases));
        assert!(error.starts_with(expected), "{error}");
    }
    let both = format!("{}aliases = [\"a\"]\n", with("[\"a\"]"));
    let error = error_of(&both);
    assert!(error.starts_with("`models[1].aliases` has \"a\", which is given twice"), "{error}");
}

#[test]
fn an_engine_serves_models_and_no_aliases() {
    let engine = "[[engines]]\nname = \"e\"\nkind = \"openai\"\nbase_url = \"http://h/v1\"\n";
    let models = "[[models]]\nname = \"new\"\naliases = [\"old\"]\n";
    let error = error_of(&format!("{models}{engine}models = {{ old = \"served\" }}\n"));
    assert!(
        error.starts_with("`engines[0].models` names \"old\", which is an alias: name \"new\""),
        "{error}"
    );
    let config = load_text(&format!("{models}{engine}")).unwrap();
    assert_eq!(config.engines[0].models.keys().collect::<Vec<_>>(), ["new"]);
}

#[test]
fn a_model_that_retires_says_when_and_what_replaces_it() {
    for (lines, expected) in [
        ("retires_at = \"2027-01-31\"", "`models[0].retires_at` must be a time with its offset from UTC"),
        (
            "retires_at = \"2027-01-31T00:00:00\"",
            "`models[0].retires_at` must be a time with its offset from UTC",
        ),
        ("replaced_by = \"new\"", "`models[0].replaced_by` needs `retires_at`"),
        (
            "retires_at = \"2027-01-31T00:00:00Z\"\nreplaced_by = \"old\"",
            "`models[0].replaced_by` names \"old\", which is no other model",
        ),
        (
            "retires_at = \"2027-01-31T00:00:00Z\"\nreplaced_by = \"none\"",
            "`models[0].replaced_by` names \"none\", which is no other model",
        ),
    ] {
        let error = error_of(&format!("{OLD}{lines}\n[[models]]\nname = \"new\"\n"));
        assert!(error.starts_with(expected), "{error}");
    }
}
