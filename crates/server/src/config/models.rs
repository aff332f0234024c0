//! The models that clients may name.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use jiff::Timestamp;
use overnight_domain::bodies::Sizing;
use overnight_domain::money::Pricing;

use super::section::Section;
use super::{BOXED_MODEL, ConfigError, Price};

/// What requests get that name no limit, in tokens.
const DEFAULT_MAX_TOKENS: u32 = 4096;

/// The same of the model in the box, whose context is small.
const BOXED_DEFAULT_MAX_TOKENS: u32 = 512;

/// Half of what English text has, so that most other text fits too.
const BYTES_PER_TOKEN: u32 = 2;

/// What an image is held at, in tokens, where nobody says otherwise.
const IMAGE_TOKENS: u32 = 1024;

/// The longest name of a model or an engine, in bytes.
const NAME_BYTES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    pub name: String,
    /// Other names under which clients may name it, and under which requests may wait; no other model has any of them.
    pub aliases: Vec<String>,
    /// From when on it takes no new requests.
    pub retires_at: Option<RetiresAt>,
    /// The configured model that is named to those who ask for it afterwards.
    pub replaced_by: Option<String>,
    /// The output limit of a request that names none, in tokens.
    pub default_max_tokens: u32,
    /// How many input tokens an image is held at.
    pub image_tokens: u32,
    /// How few bytes of a prompt may be a token.
    pub bytes_per_token: u32,
    /// Whether its requests share an engine's prefix cache across accounts.
    pub shared_cache: bool,
    /// Credits per million input tokens.
    pub input_price: Option<Price>,
    /// Credits per million output tokens.
    pub output_price: Option<Price>,
}

/// When a model stops taking new requests, in milliseconds since the Unix epoch.
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
        // It was such a time when it was read.
        Timestamp::from_millisecond(self.0).unwrap_or_default().fmt(f)
    }
}

impl ModelConfig {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.name].into_iter().chain(&self.aliases).map(String::as_str)
    }

    /// Whether a request may be made for it at `now`, in milliseconds.
    pub fn is_offered(&self, now: i64) -> bool {
        self.retires_at.is_none_or(|RetiresAt(at)| now < at)
    }

    /// What its tokens cost; `None` where neither price is given. Of two, an absent one is 0.
    pub fn pricing(&self) -> Option<Pricing> {
        let credits = |price: &Option<Price>| price.as_ref().map(Price::credits);
        Pricing::of(credits(&self.input_price), credits(&self.output_price))
    }

    /// How its requests are sized before they have run.
    pub const fn sizing(&self) -> Sizing {
        let Self { default_max_tokens, image_tokens, bytes_per_token, .. } = *self;
        Sizing { default_max_tokens, image_tokens, bytes_per_token }
    }

    pub(super) fn boxed() -> Self {
        Self { default_max_tokens: BOXED_DEFAULT_MAX_TOKENS, ..Self::named(BOXED_MODEL) }
    }

    /// A model with the defaults of all settings but its name.
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

pub(super) fn read(root: &Section<'_>) -> Result<Vec<ModelConfig>, ConfigError> {
    let mut models: Vec<ModelConfig> = Vec::new();
    let sections = root.sections("models")?;
    for section in &sections {
        let model = read_one(section)?;
        if models.iter().any(|other| other.name == model.name) {
            return Err(section.refuse("name", format!("is given twice: {:?}", model.name)));
        }
        models.push(model);
    }
    for (place, section) in sections.iter().enumerate() {
        refuse_shared_alias(section, &models, place)?;
        refuse_successor(section, &models, place)?;
    }
    Ok(models)
}

fn refuse_shared_alias(
    section: &Section<'_>,
    models: &[ModelConfig],
    place: usize,
) -> Result<(), ConfigError> {
    let (own, earlier) = (&models[place], &models[..place]);
    for (number, alias) in own.aliases.iter().enumerate() {
        if models.iter().any(|other| other.name == *alias) {
            return Err(section.refuse("aliases", format!("has {alias:?}, which is the `name` of a model")));
        }
        if own.aliases[..number].contains(alias) || earlier.iter().any(|other| other.aliases.contains(alias))
        {
            return Err(section.refuse("aliases", format!("has {alias:?}, which is given twice")));
        }
    }
    Ok(())
}

/// A successor is another model that clients may name.
fn refuse_successor(section: &Section<'_>, models: &[ModelConfig], place: usize) -> Result<(), ConfigError> {
    let key = "replaced_by";
    let Some(successor) = &models[place].replaced_by else { return Ok(()) };
    if models[place].retires_at.is_none() {
        return Err(section.refuse(key, "needs `retires_at`: until then the model is offered itself"));
    }
    let is_other = |(number, model): (usize, &ModelConfig)| number != place && model.name == *successor;
    match models.iter().enumerate().any(is_other) {
        true => Ok(()),
        false => Err(section
            .refuse(key, format!("names {successor:?}, which is no other model with a [[models]] section"))),
    }
}

fn read_one(section: &Section<'_>) -> Result<ModelConfig, ConfigError> {
    Ok(ModelConfig {
        name: name(section)?,
        aliases: aliases(section)?,
        retires_at: section.parsed("retires_at")?,
        replaced_by: section.string("replaced_by")?.map(str::to_owned),
        default_max_tokens: section
            .integer("default_max_tokens", 1..=100_000_000)?
            .unwrap_or(DEFAULT_MAX_TOKENS),
        image_tokens: section.integer("image_tokens", 1..=1_000_000)?.unwrap_or(IMAGE_TOKENS),
        bytes_per_token: section.integer("bytes_per_token", 1..=16)?.unwrap_or(BYTES_PER_TOKEN),
        shared_cache: section.boolean("shared_cache")?.unwrap_or(false),
        input_price: section.parsed("input_price")?,
        output_price: section.parsed("output_price")?,
    })
}

/// The `name` of a section.
pub(super) fn name(section: &Section<'_>) -> Result<String, ConfigError> {
    let name = section.read("name", |text| {
        let wanted = || format!("1 to {NAME_BYTES_MAX} bytes without control characters");
        is_name(text).then(|| text.to_owned()).ok_or_else(wanted)
    })?;
    section.required("name", name)
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control)
}

fn aliases(section: &Section<'_>) -> Result<Vec<String>, ConfigError> {
    let aliases = section.strings("aliases")?.unwrap_or_default();
    match aliases.iter().find(|alias| !is_name(alias)) {
        Some(alias) => {
            let what =
                format!("has {alias:?}: a name has 1 to {NAME_BYTES_MAX} bytes without control characters");
            Err(section.refuse("aliases", what))
        }
        None => Ok(aliases),
    }
}
