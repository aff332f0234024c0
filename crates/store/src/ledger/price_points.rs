//! Price points: the pairs of prices at which requests were accepted.

use overnight_domain::money::Pricing;

use crate::database::statements;
use crate::{Store, StoreError};

/// By row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceKey(pub i64);

statements! {
    INSERT = "INSERT INTO price_points (input, output) VALUES (?, ?) ON CONFLICT (input, output) DO NOTHING";
    FIND = "SELECT seq FROM price_points WHERE input = ? AND output = ?";
}

/// Creates the row if it is missing.
pub async fn ensure(store: &Store, pricing: Pricing) -> Result<PriceKey, StoreError> {
    let (input, output) = (pricing.input.nanos(), pricing.output.nanos());
    if let Some(row) = store.readers().fetch_optional(FIND.bind(input).bind(output)).await? {
        return row.get("seq").map(PriceKey);
    }
    let ensured = store.transaction(async move |tx| {
        tx.execute(INSERT.bind(input).bind(output)).await?;
        let rows = tx.fetch(FIND.bind(input).bind(output)).await?;
        rows.first().ok_or(StoreError::Damaged("a price point"))?.get("seq")
    });
    ensured.await.map(PriceKey)
}
