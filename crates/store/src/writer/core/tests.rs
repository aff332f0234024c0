use std::pin::pin;

use futures_util::FutureExt;
use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use super::*;
use crate::Store;
use crate::batches::{self, NewBatch};
use crate::tests::{START, options};

#[tokio::test]
async fn large_intake_rests_for_a_while_and_not_while_the_store_closes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, mut writer) = Store::open_manual(&options(&folder), START).await.expect("a store");
    let core = &mut writer.0;
    let batch = NewBatch {
        id: BatchId::from_bits(1),
        account: AccountKey(1),
        created_at: START,
        webhook: None,
        metadata: Some(vec![b' '; 32 << 10]),
        members: Vec::new(),
    };
    let mut large = pin!(batches::insert(&store, batch));
    assert!(large.as_mut().now_or_never().is_none());
    let is_taken = |core: &WriterCore, now| {
        core.hold_large(now);
        core.queues.is_ready()
    };
    assert!(is_taken(core, START));
    core.pace.made_others_wait(START, START + 100);
    assert_eq!([START + 100, START + 499, START + 500].map(|now| is_taken(core, now)), [false, false, true]);
    assert!(!is_taken(core, START + 200));
    core.queues.close();
    assert!(is_taken(core, START + 200), "nothing is left behind");
}
