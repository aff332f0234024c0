//! Maps a fault in a chat completion to the params from which it was made.

use overnight_domain::json::Json;

use super::params::translate;

/// The prefix of paths in the native dialect.
const BODY: &str = "request_body.";

/// Members that have another name in the params.
const NAMES: [(&str, &str); 4] = [
    ("stop", "stop_sequences"),
    ("user", "metadata.user_id"),
    ("reasoning_effort", "output_config.effort"),
    ("response_format", "output_config.format"),
];

/// Members with the data of media; in the params they are the `source` of the block.
const DATA: [&str; 2] = ["image_url", "file"];

/// Maps paths of a chat completion to paths of the params of a message.
#[derive(Debug, Default)]
pub struct Origins(Vec<Vec<String>>);

impl Origins {
    /// Reads the params from which a chat completion was made.
    pub fn of(params: Json<'_>) -> Self {
        Self(translate(params).map(|translated| translated.origins).unwrap_or_default())
    }

    /// Converts a native path to Anthropic's spelling: `request_body.messages[1].content[0]` may become `messages.0.content.2`.
    pub fn locate(&self, param: &str) -> String {
        let param = param.strip_prefix(BODY).unwrap_or(param);
        let steps: Vec<&str> = param.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect();
        if let ["messages", message, "content", part, rest @ ..] = steps.as_slice()
            && let Some(origin) = self.find(message, part)
        {
            let is_data = rest.first().is_some_and(|step| DATA.contains(step));
            return if is_data { format!("{origin}.source") } else { origin.to_owned() };
        }
        // A tool is a function in a chat completion.
        if let ["tools", tool, "function", member] = steps.as_slice() {
            return format!("tools.{tool}.{member}");
        }
        let known = |first: &&str| NAMES.iter().find(|(name, _)| *name == *first).map(|(_, named)| *named);
        match steps.split_first() {
            Some((first, rest)) => {
                let first = known(first).unwrap_or(first);
                std::iter::once(first).chain(rest.iter().copied()).collect::<Vec<_>>().join(".")
            }
            None => String::new(),
        }
    }

    fn find(&self, message: &str, part: &str) -> Option<&str> {
        let (message, part): (usize, usize) = (message.parse().ok()?, part.parse().ok()?);
        self.0.get(message)?.get(part).map(String::as_str)
    }
}
