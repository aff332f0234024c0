//! The models that clients may name.

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

/// A model that clients may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// As clients name it; unique.
    pub name: String,
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

impl ModelConfig {
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

    /// The model in the box.
    pub(super) fn boxed() -> Self {
        Self { default_max_tokens: BOXED_DEFAULT_MAX_TOKENS, ..Self::named(BOXED_MODEL) }
    }

    /// A model with the defaults of all settings but its name.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            default_max_tokens: DEFAULT_MAX_TOKENS,
            image_tokens: IMAGE_TOKENS,
            bytes_per_token: BYTES_PER_TOKEN,
            shared_cache: false,
            input_price: None,
            output_price: None,
        }
    }
}

/// The configured models.
pub(super) fn read(root: &Section<'_>) -> Result<Vec<ModelConfig>, ConfigError> {
    let mut models: Vec<ModelConfig> = Vec::new();
    for section in root.sections("models")? {
        let model = read_one(&section)?;
        if models.iter().any(|other| other.name == model.name) {
            return Err(section.refuse("name", format!("is given twice: {:?}", model.name)));
        }
        models.push(model);
    }
    Ok(models)
}

fn read_one(section: &Section<'_>) -> Result<ModelConfig, ConfigError> {
    Ok(ModelConfig {
        name: name(section)?,
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
        let fits = (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control);
        let wanted = || format!("1 to {NAME_BYTES_MAX} bytes without control characters");
        fits.then(|| text.to_owned()).ok_or_else(wanted)
    })?;
    section.required("name", name)
}
