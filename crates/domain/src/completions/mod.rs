//! Text-completion bodies: a prompt without a conversation, which the model continues.

mod answer;
mod body;
mod choices;

pub use answer::parse_completion;
pub use body::CompletionBody;
pub use choices::{choices_asked, for_one_choice};

#[cfg(test)]
mod tests;
