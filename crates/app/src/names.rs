//! Names of accounts, keys and processes.

use overnight_domain::faults::codes;
use overnight_domain::text;

use super::errors::AppError;

/// The longest name, in characters. Browsers count each as one or more, so the console's forms refuse longer ones.
pub const NAME_CHARS_MAX: usize = 256;

/// The machine's name and the process's number.
pub(super) fn of_process() -> String {
    let machine = rustix::system::uname();
    format!("{}/{}", machine.nodename().to_string_lossy(), std::process::id())
}

/// Refuses a name, sent as `param`, that is empty, too long, or would garble a terminal or pass for another name.
pub(super) fn check(param: &str, name: &str) -> Result<(), AppError> {
    let is_too_long = name.chars().nth(NAME_CHARS_MAX).is_some();
    if !name.is_empty() && !is_too_long && !name.contains(text::misleads) {
        return Ok(());
    }
    let message = format!(
        "must have 1 to {NAME_CHARS_MAX} characters, none of which controls the terminal, changes the direction of text or is invisible"
    );
    Err(AppError::invalid(param, codes::OUT_OF_RANGE, &message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_as_many_characters_as_the_message_says() {
        for (name, is_fine) in [
            ("a".to_owned(), true),
            ("é".repeat(NAME_CHARS_MAX), true),
            ("é".repeat(NAME_CHARS_MAX + 1), false),
            (String::new(), false),
            ("a\u{1b}[31m".to_owned(), false),
            ("gro\u{200b}ss".to_owned(), false),
            ("\u{202e}evil".to_owned(), false),
        ] {
            assert_eq!(check("source", &name).is_ok(), is_fine, "{name}");
        }
        let told = check("source", "").map_err(|error| error.to_string());
        let expected = "source must have 1 to 256 characters, none of which controls the terminal, changes the direction of text or is invisible";
        assert_eq!(told, Err(expected.to_owned()));
    }
}
