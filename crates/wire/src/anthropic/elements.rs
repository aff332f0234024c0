//! The body of a batch as it arrives. At most one element of `requests` is in memory.

use std::borrow::Cow;
use std::mem;

use overnight_domain::faults::Quoted;
use overnight_domain::json::{DEPTH_MAX, Json, Kind, minimize};

const REQUESTS: &str = "requests";

/// Longest key of the body, in bytes.
const KEY_BYTES_MAX: usize = 256;

/// Longest `custom_id`, in characters.
const CUSTOM_ID_CHARS_MAX: usize = 64;

/// The reason why a body is not a list of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementsError {
    /// It is not a JSON object of the accepted form. The text continues "the body".
    Invalid(String),
    /// An element exceeds the size limit.
    TooLong {
        /// The index of the element, from 0.
        place: usize,
    },
}

/// Splits `{"requests": [ … ]}` that arrives in chunks. White space outside elements is dropped; other members are refused.
#[derive(Debug)]
pub struct Elements {
    element_bytes_max: usize,
    state: State,
    /// The current key or element.
    text: Vec<u8>,
    cursor: Cursor,
    has_requests: bool,
    places: usize,
}

/// The expected next token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    FirstKeyOrEnd,
    Key,
    InKey,
    Colon,
    Array,
    CommaOrEnd,
    FirstElementOrEnd,
    Element,
    InElement,
    ElementCommaOrEnd,
    End,
}

/// The position within a value: as much of the grammar as is needed to find its end.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// Whether it is neither a string nor a container. Then the byte after it ends it.
    is_bare: bool,
}

/// How a byte belongs to a value.
enum Step {
    Inside,
    /// The last byte of the value.
    Last,
    /// The byte after the value.
    After,
    TooDeep,
}

impl Elements {
    /// Starts a body whose elements have at most this many bytes.
    pub fn new(element_bytes_max: usize) -> Self {
        Self {
            element_bytes_max,
            state: State::Start,
            text: Vec::new(),
            cursor: Cursor::default(),
            has_requests: false,
            places: 0,
        }
    }

    /// The number of complete elements so far.
    pub fn count(&self) -> usize {
        self.places
    }

    /// The number of bytes of the incomplete element in memory.
    pub fn pending_bytes(&self) -> usize {
        self.text.len()
    }

    /// Reads until an element is complete. Returns its text and the number of bytes read. Without an element, the whole chunk was read. The
    /// text ends where a JSON value would, and may be invalid. After an error, nothing more may be read.
    pub fn read(&mut self, chunk: &[u8]) -> Result<(Option<Vec<u8>>, usize), ElementsError> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            let element = match self.state {
                State::InKey | State::InElement => match self.step(byte)? {
                    Step::After => {
                        // The byte belongs to the structure after the value.
                        let element = self.end_of_text()?;
                        if element.is_some() {
                            return Ok((element, at));
                        }
                        continue;
                    }
                    Step::Last => self.end_of_text()?,
                    Step::Inside | Step::TooDeep => None,
                },
                _ => {
                    self.structure(byte)?;
                    None
                }
            };
            at += 1;
            if element.is_some() {
                return Ok((element, at));
            }
        }
        Ok((None, at))
    }

    /// Ends the body and returns its number of elements. Fails if the body is cut off or has no `requests`.
    pub fn finish(self) -> Result<usize, ElementsError> {
        match self.state {
            State::End if self.has_requests => Ok(self.places),
            State::End => Err(invalid("has no requests: an array is required")),
            _ => Err(invalid("is not valid JSON: it breaks off before its end")),
        }
    }

    fn structure(&mut self, byte: u8) -> Result<(), ElementsError> {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        self.state = match (self.state, byte) {
            (State::Start, b'{') => State::FirstKeyOrEnd,
            (State::FirstKeyOrEnd, b'}') | (State::CommaOrEnd, b'}') => State::End,
            (State::FirstKeyOrEnd | State::Key, b'"') => self.begin(State::InKey, byte),
            (State::Colon, b':') => State::Array,
            (State::Array, byte) => self.open_requests(byte)?,
            (State::CommaOrEnd, b',') => State::Key,
            (State::FirstElementOrEnd | State::ElementCommaOrEnd, b']') => State::CommaOrEnd,
            (State::FirstElementOrEnd | State::Element, byte) if may_begin(byte) => {
                self.begin(State::InElement, byte)
            }
            (State::ElementCommaOrEnd, b',') => State::Element,
            (State::Start, _) => return Err(invalid("must be a JSON object")),
            _ => return Err(invalid("is not valid JSON")),
        };
        Ok(())
    }

    fn open_requests(&mut self, byte: u8) -> Result<State, ElementsError> {
        if byte != b'[' {
            return Err(invalid("must have an array as its requests"));
        }
        if mem::replace(&mut self.has_requests, true) {
            return Err(invalid("has requests more than once"));
        }
        Ok(State::FirstElementOrEnd)
    }

    fn begin(&mut self, state: State, byte: u8) -> State {
        self.text.clear();
        self.text.push(byte);
        self.cursor = Cursor::begin(byte);
        state
    }

    /// Reads a byte of a key, a value or an element, or the byte after it.
    fn step(&mut self, byte: u8) -> Result<Step, ElementsError> {
        let step = self.cursor.step(byte);
        match step {
            Step::TooDeep => return Err(invalid("is nested more than 64 levels deep")),
            Step::After => return Ok(step),
            Step::Inside | Step::Last => self.text.push(byte),
        }
        match self.state {
            State::InElement if self.text.len() > self.element_bytes_max => {
                Err(ElementsError::TooLong { place: self.places })
            }
            State::InKey if self.text.len() > KEY_BYTES_MAX => Err(unknown_member(&self.text)),
            _ => Ok(step),
        }
    }

    /// Ends a key, value or element; returns the text of an element.
    fn end_of_text(&mut self) -> Result<Option<Vec<u8>>, ElementsError> {
        let text = mem::take(&mut self.text);
        if self.state == State::InKey {
            let key = minimize(&text, 1).ok();
            let key = key.as_ref().and_then(|key| key.as_json().decode_string());
            self.state = State::Colon;
            return if key.as_deref() == Some(REQUESTS) { Ok(None) } else { Err(unknown_member(&text)) };
        }
        self.places += 1;
        self.state = State::ElementCommaOrEnd;
        Ok(Some(text))
    }
}

