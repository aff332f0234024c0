//! What engines were sent on a day.

use crate::nodes::engine_days::{self, EngineDay};
use crate::tests::prelude::*;

async fn add(fixture: &Fixture, name: &str, day: i64, requests: i64, tokens: i64) -> (i64, i64) {
    let used = EngineDay { name: name.to_owned(), day, requests, tokens };
    let sum = engine_days::add(&fixture.store, used).await.expect("a sum");
    assert_eq!((sum.name.as_str(), sum.day), (name, day));
    (sum.requests, sum.tokens)
}

on_both!(what_an_engine_was_sent_adds_up_by_the_day_and_outlives_a_restart);
async fn what_an_engine_was_sent_adds_up_by_the_day_and_outlives_a_restart(fixture: &mut Fixture) {
    assert_eq!(add(fixture, "hosted", 20_000, 0, 0).await, (0, 0));
    assert_eq!(add(fixture, "hosted", 20_000, 3, 700).await, (3, 700));
    assert_eq!(add(fixture, "other", 20_000, 1, 50).await, (1, 50));
    fixture.restart().await;
    assert_eq!(add(fixture, "hosted", 20_000, 0, -200).await, (3, 500));
    assert_eq!(add(fixture, "hosted", 20_001, 0, 0).await, (0, 0), "another day");
    assert_eq!(add(fixture, "hosted", 20_000, 1, 10).await, (4, 510), "and back");
    assert_eq!(add(fixture, "hosted", 20_031, 0, 0).await, (0, 0));
    assert_eq!(add(fixture, "hosted", 20_000, 0, 0).await, (4, 510), "kept for a month");
    add(fixture, "hosted", 20_032, 0, 0).await;
    assert_eq!(add(fixture, "other", 20_000, 0, 0).await, (0, 0), "then it is forgotten");
}
