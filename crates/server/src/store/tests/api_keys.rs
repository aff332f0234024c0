//! Keys, and when they were used.

use overnight_domain::ids::KeyId;

use crate::store::identity::api_keys::{self, NewApiKey};
use crate::store::tests::{Fixture, START};

on_both!(the_latest_use_of_a_key_is_kept);
async fn the_latest_use_of_a_key_is_kept(fixture: Fixture) {
    for number in 1..=3u8 {
        let key = NewApiKey {
            id: KeyId::from_bits(number.into()),
            sha256: [number; 32],
            prefix: format!("on_live_{number}"),
            name: None,
            created_at: START,
            expires_at: None,
        };
        api_keys::insert(&fixture.store, fixture.account, &key).await.expect("a key");
    }
    let note = async |uses: &[(i64, i64)]| {
        api_keys::note_uses(&fixture.store, uses.to_vec()).await.expect("a note");
        let keys = api_keys::list(&fixture.store, fixture.account).await.expect("keys");
        keys.into_iter().map(|key| key.last_used_at).collect::<Vec<_>>()
    };
    assert_eq!(note(&[]).await, [None, None, None]);
    assert_eq!(note(&[(3, 5), (1, 9), (8, 9)]).await, [Some(9), None, Some(5)]);
    assert_eq!(note(&[(1, 8), (3, 6)]).await, [Some(9), None, Some(6)]);
    let holder = api_keys::find_holder(&fixture.store, &[3; 32]).await.expect("a read").expect("a holder");
    assert_eq!((holder.key, holder.last_used_at), (3, Some(6)));
    let many: Vec<_> = (1..=300).map(|id| (id, 10)).collect();
    assert_eq!(note(&many).await, [Some(10); 3]);
}
