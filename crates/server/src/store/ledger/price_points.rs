//! The prices that requests were ever accepted at.

use overnight_domain::money::Pricing;

use crate::store::database::statements;
use crate::store::{Store, StoreError};

/// A pair of prices, by its row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceKey(pub i64);

statements! {
    INSERT = "INSERT INTO price_points (input, output) VALUES (?, ?) ON CONFLICT (input, output) DO NOTHING";
    FIND = "SELECT seq FROM price_points WHERE input = ? AND output = ?";
}

/// The key of these prices; new ones get a row.
pub async fn ensure(store: &Store, pricing: Pricing) -> Result<PriceKey, StoreError> {
    let (input, output) = (pricing.input.nanos(), pricing.output.nanos());
    let ensured = store.transaction(async move |tx| {
        tx.execute(INSERT.bind(input).bind(output)).await?;
        let rows = tx.fetch(FIND.bind(input).bind(output)).await?;
        rows.first().ok_or(StoreError::Damaged("a pair of prices"))?.get("seq")
    });
    ensured.await.map(PriceKey)
}
