//! The models that clients may name.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use jiff::Timestamp;
use overnight_domain::bodies::Sizing;
use overnight_domain::money::Pricing;

use super::section::Section;
use super::tree::Value;
use super::values::{flag, integer, like, parsed, text, texts};
use super::{BOXED_MODEL, Price, Read};

/// For requests without a limit, in tokens.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// The same for the built-in model, whose context is small.
const BOXED_DEFAULT_MAX_TOKENS: u32 = 512;

/// Half of the number for English, so that most other text fits too.
const BYTES_PER_TOKEN: u32 = 2;

/// The default hold of an image, in tokens.
const IMAGE_TOKENS: u32 = 1024;

/// Of a model or an engine.
const NAME_BYTES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    pub name: String,
    /// Other names for clients, under which requests may wait too; unique among all models.
    pub aliases: Vec<String>,
    /// When it stops taking new requests.
    pub retires_at: Option<RetiresAt>,
    /// The configured model that later errors recommend.
    pub replaced_by: Option<String>,
    /// For requests without a limit, in tokens.
    pub default_max_tokens: u32,
    /// The hold of an image, in input tokens.
    pub image_tokens: u32,
    /// The least bytes of a prompt that may be one token.
    pub bytes_per_token: u32,
    /// Whether accounts share an engine's prefix cache for this model.
    pub shared_cache: bool,
    /// Credits per million input tokens.
    pub input_price: Option<Price>,
    /// Credits per million output tokens.
    pub output_price: Option<Price>,
}

/// In milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetiresAt(pub i64);

impl FromStr for RetiresAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = |_| "a time with its offset from UTC like \"2027-01-31T00:00:00Z\"".to_owned();
        text.parse::<Timestamp>().map(|at| Self(at.as_millisecond())).map_err(wanted)
    }
}

impl Display for RetiresAt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Checked when it was read.
        Timestamp::from_millisecond(self.0).unwrap_or_default().fmt(f)
    }
}

impl ModelConfig {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.name].into_iter().chain(&self.aliases).map(String::as_str)
    }

    /// Whether it takes new requests at `now`, in milliseconds.
    pub fn is_offered(&self, now: i64) -> bool {
        self.retires_at.is_none_or(|RetiresAt(at)| now < at)
    }

    /// `None` if neither price is set. If one is set, the other is 0.
    pub fn pricing(&self) -> Option<Pricing> {
        let credits = |price: &Option<Price>| price.as_ref().map(Price::credits);
        Pricing::of(credits(&self.input_price), credits(&self.output_price))
    }

    /// How the sizes of requests are estimated before they run.
    pub const fn sizing(&self) -> Sizing {
        let Self { default_max_tokens, image_tokens, bytes_per_token, .. } = *self;
        Sizing { default_max_tokens, image_tokens, bytes_per_token }
    }

    pub(super) fn boxed() -> Self {
        Self { default_max_tokens: BOXED_DEFAULT_MAX_TOKENS, ..Self::named(BOXED_MODEL) }
    }

    /// A model with the defaults of all settings except its name.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            retires_at: None,
            replaced_by: None,
            default_max_tokens: DEFAULT_MAX_TOKENS,
            image_tokens: IMAGE_TOKENS,
            bytes_per_token: BYTES_PER_TOKEN,
            shared_cache: false,
            input_price: None,
            output_price: None,
        }
    }
}

pub(super) fn read(root: &Section<'_>) -> Read<Vec<ModelConfig>> {
    let sections = root.sections("models")?;
    let models: Vec<ModelConfig> = sections.iter().map(read_one).collect::<Read<_>>()?;
    for (place, section) in sections.iter().enumerate() {
        let (model, earlier) = (&models[place], &models[..place]);
        let is_twice = earlier.iter().any(|other| other.name == model.name);
        section.forbid("name", is_twice.then(|| format!("is given twice: {:?}", model.name)))?;
        refuse_shared_alias(section, &models, place)?;
        refuse_successor(section, &models, place)?;
    }
    Ok(models)
}

fn refuse_shared_alias(section: &Section<'_>, models: &[ModelConfig], place: usize) -> Read<()> {
    let (own, earlier) = (&models[place].aliases, &models[..place]);
    for (number, alias) in own.iter().enumerate() {
        let is_name = models.iter().any(|other| other.name == *alias);
        section
            .forbid("aliases", is_name.then(|| format!("has {alias:?}, which is the `name` of a model")))?;
        let is_twice =
            own[..number].contains(alias) || earlier.iter().any(|other| other.aliases.contains(alias));
        section.forbid("aliases", is_twice.then(|| format!("has {alias:?}, which is given twice")))?;
    }
    Ok(())
}

/// A successor must be another configured model.
fn refuse_successor(section: &Section<'_>, models: &[ModelConfig], place: usize) -> Read<()> {
    let key = "replaced_by";
    let Some(successor) = &models[place].replaced_by else { return Ok(()) };
    let is_early = models[place].retires_at.is_none();
    section.forbid(key, is_early.then_some("needs `retires_at`: until then the model is offered itself"))?;
    let is_known = models.iter().any(|model| model.name == *successor) && models[place].name != *successor;
    let what = || format!("names {successor:?}, which is no other model with a [[models]] section");
    section.forbid(key, (!is_known).then(what))
}

fn read_one(section: &Section<'_>) -> Read<ModelConfig> {
    let defaults = ModelConfig::named(&section.get("name", like(name))?);
    let tokens = |key, most| section.find(key, integer(1..=most));
    Ok(ModelConfig {
        aliases: section.find("aliases", aliases)?.unwrap_or_default(),
        retires_at: section.find("retires_at", parsed)?,
        replaced_by: section.find("replaced_by", text)?,
        default_max_tokens: tokens("default_max_tokens", 100_000_000)?.unwrap_or(defaults.default_max_tokens),
        image_tokens: tokens("image_tokens", 1_000_000)?.unwrap_or(defaults.image_tokens),
        bytes_per_token: tokens("bytes_per_token", 16)?.unwrap_or(defaults.bytes_per_token),
        shared_cache: section.find("shared_cache", flag)?.unwrap_or(defaults.shared_cache),
        input_price: section.find("input_price", parsed)?,
        output_price: section.find("output_price", parsed)?,
        ..defaults
    })
}

pub(super) fn name(text: &str) -> Result<String, String> {
    let wanted = || format!("1 to {NAME_BYTES_MAX} bytes without control characters");
    is_name(text).then(|| text.to_owned()).ok_or_else(wanted)
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control)
}

fn aliases(value: &Value) -> Result<Vec<String>, String> {
    let aliases = texts(value)?;
    match aliases.iter().find(|alias| !is_name(alias)) {
        Some(alias) => {
            Err(format!("has {alias:?}: a name has 1 to {NAME_BYTES_MAX} bytes without control characters"))
        }
        None => Ok(aliases),
    }
}
