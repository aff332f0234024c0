//! Lists of objects. A false list must not lead from an erased account to the objects of another.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::ObjectMeta;
use object_store::path::Path;
use overnight_domain::scheduler::AccountKey;
use tokio::time::timeout;

use super::{ObjectName, ObjectStore, ObjectStoreError, PROBE};

/// Objects of an account in one list. The rest is in the next.
pub(super) const OF_ACCOUNT_MAX: usize = 100_000;

/// The longest wait for the next object. A list may have empty pages without end.
const NEXT_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 120 });

impl ObjectStore {
    /// Up to [`OF_ACCOUNT_MAX`] paths under an account's prefix.
    pub(super) async fn list_of(&self, account: AccountKey) -> Result<Vec<Path>, ObjectStoreError> {
        let prefix = self.folder_of(account);
        let list = self.list(&prefix, OF_ACCOUNT_MAX, |object| Some((object.location, ())));
        Ok(self.call("list", account, list).await?.into_keys().collect())
    }

    /// Lengths of all objects.
    pub async fn list_all(&self) -> Result<HashMap<ObjectName, u64>, ObjectStoreError> {
        let named = |object: ObjectMeta| self.name_of(&object.location).map(|name| (name, object.size));
        self.call("list", PROBE, self.list(&self.prefix, usize::MAX, named)).await
    }

    /// Up to `max` objects of which `keep` keeps something. Fails if the list has another prefix, repeats itself or stalls.
    async fn list<K: Hash + Eq, V>(
        &self,
        prefix: &Path,
        max: usize,
        keep: impl Fn(ObjectMeta) -> Option<(K, V)>,
    ) -> Result<HashMap<K, V>, ObjectStoreError> {
        let refused = |fault: String| ObjectStoreError::Refused(format!("the list of {prefix} {fault}"));
        let (mut found, mut list) = (HashMap::new(), self.backend.list(Some(prefix)));
        while found.len() < max {
            let next = timeout(NEXT_WITHIN, list.try_next()).await;
            let next = next.map_err(|_| refused(format!("stalled for {} s", NEXT_WITHIN.as_secs())))?;
            let Some(object) = next? else { break };
            let path = object.location.clone();
            if !path.prefix_matches(prefix) {
                return Err(refused(format!("has {path}")));
            }
            if keep(object).is_some_and(|(key, value)| found.insert(key, value).is_some()) {
                return Err(refused(format!("has {path} twice")));
            }
        }
        Ok(found)
    }
}
