//! Many followers of one batch, without sockets.

use axum::http::header;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_app::api_keys::{self, KeyDraft, Presented};
use overnight_app::{Services, accounts, batches, requests};
use overnight_base::clock::{ManualClock, SharedClock, SystemClock};
use overnight_config::{Config, Sources};
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use overnight_testkit::postgres::Cluster;
use tempfile::TempDir;

use super::*;
use crate::context::{Context, Timeouts};
use crate::shares::Client;

const FOLLOWERS: usize = 1_000;
const MODELS: &str = r#"[{ name = "tiny" }]"#;

struct Stage {
    context: Shared,
    account: AccountKey,
    opened: Opened,
    batch: BatchId,
    requests: Vec<RequestId>,
    _folder: TempDir,
}

/// A node with its own folder, and its own database unless one is given.
async fn node(clock: SharedClock, server_url: Option<String>) -> (Shared, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = [
        ("data_dir", folder.path().display().to_string()),
        ("limits.followers_per_account", FOLLOWERS.to_string()),
        ("limits.calls_per_account", "2".to_owned()),
        ("billing.enabled", "false".to_owned()),
        ("disk_reserve", "0 B".to_owned()),
    ];
    let database = server_url.map(|url| ("database_url", url));
    let flags = flags.into_iter().chain(database).map(|(path, value)| (path.to_owned(), value)).collect();
    let environment = vec![("OVERNIGHT_MODELS".to_owned(), MODELS.to_owned())];
    let config = Config::load(&Sources { file: None, environment, flags }).expect("settings");
    let services = Services::open(config, clock).await.expect("services");
    let timeouts = Timeouts::new(&services.config().connections);
    (Context::new(services, timeouts, Vec::new()), folder)
}

/// A service with a batch of `size` requests, none of which runs.
async fn stage(size: usize) -> Stage {
    stage_on(node(ManualClock::at(1_750_000_000_000), None).await, size).await
}

async fn stage_on((context, folder): (Shared, TempDir), size: usize) -> Stage {
    let services = context.services.clone();
    let account = accounts::create(&services, "test").await.expect("an account");
    let made = api_keys::create(&services, account.id, KeyDraft::PLAIN).await.expect("a key");
    let Ok(Presented::Unread(key)) = api_keys::present(&services, made.key.as_bytes()) else {
        panic!("nothing is known of it yet")
    };
    let opened = api_keys::look_up(&services, key).await.expect("it opens the account");
    let account = account.key;
    let mut ids = Vec::new();
    for _ in 0..size {
        let body = r#"{"request_body":{"model":"tiny","messages":[{"role":"user","content":"hello"}]}}"#;
        let made = requests::create(&services, account, requests::Sent::native(body)).await;
        ids.push(made.expect("a request").into_new().expect("a new one").id);
    }
    let listed = ids.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",");
    let body = format!(r#"{{"requests_ids":[{listed}]}}"#);
    let made = batches::create(&services, account, body.into(), None).await.expect("a batch");
    let batch = made.into_new().expect("a new one").id;
    Stage { context, account, opened, batch, requests: ids, _folder: folder }
}

impl Stage {
    async fn follow(&self, format: Format) -> Followed {
        self.try_follow(format).await.expect("a follower")
    }

    async fn try_follow(&self, format: Format) -> Result<Followed, Refusal> {
        let call = self.context.shares.begin_call(Client::Account(self.account)).expect("a call");
        let wanted = Wanted { follow: true, after: None, format };
        let answered = answer(&self.context, self.opened, &call, self.batch, wanted).await?;
        Ok(Followed { body: answered.into_body(), _call: call })
    }

    async fn cancel(&self, id: RequestId) {
        requests::cancel(&self.context.services, self.account, id).await.expect("a cancel");
    }
}

/// A response, with its call.
struct Followed {
    body: Body,
    _call: CallPermit,
}

async fn next(followed: &mut Followed) -> String {
    let frame = followed.body.frame().await.expect("more").expect("no cut").into_data().expect("data");
    String::from_utf8(frame.to_vec()).expect("text")
}

