//! The client of the Hub against a local server.

#![allow(clippy::unwrap_used, reason = "a test's helper fails its test")]

use std::fs;
use std::path::Path;

use overnight_hub::{Found, Hub, HubError, HubName, HubOptions, list, remove};
use overnight_testkit::hub::{COMMIT, HubBehaviour, SimHub};
use tempfile::TempDir;

/// Several chunks, all different.
fn large(seed: u32) -> Vec<u8> {
    (0..200_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).wrapping_add(seed).to_le_bytes())
        .collect()
}

struct Rig {
    hub: SimHub,
    cache: TempDir,
}

impl Rig {
    async fn start() -> Self {
        let (first, second) = (large(1), large(2));
        let files: [(&str, &str, &[u8]); 7] = [
            ("o/one", "README.md", b"read me"),
            ("o/one", "one-Q4_K_M.gguf", &first),
            ("o/one", "one-Q8_0.gguf", &second),
            ("o/split", "q/m-Q4_0-00001-of-00002.gguf", &first),
            ("o/split", "q/m-Q4_0-00002-of-00002.gguf", &second),
            ("o/text", "README.md", b"no model"),
            ("o/hostile", "../../../evil-Q4_K_M.gguf", &first),
        ];
        Self { hub: SimHub::start(&files).await.unwrap(), cache: tempfile::tempdir().unwrap() }
    }

    fn behave(&self, behaviour: HubBehaviour) {
        self.hub.behave(behaviour);
    }

    fn options(&self) -> HubOptions {
        let folder = self.cache.path().join("hub");
        HubOptions { endpoint: self.hub.endpoint(), token: None, folder, is_offline: false }
    }

    async fn fetch(&self, name: &str) -> Result<Found, HubError> {
        Hub::new(self.options()).fetch(&name_of(name), &mut |_| {}).await
    }

    fn ranges(&self) -> Vec<String> {
        self.hub.calls().into_iter().filter(|call| call.is_for_bytes).map(|call| call.range).collect()
    }
}

fn name_of(text: &str) -> HubName {
    text.parse().unwrap()
}

fn words(outcome: Result<Found, HubError>) -> String {
    outcome.unwrap_err().to_string()
}

#[tokio::test]
async fn a_model_is_downloaded_once_and_found_in_the_layout_that_other_tools_share() {
    let rig = Rig::start().await;
    let found = rig.fetch("hf:o/one").await.unwrap();
    let folder = rig.cache.path().join("hub/models--o--one");
    assert_eq!(found.path, folder.join("snapshots").join(COMMIT).join("one-Q4_K_M.gguf"));
    assert!(found.is_new && fs::read(&found.path).unwrap() == large(1));
    assert_eq!(fs::read_to_string(folder.join("refs/main")).unwrap(), COMMIT);
    let target = fs::read_link(&found.path).unwrap();
    assert!(target.starts_with("../../blobs") && target.file_name().unwrap().len() == 64, "{target:?}");
    let calls = rig.hub.calls().len();
    assert_eq!(rig.fetch("hf:o/one:q4_k_m").await.unwrap(), Found { is_new: false, ..found });
    assert_eq!(rig.hub.calls().len(), calls, "nothing is asked for what is there");
    let leftovers = fs::read_dir(folder.join("blobs")).unwrap().count();
    assert_eq!(leftovers, 1);
}

#[tokio::test]
async fn a_split_model_comes_with_all_its_parts_and_progress_counts_them_together() {
    let rig = Rig::start().await;
    let mut seen = Vec::new();
    let hub = Hub::new(rig.options());
    let found =
        hub.fetch(&name_of("hf:o/split:Q4_0"), &mut |it| seen.push((it.done, it.total))).await.unwrap();
    assert!(found.path.ends_with("q/m-Q4_0-00001-of-00002.gguf"));
    let second = found.path.with_file_name("m-Q4_0-00002-of-00002.gguf");
    assert_eq!(fs::read(second).unwrap(), large(2));
    assert!(seen.is_sorted() && seen.last() == Some(&(1_600_000, 1_600_000)), "{:?}", seen.last());
}

#[tokio::test]
async fn a_download_that_is_cut_goes_on_where_it_stopped() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { breaks: vec![300_000, 200_000], ..HubBehaviour::default() });
    let found = rig.fetch("hf:o/one").await.unwrap();
    assert_eq!(fs::read(found.path).unwrap(), large(1));
    let ranges = rig.ranges();
    assert_eq!(ranges.len(), 3, "{ranges:?}");
    assert!(
        ranges[0].is_empty() && ranges[1..].iter().all(|range| range.starts_with("bytes=")),
        "{ranges:?}"
    );
}

