use std::collections::BTreeSet;

use minijinja::value::{Serde, Value as JinjaValue};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, escape_formatter};
use thiserror::Error;

use crate::row::Row;

const NAME: &str = "template";

/// The template variable of the whole row: `{{ row["First name"] }}`.
const WHOLE_ROW: &str = "row";

/// Columns listed in the error of a missing one.
const COLUMNS_SHOWN: usize = 20;

#[derive(Debug, Error)]
#[error("{0}")]
pub struct TemplateError(String);

/// A Jinja template. Each column is a variable; `row` is all of them. Empty cells (null) are rendered as nothing; an unknown name is an
/// error.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    wanted: BTreeSet<String>,
    names_row: bool,
}

impl Template {
    /// Fails if its syntax is wrong.
    pub fn new(source: String) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_formatter(|out, state, value| match value.is_none() {
            true => Ok(()),
            false => escape_formatter(out, state, value),
        });
        environment.add_template_owned(NAME, source).map_err(|error| TemplateError(words(&error)))?;
        let template = environment.get_template(NAME).map_err(|error| TemplateError(words(&error)))?;
        let known: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let mut wanted: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        wanted.retain(|name| !known.contains(name.as_str()));
        let names_row = wanted.remove(WHOLE_ROW);
        Ok(Self { environment, wanted, names_row })
    }

    /// Its variables, without `row`.
    #[must_use]
    pub const fn wanted(&self) -> &BTreeSet<String> {
        &self.wanted
    }

    /// Whether it uses anything of a row, so that its result may differ between rows.
    #[must_use]
    pub fn depends_on_row(&self) -> bool {
        self.names_row || !self.wanted.is_empty()
    }

    /// Renders it for a row. The error continues after "line 7".
    pub fn render(&self, row: &Row) -> Result<String, String> {
        let cells = || row.cells.iter().map(|(name, value)| (&**name, JinjaValue::from(Serde(value))));
        let whole = JinjaValue::from_pairs(cells());
        // A column called `row` takes precedence.
        let context = JinjaValue::from_pairs(std::iter::once((WHOLE_ROW, whole)).chain(cells()));
        let rendered = self.environment.get_template(NAME).and_then(|template| template.render(context));
        rendered.map_err(|error| self.explain(row, &error))
    }

    fn explain(&self, row: &Row, error: &Error) -> String {
        let has = |name: &str| row.cells.iter().any(|(known, _)| &**known == name);
        let missing: Vec<&str> = self.wanted.iter().map(String::as_str).filter(|name| !has(name)).collect();
        if error.kind() == ErrorKind::UndefinedError && !missing.is_empty() {
            return format!("has no {}, which the template names", missing.join(" and no "));
        }
        let columns = match error.kind() {
            ErrorKind::UndefinedError => {
                let names: Vec<&str> =
                    row.cells.iter().map(|(name, _)| &**name).take(COLUMNS_SHOWN).collect();
                format!("; its columns are {}", names.join(", "))
            }
            _ => String::new(),
        };
        format!("does not go with the template: {}{columns}", words(error))
    }
}

/// The fault, with its line in the template.
fn words(error: &Error) -> String {
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    error.line().map_or_else(|| what.clone(), |line| format!("{what} (line {line} of the template)"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(cells: &Value) -> Row {
        let cells = cells.as_object().unwrap().iter();
        let cells = cells.map(|(name, value)| (name.as_str().into(), value.clone())).collect();
        Row { line: 1, cells, text: None }
    }

    #[test]
    fn columns_are_variables_and_the_row_has_all_of_them() {
        let cells = json!({"a": "<x>\n", "n": 7, "no": null, "First name": "Ada", "list": ["y", 1.5]});
        for (source, expected) in [
            ("{{a}}{{ n }}|{{ no }}|", "<x>\n7||"),
            ("{{ row['First name'] }} {{ list | join('+') }}", "Ada y+1.5"),
            ("{% if b is defined %}{{ b }}{% else %}none{% endif %}", "none"),
            ("{{ a | trim | upper }}!\n", "<X>!"),
        ] {
            assert_eq!(
                Template::new(source.to_owned()).unwrap().render(&row(&cells)).as_deref(),
                Ok(expected)
            );
        }
    }

    #[test]
    fn a_column_called_row_is_meant_by_its_name() {
        let template = Template::new("{{ row }}".to_owned()).unwrap();
        assert_eq!(template.render(&row(&json!({"row": 3}))).as_deref(), Ok("3"));
    }

    #[test]
    fn what_no_column_is_called_is_an_error_that_names_it() {
        let template = Template::new("{{ a }}{{ subject }}".to_owned()).unwrap();
        assert_eq!(template.wanted().iter().collect::<Vec<_>>(), ["a", "subject"]);
        let told = template.render(&row(&json!({"a": 1}))).unwrap_err();
        assert_eq!(told, "has no subject, which the template names");
        let told =
            Template::new("{{ row.b }}".to_owned()).unwrap().render(&row(&json!({"a": 1}))).unwrap_err();
        assert!(told.starts_with("does not go with the template: "), "{told}");
        assert!(told.ends_with("; its columns are a"), "{told}");
        assert!(Template::new("a\n{{ b".to_owned()).unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn a_template_that_says_the_same_of_every_row_is_known() {
        for (source, expected) in [
            ("{{ a }}", true),
            ("{{ row['First name'] }}", true),
            ("{% if b is defined %}x{% endif %}", true),
            ("", false),
            ("Label {review}", false),
            ("{% for i in range(2) %}{{ i }}{% endfor %}", false),
        ] {
            assert_eq!(Template::new(source.to_owned()).unwrap().depends_on_row(), expected, "{source}");
        }
    }

    #[test]
    fn what_jinja_itself_knows_is_no_column() {
        let template = Template::new("{% for i in range(2) %}{{ i }}{% endfor %}".to_owned()).unwrap();
        assert!(template.wanted().is_empty(), "{:?}", template.wanted());
    }
}
