//! The body of a batch, read as it comes: each element of `requests` by itself, so that no more of it is in memory than one of them.

use std::borrow::Cow;
use std::mem;

use overnight_domain::faults::Quoted;
use overnight_domain::json::{DEPTH_MAX, Json, Kind, minimize};

/// The key of the array.
const REQUESTS: &str = "requests";

/// How long a key of the body may be, in bytes.
const KEY_BYTES_MAX: usize = 256;

/// The longest `custom_id`, in characters.
const CUSTOM_ID_CHARS_MAX: usize = 64;

/// Why a body is no list of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementsError {
    /// It is no JSON object that this service takes, in words after "the body".
    Invalid(String),
    /// An element is longer than it may be.
    TooLong {
        /// Its place, counted from 0.
        place: usize,
    },
}

/// Splits the text of `{"requests": [ … ]}` that comes in chunks. White space outside elements is dropped; the object has no other
/// member.
#[derive(Debug)]
pub struct Elements {
    element_bytes_max: usize,
    state: State,
    /// The key or the element that is being read.
    text: Vec<u8>,
    /// How far it has been read.
    cursor: Cursor,
    has_requests: bool,
    places: usize,
}

/// What comes next.
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

/// How far a value has been read: as much of the grammar as it takes to find its end.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// Whether it is neither a string nor a container, so that what follows it ends it.
    is_bare: bool,
}

/// Whether a byte belongs to a value.
enum Step {
    Inside,
    /// It does, and is the last.
    Last,
    /// It stands after it.
    After,
    TooDeep,
}

impl Elements {
    /// A body of which an element has at most so many bytes.
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

    /// How many elements have come.
    pub fn count(&self) -> usize {
        self.places
    }

    /// How many bytes of the next one are in memory.
    pub fn pending_bytes(&self) -> usize {
        self.text.len()
    }

    /// Reads on until an element is whole: its text, and how much of the chunk was read. No element: all of it was. The text ends where that
    /// of a JSON value would, and may be none.
    ///
    /// # Errors
    ///
    /// That the body is none, as far as it has come. Nothing is to be read after that.
    pub fn read(&mut self, chunk: &[u8]) -> Result<(Option<Vec<u8>>, usize), ElementsError> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            let element = match self.state {
                State::InKey | State::InElement => match self.step(byte)? {
                    Step::After => {
                        // It is read again as what follows the value.
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

    /// Tells that the body has come to its end: how many elements it had.
    ///
    /// # Errors
    ///
    /// That it breaks off, or has no `requests`.
    pub fn finish(self) -> Result<usize, ElementsError> {
        match self.state {
            State::End if self.has_requests => Ok(self.places),
            State::End => Err(invalid("has no requests: an array is required")),
            _ => Err(invalid("is not valid JSON: it breaks off before its end")),
        }
    }

    /// Reads a byte between values.
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

    /// Begins a key, a value or an element with its first byte.
    fn begin(&mut self, state: State, byte: u8) -> State {
        self.text.clear();
        self.text.push(byte);
        self.cursor = Cursor::begin(byte);
        state
    }

    /// Reads a byte of a key, a value or an element, or the one after it.
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

    /// Takes what was read: an element, if it is one.
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

/// Whether a value may begin with this byte.
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
    /// What its result is told by.
    pub custom_id: Cow<'a, str>,
    /// What the model is asked.
    pub params: Json<'a>,
}

impl<'a> Element<'a> {
    /// The request that an element is.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words after its path `requests.3`.
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