#[tokio::test]
async fn a_thousand_who_follow_one_batch_cost_one_reader() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let figures = recorder.handle();
    let stage = stage(3).await;
    let _counting = metrics::set_default_local_recorder(&recorder);
    let formats = [Format::Lines, Format::Events].into_iter().cycle().take(FOLLOWERS);
    let mut followers = Vec::new();
    for format in formats {
        followers.push(stage.follow(format).await);
    }
    assert!(
        matches!(stage.try_follow(Format::Lines).await, Err(Refusal::TooManyCalls)),
        "a share of its own"
    );
    for (round, id) in stage.requests.iter().enumerate() {
        let (told, ()) = tokio::join!(join_all(followers.iter_mut().map(next)), stage.cancel(*id));
        for (place, told) in told.iter().enumerate() {
            let lead = format!("id: {id}\ndata: ");
            let line = if place % 2 == 0 { Some(told.as_str()) } else { told.strip_prefix(&lead) };
            assert!(line.is_some_and(|line| line.contains(&id.to_string())), "{round}: {told}");
        }
    }
    assert!(figures.render().contains("overnight_http_followers 1000\n"));
    for end in join_all(followers.iter_mut().map(|it| it.body.frame())).await {
        assert!(end.is_none(), "the batch has ended");
    }
    let shown = figures.render();
    assert!(shown.contains("overnight_http_followed_pages_total{reader=\"shared\"} 3\n"), "{shown}");
    assert!(!shown.contains("reader=\"own\""), "{shown}");
    drop(followers);
    assert!(figures.render().contains("overnight_http_followers 0\n"));
    assert!(stage.context.feeds.is_empty(), "a batch that nobody follows costs nothing");
}

#[tokio::test]
async fn one_who_reads_nothing_holds_up_nobody_and_catches_up_by_itself() {
    let stage = stage(12).await;
    let mut slow = stage.follow(Format::Lines).await;
    let mut honest = stage.follow(Format::Events).await;
    let mut seen = String::new();
    for id in &stage.requests {
        let (told, ()) = tokio::join!(next(&mut honest), stage.cancel(*id));
        assert!(told.starts_with(&format!("id: {id}\n")), "{told}");
        seen += &told;
    }
    assert!(honest.body.frame().await.is_none());
    // More pages passed than are kept.
    let mut lines = String::new();
    while let Some(frame) = slow.body.frame().await {
        lines += std::str::from_utf8(&frame.expect("no cut").into_data().expect("data")).expect("text");
    }
    let events = seen.lines().filter_map(|line| line.strip_prefix("data: "));
    assert!(events.eq(lines.lines()), "{seen}\n{lines}");
}

#[tokio::test]
async fn who_follows_is_cut_when_the_service_stops_and_never_told_an_end() {
    let stage = stage(2).await;
    let mut follower = stage.follow(Format::Lines).await;
    tokio::join!(next(&mut follower), stage.cancel(stage.requests[0]));
    stage.context.stop.send_replace(true);
    assert!(follower.body.frame().await.expect("a cut").is_err());
}

#[tokio::test]
async fn what_another_node_ends_is_told_too() {
    let server_url = Some(Cluster::shared().database("followed").expect("a database"));
    let clock: SharedClock = Arc::new(SystemClock);
    let stage = stage_on(node(Arc::clone(&clock), server_url.clone()).await, 3).await;
    let (other, _folder) = node(clock, server_url).await;
    let mut follower = stage.follow(Format::Events).await;
    for id in &stage.requests {
        requests::cancel(&other.services, stage.account, *id).await.expect("a cancel");
        assert!(next(&mut follower).await.starts_with(&format!("id: {id}\n")));
    }
    assert!(follower.body.frame().await.is_none());
}

#[test]
fn events_are_sent_to_whom_accepts_them_and_the_header_of_a_browser_counts() {
    let wanted = |query: &str, accept: &'static str, last: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        headers.insert(LAST_EVENT_ID, HeaderValue::from_static(last));
        let query = ResultsQuery::read(query).expect("a query");
        let wanted = Wanted::read(query, &headers)?;
        let after = wanted.after.map(|after| format!("{} {}", after.param, after.id));
        Some((wanted.follow, after.unwrap_or_default(), wanted.format == Format::Events))
    };
    let events = "text/html, Text/Event-Stream; q=1";
    assert_eq!(wanted("", events, "a"), None, "the list is as it was");
    assert_eq!(wanted("follow=false", events, "a"), None);
    assert_eq!(wanted("follow=1", "*/*", "a"), Some((true, String::new(), false)));
    assert_eq!(wanted("follow=1&after=b", "*/*", "a"), Some((true, "after b".to_owned(), false)));
    assert_eq!(wanted("after=b", events, ""), Some((false, "after b".to_owned(), true)));
    assert_eq!(wanted("follow=1&after=b", events, "a"), Some((true, "Last-Event-ID a".to_owned(), true)));
}

#[tokio::test]
async fn a_follower_whose_key_is_revoked_is_cut_at_what_comes_next() {
    let clock = ManualClock::at(1_750_000_000_000);
    let stage = stage_on(node(Arc::clone(&clock) as SharedClock, None).await, 2).await;
    let mut followed = stage.follow(Format::Lines).await;
    stage.cancel(stage.requests[0]).await;
    assert!(next(&mut followed).await.contains(&stage.requests[0].to_string()));
    let key = stage.opened.key_id;
    api_keys::revoke(&stage.context.services, key).await.expect("a key less");
    stage.cancel(stage.requests[1]).await;
    assert!(followed.body.frame().await.expect("an end").is_err());
}
