//! Numbers, money, times and identifiers for people.

pub(super) mod filters;
mod money;
mod pictures;
mod times;

use std::fmt::Display;

use overnight_domain::money::Credits;

pub(crate) use self::money::Money;

/// A value, or any number of references to it, for templates.
pub(crate) trait Holds<T> {
    fn held(&self) -> T;
}

impl Holds<Self> for i64 {
    fn held(&self) -> Self {
        *self
    }
}

impl Holds<Self> for Credits {
    fn held(&self) -> Self {
        *self
    }
}

impl<T, V: Holds<T> + ?Sized> Holds<T> for &V {
    fn held(&self) -> T {
        (**self).held()
    }
}

/// With separated thousands.
fn count(number: &impl Display) -> String {
    let number = number.to_string();
    let (sign, digits) = number.strip_prefix('-').map_or(("", &*number), |digits| ("\u{2212}", digits));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + sign.len());
    text.push_str(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With separated thousands, outside of templates.
pub(crate) fn thousands(number: i64) -> String {
    count(&number)
}

/// In its two largest units.
fn duration(milliseconds: &i64) -> String {
    let seconds = milliseconds.max(&0) / 1_000;
    let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let Some(first) = units.iter().position(|(_, unit)| seconds >= *unit) else { return "0 s".to_owned() };
    let (name, unit) = units[first];
    let text = format!("{} {name}", seconds / unit);
    match units.get(first + 1).map(|(name, next)| (name, seconds % unit / next)) {
        Some((name, rest)) if rest > 0 => format!("{text} {rest} {name}"),
        _ => text,
    }
}

/// The ends of an identifier, which distinguish it: the first digits are its time.
pub(crate) fn short(id: &impl Display) -> String {
    let id = id.to_string();
    match id.split_once('_') {
        Some((prefix, digits)) if digits.len() > 12 && digits.is_ascii() => {
            format!("{prefix}_{}…{}", &digits[..6], &digits[digits.len() - 4..])
        }
        _ => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (62_114, "62,114"), (-1_234_567, "\u{2212}1,234,567")]
        {
            assert_eq!(count(&number), expected);
        }
    }

    #[test]
    fn durations_show_their_two_largest_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_725, "1 h 2 min"),
            (69_120, "19 h 12 min"),
            (90_061, "1 d 1 h"),
            (-5, "0 s"),
        ] {
            assert_eq!(duration(&(seconds * 1_000)), expected);
        }
    }

    #[test]
    fn an_identifier_shows_its_ends() {
        assert_eq!(short(&"batch_01jd7m4zr3f8vt1x0k9y5c6hx4"), "batch_01jd7m…6hx4");
        assert_eq!(short(&"gpu-0"), "gpu-0");
    }
}
