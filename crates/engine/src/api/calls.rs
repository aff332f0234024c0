//! Tool calls in an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Where an answer has tool calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    None,
    /// Between `<tool_call>` and `</tool_call>`, as Hermes models write them, if anywhere.
    Tagged,
    /// The whole answer is one call, an object with a name and arguments.
    Whole,
    /// The whole answer is the arguments of a call of this function.
    Arguments(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// JSON, unless the answer was cut off.
    pub(super) arguments: String,
    pub(super) is_whole: bool,
}

#[derive(Deserialize)]
struct Written<'text> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'text RawValue>,
}

const OPENING: &str = "<tool_call>";
const CLOSING: &str = "</tool_call>";

/// Splits an answer into its text, if any, and its calls. An incomplete call stays text.
pub(super) fn read(calls: &Calls, text: String) -> (Option<String>, Vec<Call>) {
    let found = match calls {
        Calls::None => None,
        Calls::Tagged => read_tagged(&text),
        Calls::Whole => read_one(&text).map(|call| (None, vec![call])),
        Calls::Arguments(name) => {
            let is_whole = serde_json::from_str::<&RawValue>(&text).is_ok();
            return (None, vec![Call { name: name.clone(), arguments: text, is_whole }]);
        }
    };
    found.unwrap_or((Some(text), Vec::new()))
}

fn read_tagged(text: &str) -> Option<(Option<String>, Vec<Call>)> {
    let (before, mut rest) = text.split_once(OPENING)?;
    let mut calls = Vec::new();
    loop {
        let (call, after) = rest.split_once(CLOSING).unwrap_or((rest, ""));
        calls.push(read_one(call)?);
        match after.split_once(OPENING) {
            Some((between, next)) if between.trim().is_empty() => rest = next,
            None if after.trim().is_empty() => break,
            _ => return None,
        }
    }
    let before = before.trim();
    Some(((!before.is_empty()).then(|| before.to_owned()), calls))
}

fn read_one(text: &str) -> Option<Call> {
    let written: Written<'_> = serde_json::from_str(text.trim()).ok()?;
    let arguments = written.arguments.map_or_else(|| "{}".to_owned(), |json| json.get().to_owned());
    Some(Call { name: written.name, arguments, is_whole: true })
}

#[cfg(test)]
mod tests {
    use super::{Call, Calls, read};

    fn check(calls: &Calls, text: &str, content: Option<&str>, expected: &[(&str, &str)]) {
        let (found, calls) = read(calls, text.to_owned());
        assert_eq!(found.as_deref(), content, "{text}");
        let calls: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, expected, "{text}");
    }

    #[test]
    fn tagged_calls_are_found_and_the_text_before_them_stays() {
        let one = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1,  2]}}\n</tool_call>";
        check(&Calls::Tagged, one, None, &[("f", "{\"a\": [1,  2]}")]);
        check(
            &Calls::Tagged,
            &format!("I ask.\n{one}\n{one}\n"),
            Some("I ask."),
            &[("f", "{\"a\": [1,  2]}"); 2],
        );
        check(&Calls::Tagged, "<tool_call>{\"name\":\"f\"}", None, &[("f", "{}")]);
    }

    #[test]
    fn what_is_no_call_stays_text() {
        for text in [
            "No call.",
            "<tool_call>{\"name\": \"f\", \"argu",
            "<tool_call>5</tool_call>",
            "<tool_call>{\"name\":\"f\"}</tool_call> and then",
        ] {
            check(&Calls::Tagged, text, Some(text), &[]);
        }
        let call = "<tool_call>{\"name\":\"f\"}</tool_call>";
        check(&Calls::None, call, Some(call), &[]);
        check(&Calls::Whole, "{\"name\":\"f\",\"arg", Some("{\"name\":\"f\",\"arg"), &[]);
    }

    #[test]
    fn a_forced_call_is_the_whole_answer() {
        check(&Calls::Whole, "{\"name\":\"f\",\"arguments\":{\"a\":1}}", None, &[("f", "{\"a\":1}")]);
        let named = Calls::Arguments("f".to_owned());
        check(&named, "{\"a\":1}", None, &[("f", "{\"a\":1}")]);
        let cut = Call { name: "f".to_owned(), arguments: "{\"a\":".to_owned(), is_whole: false };
        assert_eq!(read(&named, "{\"a\":".to_owned()), (None, vec![cut]));
    }
}
