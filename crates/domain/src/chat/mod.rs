//! Chat-completion bodies: the rules for clients, the body for the engine, and the form of its answer.

mod body;
mod cache_salt;
mod choices;
mod completion;
mod engine_body;
mod excerpt;
mod fields;
mod messages;
mod parts;
mod tools;
mod warnings;

pub use body::ChatBody;
pub use cache_salt::CacheSalt;
pub use choices::{choices_asked, choices_given, for_one_choice, join_choices};
pub use completion::parse_completion;
pub use engine_body::{LimitField, engine_body, has_output_limit, output_limit};
pub use excerpt::excerpt;
pub use warnings::find_warnings;

#[cfg(test)]
mod tests;
