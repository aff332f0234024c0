//! Chat templates: the model's own Jinja template turns a conversation into the text format that the model was trained on.

mod controls;
mod json;
mod renderer;
mod source;
mod strftime;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use minijinja::{Environment, Error, ErrorKind, Value, context, syntax::SyntaxConfig};
use minijinja_contrib::pycompat::unknown_method_callback;

use self::controls::ControlTexts;
pub use self::{
    controls::pieces,
    renderer::{RENDER, Renderer, Source, Unrendered, render_chats},
};
use crate::clock;

/// The template for a model without its own.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
    {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

const NAME: &str = "chat";

/// The role that newer clients use instead of `system`.
const DEVELOPER: &str = "developer";

/// Instructions of one rendering, which take 0.7 s; a message needs some hundred.
const FUEL: u64 = 5_000_000;

#[derive(Debug)]
struct ChatTemplate {
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
    knows_developer: bool,
    controls: ControlTexts,
}

impl ChatTemplate {
    /// Compiles `source`; without it, ChatML's template.
    fn compile(source: Option<&str>, bos_token: String, eos_token: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment
            .add_function("strftime_now", |format: &str| strftime::format(clock::unix_seconds(), format));
        environment.add_filter("tojson", json::tojson);
        environment.set_fuel(Some(FUEL));
        let source = source.unwrap_or(CHATML);
        environment.add_template_owned(NAME, source::adapt(source))?;
        let (knows_developer, controls) = (source.contains(DEVELOPER), ControlTexts::default());
        Ok(Self { environment, bos_token, eos_token, knows_developer, controls })
    }

    /// Keeps these texts of control tokens text in the words of clients.
    fn guarding(self, texts: impl IntoIterator<Item = String>) -> Self {
        Self { controls: ControlTexts::new(texts), ..self }
    }

    /// The prompt of a conversation, up to the assistant's turn, to be tokenized in [`pieces`]. `arguments` are further variables. A template that does not mention the
    /// role `developer` sees `system` instead. Fails with the template's own message.
    fn render(
        &self,
        messages: &[Value],
        tools: &Value,
        arguments: &BTreeMap<String, Value>,
    ) -> Result<String, Error> {
        let further: Value = Value::from_pairs(
            arguments.iter().map(|(name, value)| (name.as_str(), self.controls.mark(value))),
        );
        let adapted = |message| self.controls.mark(&self.adapt_role(message));
        let messages: Vec<Value> = messages.iter().map(adapted).collect();
        let variables = context! {
            messages,
            tools => if tools.is_undefined() { Value::from(()) } else { self.controls.mark(tools) },
            add_generation_prompt => true,
            bos_token => self.bos_token.as_str(),
            eos_token => self.eos_token.as_str(),
            ..further
        };
        self.environment.get_template(NAME)?.render(variables)
    }

    fn adapt_role(&self, message: &Value) -> Value {
        let is_developer =
            |message: &Value| message.get_attr("role").is_ok_and(|role| role.as_str() == Some(DEVELOPER));
        if self.knows_developer || !is_developer(message) {
            return message.clone();
        }
        let field = |key: Value| match key.as_str() {
            Some("role") => (key, Value::from("system")),
            _ => (key.clone(), message.get_item(&key).unwrap_or_default()),
        };
        Value::from_pairs(message.try_iter().into_iter().flatten().map(field))
    }
}

fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}
