//! The value of credits, and how accounts get them.

use overnight_domain::money::{Credits, Currency, NotCredits};
use thiserror::Error;
use url::Url;

use super::section::Section;
use super::values::{base_url, flag, is_loopback, like, one_of, parsed, variable};
use super::{Price, Read};

/// Nano-credits of a credit, and the same part of a price.
const NANOS: i128 = 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingConfig {
    pub enabled: bool,
    /// Granted to the account of the first start; not negative.
    pub bootstrap_credits: Credits,
    pub provider: ProviderConfig,
    pub currency: Currency,
    /// In `currency`; above 0.
    pub credit_price: Price,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderConfig {
    /// None: the operator grants credits.
    Manual,
    Stripe(StripeConfig),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeConfig {
    /// The environment variable of the secret key.
    pub secret_key_env: String,
    /// The environment variable of the webhook endpoint's signing secret.
    pub webhook_secret_env: String,
    /// The base of `/v1/checkout/sessions`, without a slash at its end: https, or http to this machine.
    pub base_url: Url,
}

/// An amount of credits whose cost is not a whole number of minor units.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{credits} credits at {} {currency} each do not cost a whole number of the currency's smallest unit", price.as_str())]
pub struct NotPayable {
    credits: Credits,
    price: Price,
    currency: Currency,
}

impl BillingConfig {
    /// The cost of credits, in minor units of `currency`; at least 1. Fails if it is not a whole number, not positive, or too large.
    pub fn minor_units(&self, credits: Credits) -> Result<i64, NotPayable> {
        let refused = || NotPayable { credits, price: self.credit_price.clone(), currency: self.currency };
        // At most 10¹⁸ × 10¹⁸ × 100, which 128 bits hold.
        let parts = i128::from(credits.min(Credits::MAX).nanos())
            * i128::from(self.credit_price.credits().nanos())
            * 10_i128.pow(self.currency.decimals());
        let is_whole = parts > 0 && parts % (NANOS * NANOS) == 0 && credits <= Credits::MAX;
        let units = i64::try_from(parts / (NANOS * NANOS)).ok().filter(|_| is_whole);
        units.ok_or_else(refused)
    }
}

pub(super) fn read(section: &Section<'_>) -> Read<BillingConfig> {
    // Checked for every provider, so that a mistake is found before it costs money.
    let stripe = read_stripe(&section.section("stripe")?)?;
    let providers = [ProviderConfig::Manual, ProviderConfig::Stripe(stripe)];
    Ok(BillingConfig {
        enabled: section.get("enabled", flag)?,
        bootstrap_credits: section.get("bootstrap_credits", like(not_negative))?,
        provider: section.get("provider", one_of("manual or stripe", providers))?,
        currency: section.get("currency", parsed)?,
        credit_price: section.get("credit_price", like(above_zero))?,
    })
}

fn read_stripe(section: &Section<'_>) -> Read<StripeConfig> {
    let base_url = section.get("base_url", like(base_url))?;
    let is_open = base_url.scheme() != "https" && !is_loopback(&base_url);
    section.forbid("base_url", is_open.then_some("must be https: the secret key is sent there"))?;
    Ok(StripeConfig {
        secret_key_env: section.get("secret_key_env", variable)?,
        webhook_secret_env: section.get("webhook_secret_env", variable)?,
        base_url,
    })
}

fn not_negative(text: &str) -> Result<Credits, String> {
    let credits: Credits = text.parse().map_err(|error: NotCredits| error.to_string())?;
    (credits >= Credits::ZERO).then_some(credits).ok_or_else(|| "0 or more credits".to_owned())
}

fn above_zero(text: &str) -> Result<Price, String> {
    let price: Price = text.parse()?;
    (price.credits() > Credits::ZERO).then_some(price).ok_or_else(|| "more than 0".to_owned())
}
