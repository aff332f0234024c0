//! Requests without an engine: leased and settled by tests.

use bytes::Bytes;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, Lease, QueuePartition, ReplicaKey};
use overnight_store::queue::leases;
use overnight_store::queue::releases;
use overnight_store::queue::settle;
use overnight_store::queue::settle::{Ending, Settlement};
use overnight_store::queue::{self, KeyRange};

use super::{MODEL, TestApp};

/// Later than the end of any aggregation period.
const LATER_MS: i64 = 60_000;

impl TestApp {
    pub(crate) async fn lease_all(&self) -> Vec<Lease> {
        self.lease_all_of(self.account).await
    }

    pub(crate) async fn lease_all_of(&self, account: AccountKey) -> Vec<Lease> {
        let store = &self.services.store;
        let now = self.services.clock.now();
        releases::release(store, now + LATER_MS, 10_000).await.expect("a release");
        let model = self.services.models().find(MODEL).expect("the model").key;
        let group = QueuePartition { model, account };
        let mut leased = Vec::new();
        loop {
            // On PostgreSQL a look continues after the last one, and restarts at the end.
            let look = queue::look(store, group, ReplicaKey(0), KeyRange::default(), 10_000, now).await;
            let (candidates, _) = look.expect("a look");
            if candidates.is_empty() {
                return leased;
            }
            let positions = candidates.into_iter().map(|candidate| candidate.position).collect();
            leased.extend(leases::take(store, group, positions, now).await.expect("a lease").leases);
        }
    }

    /// Ends a leased request as completed or failed.
    pub(crate) async fn settle(&self, lease: &Lease, status: RequestStatus) -> bool {
        self.settle_with_warnings(lease, status, None).await
    }

    pub(crate) async fn settle_with_warnings(
        &self,
        lease: &Lease,
        status: RequestStatus,
        warnings: Option<Bytes>,
    ) -> bool {
        let (ending, body) = match status {
            RequestStatus::Completed => {
                (Ending::Completed { prompt_tokens: 3, completion_tokens: 1 }, completion())
            }
            _ => (Ending::Failed, failure()),
        };
        let now = self.services.clock.now();
        let (lease, body) = (lease.clone(), body.into());
        let settlement = Settlement { lease, ending, body, warnings, now, attempt: None, engine: None };
        settle::settle(&self.services.store, settlement).await.expect("a settle")
    }

    pub(crate) async fn complete(&self, lease: &Lease) {
        assert!(self.settle(lease, RequestStatus::Completed).await, "{lease:?}");
    }

    pub(crate) async fn fail(&self, lease: &Lease) {
        assert!(self.settle(lease, RequestStatus::Failed).await, "{lease:?}");
    }

    pub(crate) async fn complete_all(&self) {
        self.settle_all(RequestStatus::Completed).await;
    }

    pub(crate) async fn fail_all(&self) {
        self.settle_all(RequestStatus::Failed).await;
    }

    pub(crate) async fn settle_all(&self, status: RequestStatus) {
        for lease in self.lease_all().await {
            assert!(self.settle(&lease, status).await, "{lease:?}");
        }
    }
}

fn completion() -> Vec<u8> {
    let body = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"llama-3.1-8b-instruct",
"choices":[{"index":0,"message":{"role":"assistant","content":"Paris."},"finish_reason":"stop"}],
"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;
    body.replace('\n', "").into_bytes()
}

fn failure() -> Vec<u8> {
    br#"{"error":{"message":"no","type":"invalid_request_error","code":"engine_rejected","param":null}}"#
        .to_vec()
}
