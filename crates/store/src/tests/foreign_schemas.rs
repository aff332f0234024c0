//! Schemas that the migrations did not create: neither backed up nor restored.

use crate::operations::transfer::hex;
use crate::tests::backups::World;
use crate::tests::prelude::*;

#[tokio::test]
async fn what_others_put_into_the_schema_is_neither_backed_up_nor_restored() {
    const ENDLESS: &str = "CREATE VIEW pragma_user_version AS
        WITH RECURSIVE n(user_version) AS (SELECT 1 UNION ALL SELECT user_version + 1 FROM n) SELECT max(user_version) AS user_version FROM n";
    const GIFT: &str =
        "CREATE TRIGGER gift AFTER INSERT ON requests BEGIN UPDATE accounts SET balance = 1; END";
    let mut world = World::new().await;
    world.fixture.insert(&[1]).await;
    for (change, told) in [
        (GIFT, "the trigger \"gift\" is not part of it"),
        (ENDLESS, "the view \"pragma_user_version\" is not part of it"),
        ("PRAGMA application_id = 5", "its application_id is 5"),
        ("PRAGMA user_version = 0", "its number is 0 instead of"),
    ] {
        world.take(START).await.expect("a backup");
        let taken = changed(&mut world, change).await;
        for refused in [
            world.restore(Some(&taken), "refused").await.map(drop),
            check(
                &Repository::open_to_read(&world.repository()).expect("one"),
                Some(&taken),
                world.folder.path(),
            )
            .await
            .map(drop),
        ] {
            let refused = refused.expect_err(change);
            assert!(matches!(refused, BackupError::DamagedDatabase { .. }), "{refused}");
            assert!(refused.to_string().contains(told), "{refused}");
        }
        assert!(!world.folder.path().join("refused").join(DATABASE_FILE).exists());
    }
    let database =
        rusqlite::Connection::open(world.fixture.folder().join(DATABASE_FILE)).expect("a database");
    database.execute_batch(GIFT).expect("a trigger");
    let refused = world.take(START).await.expect_err("no restore would take it");
    assert!(matches!(refused, BackupError::Store(StoreError::OtherSchema(_))), "{refused}");
    let refused = audit::run(&world.fixture.store).await.expect_err("an audit reads no such schema");
    assert!(matches!(refused, StoreError::OtherSchema(_)), "{refused}");
}

/// Replaces the newest backup by one of a database that was changed by somebody who can write to the repository; returns its name.
async fn changed(world: &mut World, change: &str) -> String {
    let (restored, options) = world.restore(None, "changing").await.expect("a folder");
    let path = options.folder.join(DATABASE_FILE);
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(change).expect("a change");
    drop(database);
    let bytes = fs::read(&path).expect("a database");
    fs::remove_dir_all(&options.folder).expect("a folder");
    let listed = fs::read_dir(world.repository().join("backups")).expect("backups");
    let path = listed.map(|entry| entry.expect("a backup").path()).max().expect("a backup");
    let text = fs::read_to_string(&path).expect("a manifest");
    let mut manifest: serde_json::Value =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let digests = bytes.chunks(64 * 4_096).map(|chunk| {
        let digest = hex(&Sha256::digest(chunk));
        let folder = world.repository().join("chunks").join(&digest[..2]);
        fs::create_dir_all(&folder).expect("a folder");
        let compressed = zstd::bulk::compress(chunk, 1).expect("a chunk");
        fs::write(folder.join(format!("{digest}.zst")), compressed).expect("a chunk");
        digest
    });
    manifest["chunks"] = digests.collect();
    manifest["bytes"] = bytes.len().into();
    manifest["pages"] = (bytes.len() / 4_096).into();
    let text = format!("{manifest}\n");
    fs::write(&path, format!("{text}{{\"sha256\":\"{}\"}}\n", hex(&Sha256::digest(&text))))
        .expect("a manifest");
    restored.backup.id
}