impl Cursor {
    fn begin(byte: u8) -> Self {
        let is_container = matches!(byte, b'{' | b'[');
        Self {
            depth: u32::from(is_container),
            in_string: byte == b'"',
            is_escaped: false,
            is_bare: !is_container && byte != b'"',
        }
    }

    fn step(&mut self, byte: u8) -> Step {
        if self.in_string {
            return self.step_in_string(byte);
        }
        match byte {
            _ if self.is_bare => {
                let is_part = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                if is_part { Step::Inside } else { Step::After }
            }
            b'"' => {
                self.in_string = true;
                Step::Inside
            }
            b'{' | b'[' if self.depth == DEPTH_MAX => Step::TooDeep,
            b'{' | b'[' => {
                self.depth += 1;
                Step::Inside
            }
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 { Step::Last } else { Step::Inside }
            }
            _ => Step::Inside,
        }
    }

    fn step_in_string(&mut self, byte: u8) -> Step {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.in_string = false;
                return if self.depth == 0 { Step::Last } else { Step::Inside };
            }
            _ => {}
        }
        Step::Inside
    }
}

fn may_begin(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

fn unknown_member(key: &[u8]) -> ElementsError {
    invalid(&format!("has a member that is not known here: {}", Quoted(&String::from_utf8_lossy(key))))
}

fn invalid(words: &str) -> ElementsError {
    ElementsError::Invalid(words.to_owned())
}

/// A request in the body of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element<'a> {
    /// Identifies its result.
    pub custom_id: Cow<'a, str>,
    /// The params of the message.
    pub params: Json<'a>,
}

impl<'a> Element<'a> {
    /// Reads an element. The error continues its path, such as `requests.3`.
    pub fn read(element: Json<'a>) -> Result<Self, String> {
        let object = element.to_object().ok_or(": must be an object")?;
        if let Some(key) = object.duplicate_keys().first() {
            return Err(format!(".{}: stands more than once in its object", Quoted(key)));
        }
        if let Some((key, _)) = object.members().iter().find(|(key, _)| key != "custom_id" && key != "params")
        {
            return Err(format!(".{}: is not known here", Quoted(key)));
        }
        let custom_id = object.get_some("custom_id").ok_or(".custom_id: is required")?;
        let custom_id = custom_id.decode_string().ok_or(".custom_id: must be a string")?;
        if custom_id.is_empty() || custom_id.chars().count() > CUSTOM_ID_CHARS_MAX {
            return Err(format!(".custom_id: must have 1 to {CUSTOM_ID_CHARS_MAX} characters"));
        }
        let params = object.get_some("params").ok_or(".params: is required")?;
        if params.kind() != Kind::Object {
            return Err(".params: must be an object".to_owned());
        }
        Ok(Self { custom_id, params })
    }
}