#[tokio::test]
async fn link_in_place_of_a_file_of_the_cache_is_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let rig = Rig::start().await;
    let found = rig.fetch("hf:o/one").await.unwrap();
    let folder = rig.cache.path().join("hub/models--o--one");
    let blob = fs::canonicalize(&found.path).unwrap();
    let unfinished = blob.with_extension("incomplete");
    let lock = blob.file_name().unwrap().to_str().unwrap().to_owned() + ".lock";
    let lock = rig.cache.path().join("hub/.locks/models--o--one").join(lock);
    let victim = rig.cache.path().join("victim");
    fs::set_permissions(folder.join("blobs"), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = async |what: &str| {
        fs::write(&victim, "secret").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        let refused = words(rig.fetch("hf:o/one").await);
        assert!(refused.contains(what), "{refused}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "secret");
        assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o600);
    };
    fs::remove_file(&blob).unwrap();
    symlink(&victim, &unfinished).unwrap();
    refused("is a link").await;
    fs::remove_file(&unfinished).unwrap();
    fs::hard_link(&victim, &unfinished).unwrap();
    refused("has another name too").await;
    fs::remove_file(&unfinished).unwrap();
    fs::remove_file(&lock).unwrap();
    symlink(rig.cache.path().join("nowhere"), &lock).unwrap();
    refused("is a link").await;
    assert!(!rig.cache.path().join("nowhere").exists());
    fs::remove_file(&lock).unwrap();
    symlink("/dev/zero", folder.join("refs/main.new")).unwrap();
    fs::rename(folder.join("refs/main.new"), folder.join("refs/main")).unwrap();
    let found = rig.fetch("hf:o/one").await.unwrap();
    assert_eq!(fs::read(found.path).unwrap(), large(1));
    assert_eq!(fs::read_to_string(folder.join("refs/main")).unwrap(), COMMIT);
}

#[tokio::test]
async fn a_download_goes_on_in_the_next_process_too() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { breaks: vec![300_000, 0, 0, 0, 0, 0, 0], ..HubBehaviour::default() });
    assert!(words(rig.fetch("hf:o/one").await).contains("cannot be reached"));
    assert_eq!(Hub::new(rig.options()).find(&name_of("hf:o/one")), None, "half a file is none");
    rig.behave(HubBehaviour::default());
    let found = rig.fetch("hf:o/one").await.unwrap();
    assert_eq!(fs::read(found.path).unwrap(), large(1));
    let last = rig.ranges().pop().unwrap();
    let start: u64 = last.strip_prefix("bytes=").unwrap().strip_suffix('-').unwrap().parse().unwrap();
    assert!((1..=300_000).contains(&start), "{last}");
}

#[tokio::test]
async fn a_server_that_knows_no_ranges_is_asked_for_the_whole() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { breaks: vec![300_000], ignores_ranges: true, ..HubBehaviour::default() });
    let found = rig.fetch("hf:o/one").await.unwrap();
    assert_eq!(fs::read(found.path).unwrap(), large(1));
}

#[tokio::test]
async fn what_was_damaged_on_its_way_is_refused_and_not_kept() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { is_damaged: true, ..HubBehaviour::default() });
    let refused = words(rig.fetch("hf:o/one").await);
    assert!(refused.starts_with("one-Q4_K_M.gguf was damaged on its way: its SHA-256 is "), "{refused}");
    let blobs = rig.cache.path().join("hub/models--o--one/blobs");
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
    rig.behave(HubBehaviour::default());
    assert!(rig.fetch("hf:o/one").await.unwrap().is_new);
}

#[tokio::test]
async fn a_gated_model_needs_a_token_which_no_other_host_is_sent() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { token: Some("hf_good".to_owned()), ..HubBehaviour::default() });
    let refused = words(rig.fetch("hf:o/one").await);
    assert!(
        refused.contains("is gated: ask for access at http://")
            && refused.contains("/o/one, then set HF_TOKEN"),
        "{refused}"
    );
    let with = |token: &str| Hub::new(HubOptions { token: Some(token.to_owned()), ..rig.options() });
    let wrong = with("hf_bad").fetch(&name_of("hf:o/one"), &mut |_| {}).await;
    assert!(words(wrong).contains("refuses HF_TOKEN"));
    with("hf_good").fetch(&name_of("hf:o/one"), &mut |_| {}).await.unwrap();
    let calls = rig.hub.calls();
    let (bytes, api): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.is_for_bytes);
    assert!(!bytes.is_empty() && bytes.iter().all(|call| call.authorization.is_empty()), "{bytes:?}");
    assert_eq!(api.last().unwrap().authorization, "Bearer hf_good");
}

