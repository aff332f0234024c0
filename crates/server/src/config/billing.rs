//! What credits are worth, and how accounts come by them.

use overnight_domain::money::{Credits, Currency, NotCredits};
use thiserror::Error;
use url::Url;

use super::section::Section;
use super::{ConfigError, Price, engines};

/// Nano-credits of a credit, and the same part of a price.
const NANOS: i128 = 1_000_000_000;

/// What credits are worth, and how accounts come by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingConfig {
    /// Whether requests cost credits.
    pub enabled: bool,
    /// What the account of the first start is given; not negative.
    pub bootstrap_credits: Credits,
    pub provider: ProviderConfig,
    /// What credits are paid in.
    pub currency: Currency,
    /// What one credit costs in `currency`; above 0.
    pub credit_price: Price,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderConfig {
    /// Nobody: the operator grants credits.
    Manual,
    Stripe(StripeConfig),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeConfig {
    /// The environment variable that holds the secret key.
    pub secret_key_env: String,
    /// The environment variable that holds the signing secret of the webhook endpoint.
    pub webhook_secret_env: String,
    /// What `/v1/checkout/sessions` is under, without a slash at its end: https, or http to this machine.
    pub base_url: Url,
}

/// An amount of credits that cannot be paid to the last minor unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{credits} credits at {} {currency} each do not cost a whole number of the currency's smallest unit", price.as_str())]
pub struct NotPayable {
    credits: Credits,
    price: Price,
    currency: Currency,
}

impl BillingConfig {
    /// What so many credits cost, in minor units of `currency`; at least 1.
    ///
    /// # Errors
    /// It is no whole number of minor units, is nothing or less, or more than can be counted.
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

/// The `[billing]` section.
pub(super) fn read(section: &Section<'_>) -> Result<BillingConfig, ConfigError> {
    // Read whoever takes payments, so that a mistake is told before it costs money.
    let stripe = read_stripe(&section.section("stripe")?)?;
    let provider = section.read("provider", |text| match text {
        "manual" => Ok(ProviderConfig::Manual),
        "stripe" => Ok(ProviderConfig::Stripe(stripe)),
        _ => Err("manual or stripe".to_owned()),
    })?;
    let currency =
        section.read("currency", |text| text.parse::<Currency>().map_err(|error| error.to_string()))?;
    Ok(BillingConfig {
        enabled: section.required("enabled", section.boolean("enabled")?)?,
        bootstrap_credits: section
            .required("bootstrap_credits", section.read("bootstrap_credits", not_negative)?)?,
        provider: section.required("provider", provider)?,
        currency: section.required("currency", currency)?,
        credit_price: section.required("credit_price", section.read("credit_price", above_zero)?)?,
    })
}

fn read_stripe(section: &Section<'_>) -> Result<StripeConfig, ConfigError> {
    let variable = |key| section.required(key, section.read(key, engines::variable_name)?);
    let base_url = section.required("base_url", section.read("base_url", engines::base_url)?)?;
    if base_url.scheme() != "https" && !engines::is_loopback(&base_url) {
        return Err(section.refuse("base_url", "must be https: the secret key is sent there"));
    }
    Ok(StripeConfig {
        secret_key_env: variable("secret_key_env")?,
        webhook_secret_env: variable("webhook_secret_env")?,
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
