//! The cost of a file of prompts by the service's own rules, without sending it.

use std::collections::BTreeMap;
use std::path::Path;

use overnight_client::{Account, Client, Model};
use overnight_domain::bodies::{Sizing, refused_fields};
use overnight_domain::chat::ChatBody;
use overnight_domain::json::minimize;
use overnight_domain::limits::Limits;
use overnight_domain::money::{Credits, Pricing};
use serde::{Deserialize, Serialize};

use crate::errors::CliError;
use crate::kept::{Keeping, Kept};
use crate::posting::unkept;
use crate::prompts::Prompts;

/// The limits of usage and cost of the lines that name a model.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ModelQuote {
    pub(crate) model: String,
    pub(crate) requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    #[serde(serialize_with = "as_text")]
    pub(crate) cost: Credits,
}

/// A line that the service would refuse.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Doubt {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// The maximum cost of a file, and whether the balance covers it.
#[derive(Debug, Serialize)]
pub(crate) struct Quote {
    pub(crate) requests: u64,
    pub(crate) models: Vec<ModelQuote>,
    #[serde(serialize_with = "as_text")]
    pub(crate) cost: Credits,
    pub(crate) available: String,
    pub(crate) suffices: bool,
    pub(crate) refused: Kept<Doubt>,
}

struct Offer {
    model: Model,
    pricing: Option<Pricing>,
    quote: ModelQuote,
}

/// [`Credits`] in their form for machines.
fn as_text<S: serde::Serializer>(credits: &Credits, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(credits)
}

pub(crate) struct Quoting {
    account: Account,
    offers: BTreeMap<String, Offer>,
    aliases: BTreeMap<String, String>,
    limits: Limits,
    refused: Keeping<Doubt>,
}

impl Quoting {
    /// Begins without lines. Nameless files are created in `folder`. Fails if the service does not give its prices.
    pub(crate) async fn begin(client: &Client, folder: &Path) -> Result<Self, CliError> {
        let account = client.get_account().await?;
        let (mut offers, mut aliases) = (BTreeMap::new(), BTreeMap::new());
        for model in client.list_models().await? {
            aliases.extend(model.aliases.iter().map(|alias| (alias.clone(), model.id.clone())));
            offers.insert(model.id.clone(), Offer::new(model)?);
        }
        Ok(Self { account, offers, aliases, limits: most_generous(), refused: Keeping::new(folder) })
    }

    /// Adds these lines of a part, counted from 0.
    pub(crate) fn add(&mut self, prompts: &Prompts, lines: &[usize]) -> Result<(), CliError> {
        let mut reader = prompts.reader();
        for &index in lines {
            if let Err(message) = self.add_body(&reader.create_body(index)?) {
                let doubt = Doubt { line: prompts.first() + index + 1, message };
                self.refused.push(&doubt).map_err(|error| unkept(&error))?;
            }
        }
        Ok(())
    }

    /// Adds a Create Request body to the quote of its model. Fails with the reason if the service would refuse it.
    fn add_body(&mut self, body: &[u8]) -> Result<(), String> {
        let text = minimize(body, 0).map_err(|error| error.to_string())?;
        let request = text.as_json().to_object().and_then(|object| object.get("request_body"));
        let request = request.ok_or("request_body is required")?;
        let chat = ChatBody::parse(request, "request_body", &self.limits).map_err(|faults| {
            let faults = faults.into_kept();
            let fault = faults.first();
            fault.map_or_else(String::new, |fault| format!("{} {}", fault.param, fault.message))
        })?;
        let name = self.aliases.get(&chat.model).unwrap_or(&chat.model);
        if let Some(offer) = self.offers.get_mut(name) {
            offer.add(&chat);
            return Ok(());
        }
        let names: Vec<&str> = self.offers.keys().map(String::as_str).collect();
        Err(format!("request_body.model must be one of {}", names.join(", ")))
    }

    /// Fails if the service's amounts are invalid.
    pub(crate) fn end(self) -> Result<Quote, CliError> {
        let Self { account, offers, refused, .. } = self;
        let wanted = || offers.values().filter(|offer| offer.quote.requests > 0);
        let is_priced = wanted().any(|offer| offer.pricing.is_some());
        let models: Vec<ModelQuote> = wanted().map(|offer| offer.quote.clone()).collect();
        let cost: Credits = models.iter().map(|quote| quote.cost).sum();
        let has = amount(&account.available)?;
        let suffices = !is_priced || cost <= has;
        let requests = models.iter().map(|quote| quote.requests).sum();
        let refused = refused.end().map_err(|error| unkept(&error))?;
        Ok(Quote { requests, models, cost, available: account.available, suffices, refused })
    }
}

/// The current price of a model, if it has one. Fails if the service's amounts are invalid.
pub(crate) fn pricing_of(model: &Model) -> Result<Option<Pricing>, CliError> {
    let price = |price: &Option<String>| price.as_deref().map(amount).transpose();
    Ok(Pricing::of(price(&model.input_price)?, price(&model.output_price)?))
}

fn amount(text: &str) -> Result<Credits, CliError> {
    text.parse().map_err(|_| CliError::unavailable(format!("the service told an amount of {text:?}")))
}

/// Limits that an operator may raise are not checked.
fn most_generous() -> Limits {
    let allow_fields = refused_fields().iter().map(|field| field.name.to_owned()).collect();
    Limits { remote_media: true, allow_fields, ..Limits::default() }
}

impl Offer {
    fn new(model: Model) -> Result<Self, CliError> {
        let pricing = pricing_of(&model)?;
        let quote = ModelQuote { model: model.id.clone(), ..ModelQuote::default() };
        Ok(Self { model, pricing, quote })
    }

    /// Each request is rounded up separately, as its hold will be.
    fn add(&mut self, chat: &ChatBody) {
        let Model { default_max_tokens, image_tokens, bytes_per_token, .. } = self.model;
        let bound = chat.token_bound(&Sizing { default_max_tokens, image_tokens, bytes_per_token });
        let quote = &mut self.quote;
        quote.requests += 1;
        quote.input_tokens = quote.input_tokens.saturating_add(bound.input);
        quote.output_tokens = quote.output_tokens.saturating_add(bound.output);
        let cost = self.pricing.map_or(Credits::ZERO, |pricing| pricing.hold(bound));
        quote.cost = [quote.cost, cost].into_iter().sum();
    }
}