#[tokio::test]
async fn what_is_not_there_is_said_clearly() {
    let rig = Rig::start().await;
    for (name, expected) in [
        ("hf:o/none", "the Hub shows no model hf:o/none"),
        ("hf:o/one@v9", "hf:o/one@v9 has no such revision"),
        ("hf:o/one:Q2_K", "has no file with Q2_K; its GGUF files: one-Q4_K_M.gguf, one-Q8_0.gguf"),
        ("hf:o/text", "has no GGUF file"),
        ("hf:o/hostile", "has no GGUF file"),
    ] {
        let said = words(rig.fetch(name).await);
        assert!(said.contains(expected), "{name}: {said}");
    }
    let offline = Hub::new(HubOptions { is_offline: true, ..rig.options() });
    let said = words(offline.fetch(&name_of("hf:o/one"), &mut |_| {}).await);
    assert!(said.contains("HF_HUB_OFFLINE forbids"), "{said}");
    let nowhere = Hub::new(HubOptions { endpoint: "http://127.0.0.1:9".to_owned(), ..rig.options() });
    let error = nowhere.fetch(&name_of("hf:o/one"), &mut |_| {}).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn what_the_cache_has_is_listed_and_removed() {
    let rig = Rig::start().await;
    let folder = rig.options().folder;
    assert_eq!(list(&folder).unwrap(), []);
    for name in ["hf:o/one:Q4_K_M", "hf:o/one:Q8_0", "hf:o/split"] {
        rig.fetch(name).await.unwrap();
    }
    let names =
        |folder: &Path| list(folder).unwrap().into_iter().map(|it| (it.name, it.bytes)).collect::<Vec<_>>();
    assert_eq!(
        names(&folder),
        [
            ("hf:o/one:one-Q4_K_M.gguf".to_owned(), 800_000),
            ("hf:o/one:one-Q8_0.gguf".to_owned(), 800_000),
            ("hf:o/split:q/m-Q4_0-00001-of-00002.gguf".to_owned(), 800_000),
            ("hf:o/split:q/m-Q4_0-00002-of-00002.gguf".to_owned(), 800_000),
        ]
    );
    assert_eq!(remove(&folder, &name_of("hf:o/one:q8_0")).unwrap(), 800_000);
    assert_eq!(remove(&folder, &name_of("hf:o/one:q8_0")).unwrap(), 0);
    assert!(rig.fetch("hf:o/one:q4_k_m").await.is_ok_and(|found| !found.is_new));
    assert_eq!(remove(&folder, &name_of("hf:o/split:Q4_0")).unwrap(), 1_600_000, "both parts");
    assert_eq!(remove(&folder, &name_of("hf:o/split")).unwrap(), 0);
    assert_eq!(names(&folder).len(), 1);
}

#[tokio::test]
async fn a_file_of_which_no_sum_is_stated_is_not_downloaded() {
    let rig = Rig::start().await;
    rig.behave(HubBehaviour { states_no_sums: true, ..HubBehaviour::default() });
    assert_eq!(words(rig.fetch("hf:o/one").await), "the Hub states no SHA-256 of one-Q4_K_M.gguf");
    assert_eq!(rig.ranges().len(), 0);
}

#[tokio::test]
async fn a_name_without_a_file_means_the_same_whatever_the_cache_has() {
    let rig = Rig::start().await;
    let other = rig.fetch("hf:o/one:Q8_0").await.unwrap();
    let meant = rig.fetch("hf:o/one").await.unwrap();
    assert!(meant.is_new && meant.path.ends_with("one-Q4_K_M.gguf"));
    let folder = rig.options().folder;
    assert_eq!(remove(&folder, &name_of("hf:o/one:Q4_K_M")).unwrap(), 800_000);
    let offline = Hub::new(HubOptions { is_offline: true, ..rig.options() });
    let found = offline.fetch(&name_of("hf:o/one"), &mut |_| {}).await.unwrap();
    assert_eq!(found, Found { is_new: false, ..other }, "better than nothing while the Hub cannot be asked");
}

#[tokio::test]
async fn what_is_made_has_the_mode_of_the_cache() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::start().await;
    let folder = rig.options().folder;
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o775)).unwrap();
    let found = rig.fetch("hf:o/one").await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&found.path), mode(found.path.parent().unwrap())), (0o664, 0o775));
    assert_eq!(mode(&folder.join("models--o--one/refs/main")), 0o664);
}

#[tokio::test]
async fn two_who_want_the_same_download_it_once() {
    let rig = Rig::start().await;
    let (first, second) = tokio::join!(rig.fetch("hf:o/one"), rig.fetch("hf:o/one"));
    assert_eq!(first.unwrap().path, second.unwrap().path);
    assert_eq!(rig.ranges().len(), 1);
}
