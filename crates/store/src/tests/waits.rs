//! Stored waits when the clock has changed.

use crate::tests::deliveries::{answered, claim_of};
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};
use crate::waits::ClockMove;

const HOUR_MS: i64 = DAY_MS / 24;

/// The clock was set back by so much, and shows this.
const fn set_back(back_ms: i64) -> ClockMove {
    ClockMove { now: START - back_ms, back_ms, gathering_ms_max: 2_000, event_ms_max: 14 * HOUR_MS }
}

on_both!(waits_end_as_if_the_clock_had_not_been_set_back);
async fn waits_end_as_if_the_clock_had_not_been_set_back(fixture: &mut Fixture) {
    let lease = fixture.leased(&[1]).await.1.remove(0);
    let release = ReleaseLease { lease, retry_at: START + 60_000, attempt: None, suspect: false };
    assert!(leases::release_lease(&fixture.store, release).await.expect("a release"));
    let told = fixture.insert_told(2, HOOK).await;
    cancel(fixture, told, START).await;
    let due = fixture.due(START).await.remove(0);
    outbox::claim(&fixture.store, vec![claim_of(&due, b"it")], START).await.expect("a claim");
    let failed = answered(&due, 500, EventState::Live, Some(START + 60_000));
    outbox::record_attempt_results(&fixture.store, Arc::new([failed])).await.expect("a result");
    let mut gathering = fixture.request(3);
    gathering.ready_at = START + 1_000;
    fixture.put(gathering).await;
    for back_ms in [HOUR_MS, 25 * HOUR_MS] {
        let to = set_back(back_ms);
        // The second time, it goes on from where the first left it.
        let to = ClockMove { back_ms: back_ms - if back_ms > HOUR_MS { HOUR_MS } else { 0 }, ..to };
        waits::follow(&fixture.store, to).await.expect("a change");
        let partition = fixture.partition();
        let look = async |now| {
            let range = KeyRange::default();
            let replica = ReplicaKey(0);
            let seen = queue::look(&fixture.store, partition, replica, range, 9, now).await;
            seen.expect("a look").0.len()
        };
        assert_eq!((look(to.now + 59_999).await, look(to.now + 60_000).await), (0, 1), "{back_ms}");
        assert_eq!(fixture.due(to.now + 59_999).await.len(), 0);
        assert_eq!(fixture.due(to.now + 60_000).await.len(), 1);
        let next = queue::next_ready_at(&fixture.store).await.expect("a read");
        assert_eq!(next, Some(to.now + 1_000));
    }
}

on_both!(no_wait_is_longer_than_it_can_be_though_nobody_knows_how_the_clock_changed);
async fn no_wait_is_longer_than_it_can_be_though_nobody_knows_how_the_clock_changed(fixture: &mut Fixture) {
    let mut gathering = fixture.request(1);
    gathering.ready_at = START + 30 * HOUR_MS;
    fixture.put(gathering).await;
    let newest = waits::newest_at(&fixture.store).await.expect("a read");
    assert_eq!(newest, Some(START));
    let to = ClockMove { back_ms: 0, ..set_back(HOUR_MS) };
    waits::follow(&fixture.store, to).await.expect("a change");
    let released = releases::release(&fixture.store, to.now + 2_000, 9).await.expect("a release");
    assert_eq!(released.added[0].count, 1);
}
