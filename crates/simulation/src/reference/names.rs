//! The store's names for what a sequence created.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::scheduler::{AccountKey, Lease, ModelKey, Position, QueueKey, QueuePartition};
use overnight_domain::sort_key::SortKey;
use overnight_store::ledger::price_points::PriceKey;

const KEYS: usize = 7;

/// Names that operations in progress learn too.
#[derive(Debug, Clone)]
pub(super) struct Shared(Rc<RefCell<Rc<Names>>>);

impl Shared {
    pub(super) fn new(names: Names) -> Self {
        Self(Rc::new(RefCell::new(Rc::new(names))))
    }

    pub(super) fn get(&self) -> Rc<Names> {
        Rc::clone(&self.0.borrow())
    }

    pub(super) fn add_request(&self, request: usize, seq: i64, account: usize, model: usize) {
        Rc::make_mut(&mut self.0.borrow_mut()).requests.insert(request, (seq, account, model));
    }

    pub(super) fn add_batch(&self, batch: usize, row: i64) {
        Rc::make_mut(&mut self.0.borrow_mut()).batches.insert(batch, row);
    }
}

#[derive(Debug, Clone)]
pub(super) struct Names {
    /// No other sequence has identifiers from here on.
    pub(super) base: u128,
    pub(super) accounts: [AccountKey; 2],
    pub(super) models: [ModelKey; 2],
    pub(super) prices: [PriceKey; 2],
    /// The row of each request, with its account and model.
    pub(super) requests: BTreeMap<usize, (i64, usize, usize)>,
    pub(super) batches: BTreeMap<usize, i64>,
}

impl Names {
    pub(super) fn request_id(&self, request: usize) -> RequestId {
        RequestId::from_bits(self.base + request as u128)
    }

    pub(super) fn batch_id(&self, batch: usize) -> BatchId {
        BatchId::from_bits(self.base + batch as u128)
    }

    /// The request in a row. A request of another sequence is unknown to the model.
    pub(super) fn request_at(&self, seq: i64) -> usize {
        self.requests.iter().find(|(_, (row, ..))| *row == seq).map_or(usize::MAX, |(request, _)| *request)
    }

    pub(super) fn account(&self, key: AccountKey) -> usize {
        self.accounts.iter().position(|account| *account == key).unwrap_or(usize::MAX)
    }

    pub(super) fn model(&self, key: ModelKey) -> usize {
        self.models.iter().position(|model| *model == key).unwrap_or(usize::MAX)
    }

    pub(super) const fn partition(&self, account: usize, model: usize) -> QueuePartition {
        QueuePartition { account: self.accounts[account], model: self.models[model] }
    }

    pub(super) fn position(&self, request: usize) -> Position {
        Position { sort_key: sort_key(request), seq: self.requests[&request].0 }
    }

    pub(super) fn lease(&self, (request, epoch): (usize, i64)) -> Lease {
        let (_, account, model) = self.requests[&request];
        let partition = self.partition(account, model);
        Lease { key: QueueKey { partition, position: self.position(request) }, epoch }
    }
}

pub(super) fn sort_key(request: usize) -> SortKey {
    SortKey::from_bytes(&[u8::try_from(request % KEYS).unwrap_or_default()])
}
