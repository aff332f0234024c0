//! The prices that requests were ever accepted at.

use overnight_domain::money::Pricing;

use super::database::sql;
use super::{Store, StoreError};

/// A pair of prices, by its row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceKey(pub i64);

/// The key of these prices; new ones get a row.
pub async fn ensure(store: &Store, pricing: Pricing) -> Result<PriceKey, StoreError> {
    let mut connection = store.connect().await?;
    let (input, output) = (pricing.input.nanos(), pricing.output.nanos());
    let text = "INSERT INTO prices (input, output) VALUES (?, ?) ON CONFLICT (input, output) DO NOTHING";
    connection.execute(sql(text).bind(input).bind(output)).await?;
    let select = sql("SELECT seq FROM prices WHERE input = ? AND output = ?").bind(input).bind(output);
    Ok(PriceKey(connection.fetch_one(select).await?.get(0)?))
}
