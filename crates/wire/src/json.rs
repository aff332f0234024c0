//! Appends JSON to a buffer. [`object!`] lists the members of an object in order, each with its [`Value`]. Stored JSON is appended
//! unparsed; serde would parse it first.

use overnight_domain::ids::{Id, Kind};
use overnight_domain::json::{Json, JsonText};
use serde::Serialize;

/// An object to append. A member is `"key": value`, or `..members` for the members of [`members!`]. The object is a closure that moves the
/// values its members name: references and `Copy` values.
macro_rules! object {
    ($($member:tt)*) => { $crate::json::Object($crate::json::members!($($member)*)) };
}

/// Members to include in an object with `..`.
macro_rules! members {
    (@$out:ident) => {};
    (@$out:ident $key:literal: $value:expr $(, $($rest:tt)*)?) => {
        $crate::json::Value::append_member(&$value, concat!(",\"", $key, "\":"), $out);
        $crate::json::members!(@$out $($($rest)*)?);
    };
    (@$out:ident ..$more:expr $(, $($rest:tt)*)?) => {
        ($more)($out);
        $crate::json::members!(@$out $($($rest)*)?);
    };
    ($($member:tt)*) => {
        move |out: &mut Vec<u8>| {
            $crate::json::members!(@out $($member)*);
        }
    };
}

pub(crate) use {members, object};

/// The value of a member.
pub(crate) trait Value {
    fn append(&self, out: &mut Vec<u8>);

    /// Appends it with its key, which is given as `,"key":`.
    fn append_member(&self, key: &str, out: &mut Vec<u8>) {
        push(key, out);
        self.append(out);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Object<F>(pub(crate) F);

impl<F: Fn(&mut Vec<u8>)> Value for Object<F> {
    fn append(&self, out: &mut Vec<u8>) {
        let start = out.len();
        (self.0)(out);
        // Each member begins with a comma; the first comma becomes the brace.
        match out.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => out.push(b'{'),
        }
        out.push(b'}');
    }
}

/// The output of a function.
#[derive(Clone, Copy)]
pub(crate) struct By<F>(pub(crate) F);

impl<F: Fn(&mut Vec<u8>)> Value for By<F> {
    fn append(&self, out: &mut Vec<u8>) {
        (self.0)(out);
    }
}

/// A member that is left out if `None`.
#[derive(Clone, Copy)]
pub(crate) struct IfSet<T>(pub(crate) Option<T>);

impl<T: Value> Value for IfSet<T> {
    fn append(&self, out: &mut Vec<u8>) {
        self.0.append(out);
    }

    fn append_member(&self, key: &str, out: &mut Vec<u8>) {
        if let Some(value) = &self.0 {
            value.append_member(key, out);
        }
    }
}

/// Stored JSON, appended unchanged.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

pub(crate) const NULL: Raw<'static> = Raw(b"null");

pub(crate) const EMPTY: Raw<'static> = Raw(b"[]");

impl Value for Raw<'_> {
    fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

impl Value for Json<'_> {
    fn append(&self, out: &mut Vec<u8>) {
        push(self.as_str(), out);
    }
}

impl Value for JsonText {
    fn append(&self, out: &mut Vec<u8>) {
        push(self.as_str(), out);
    }
}

/// A value, or its replacement if absent.
#[derive(Clone, Copy)]
pub(crate) struct Or<T, U>(pub(crate) Option<T>, pub(crate) U);

impl<T: Value, U: Value> Value for Or<T, U> {
    fn append(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Some(value) => value.append(out),
            None => self.1.append(out),
        }
    }
}

/// A time in milliseconds, written as a Unix second. Rounding down keeps whole seconds between two times.
#[derive(Clone, Copy)]
pub(crate) struct Second(pub(crate) i64);

impl Value for Second {
    fn append(&self, out: &mut Vec<u8>) {
        self.0.div_euclid(1000).append(out);
    }
}

/// A value that serde writes.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Serialize + ?Sized> Value for Told<'_, T> {
    fn append(&self, out: &mut Vec<u8>) {
        // Texts and numbers are always serialisable, and writing to memory cannot fail.
        let _ = serde_json::to_writer(out, self.0);
    }
}

macro_rules! told {
    ($($kind:ty)*) => {$(
        impl Value for $kind {
            fn append(&self, out: &mut Vec<u8>) {
                Told(self).append(out);
            }
        }
    )*};
}

told! { bool i64 str String }

impl<K: Kind> Value for Id<K> {
    fn append(&self, out: &mut Vec<u8>) {
        push("\"", out);
        self.append_to(out);
        push("\"", out);
    }
}

impl<T: Value> Value for Option<T> {
    fn append(&self, out: &mut Vec<u8>) {
        Or(self.as_ref(), NULL).append(out);
    }
}

impl<T: Value> Value for [T] {
    fn append(&self, out: &mut Vec<u8>) {
        push("[", out);
        for (place, element) in self.iter().enumerate() {
            push(if place > 0 { "," } else { "" }, out);
            element.append(out);
        }
        push("]", out);
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn append(&self, out: &mut Vec<u8>) {
        (*self).append(out);
    }

    fn append_member(&self, key: &str, out: &mut Vec<u8>) {
        (*self).append_member(key, out);
    }
}

/// Appends JSON text unchanged.
pub(crate) fn push(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Escapes U+0085, U+2028 and U+2029 in the JSON text from `from`, because some clients split lines at them. JSON has them only in strings.
pub(crate) fn escape_line_ends(from: usize, out: &mut Vec<u8>) {
    let is_end = |character: char| matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
    let Ok(text) = std::str::from_utf8(&out[from..]) else { return };
    if !text.contains(is_end) {
        return;
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if is_end(character) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    out.truncate(from);
    out.extend_from_slice(escaped.as_bytes());
}
