use overnight_client::administration::{
    CreateAccount, CreateApiKey, CreateGrant, SetLimits, SetLowCredits, SetMonthlyCredits, SetRetention,
};
use overnight_client::{Error, LowCredits, UsageFilter};

use crate::stand_in::{StandIn, refusal, reply};

const ACCOUNT: &str = concat!(
    r#"{"id":"acct_1","name":"acme","created_at":1,"balance":"25","held":"0","available":"25","payments_activated":true,"#,
    r#""low_credits":{"threshold":"10","webhook":"https://example.com/"},"a_later_release":1}"#
);
const KEY: &str = concat!(
    r#"{"id":"key_1","prefix":"on_live_1","name":null,"scope":"write","created_at":1,"expires_at":null,"#,
    r#""revoked_at":null,"last_used_at":null}"#
);

fn told(service: &StandIn) -> Vec<String> {
    let tell = |asked: String| {
        let (head, body) = asked.split_once("\r\n\r\n").expect("a head");
        let call = head.lines().next().and_then(|line| line.strip_suffix(" HTTP/1.1")).expect("a call");
        let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap_or("-");
        format!("{} {key} {body}", call.replacen("/v1/admin", "", 1)).trim_end().to_owned()
    };
    service.asked().into_iter().map(tell).collect()
}

#[tokio::test]
async fn each_call_has_its_path_its_body_and_its_key() {
    let limits = SetLimits { tokens_per_day: Some(7.into()), ..SetLimits::default() };
    let grants = r#"{"object":"list","data":[{"source":"a","amount":"25","created_at":1}],"next":"7"}"#;
    let replies = [
        format!(r#"{{"object":"list","data":[{ACCOUNT}],"next":null}}"#),
        ACCOUNT.to_owned(),
        ACCOUNT.to_owned(),
        format!(r#"{{"key":"on_live_1","record":{KEY}}}"#),
        r#"{"source":"invoice 7","amount":"25","is_new":true,"available":"25"}"#.to_owned(),
        grants.to_owned(),
        format!(r#"{{"object":"list","data":[{KEY}],"is_cut":false}}"#),
        KEY.to_owned(),
    ];
    let settings = std::iter::repeat_n(ACCOUNT.to_owned(), 9);
    let replies = replies.into_iter().chain(settings).map(|body| reply("200 OK", &body)).collect();
    let service = StandIn::start(replies).await;
    let admin = service.client.administration();
    let listed = admin.list_accounts(Some("acct_0")).await.expect("accounts").data.remove(0);
    let low = LowCredits { threshold: "10".to_owned(), webhook: "https://example.com/".to_owned() };
    assert_eq!((listed.id.as_str(), listed.low_credits), ("acct_1", Some(low)));
    admin.get_account("acct_1").await.expect("an account");
    let once = admin.once("acme-1").expect("a key");
    let account = CreateAccount { name: "acme".to_owned(), payments_activated: None };
    once.create_account(&account).await.expect("an account");
    let made = once.create_api_key("acct_1", &CreateApiKey::default()).await.expect("a key");
    assert_eq!((made.key.as_str(), made.record.id.as_str()), ("on_live_1", "key_1"));
    let grant = CreateGrant { amount: "25".to_owned(), source: Some("invoice 7".to_owned()) };
    assert!(once.create_grant("acct_1", &grant).await.expect("a grant").is_new);
    assert_eq!(admin.list_grants("acct_1", None).await.expect("grants").next.as_deref(), Some("7"));
    assert!(!admin.list_api_keys("acct_1").await.expect("keys").is_cut);
    admin.revoke_api_key("acct_1", "key_1").await.expect("a key");
    for outcome in [
        admin.activate_account("acct_1").await,
        admin.suspend_account("acct_1").await,
        admin.resume_account("acct_1").await,
        once.set_account_limits("acct_1", &limits).await,
        once.set_monthly_credits("acct_1", &SetMonthlyCredits { amount: Some("5".to_owned()) }).await,
        once.set_low_credits("acct_1", &SetLowCredits::default()).await,
        once.set_retention("acct_1", &SetRetention { retention_seconds: Some("none".into()) }).await,
        once.close_account("acct_1").await,
        once.erase_account("acct_1").await,
    ] {
        assert_eq!(outcome.expect("an account").id, "acct_1");
    }
    let expected = [
        "GET /accounts?after=acct_0 -",
        "GET /accounts/acct_1 -",
        r#"POST /accounts acme-1 {"name":"acme","payments_activated":null}"#,
        r#"POST /accounts/acct_1/api_keys acme-1 {"name":null,"scope":null,"expires_in":null}"#,
        r#"POST /accounts/acct_1/grants acme-1 {"amount":"25","source":"invoice 7"}"#,
        "GET /accounts/acct_1/grants -",
        "GET /accounts/acct_1/api_keys -",
        "POST /accounts/acct_1/api_keys/key_1/revoke -",
        "POST /accounts/acct_1/activate -",
        "POST /accounts/acct_1/suspend -",
        "POST /accounts/acct_1/resume -",
        r#"POST /accounts/acct_1/limits - {"tokens_per_day":7}"#,
        r#"POST /accounts/acct_1/monthly_credits acme-1 {"amount":"5"}"#,
        r#"POST /accounts/acct_1/low_credits acme-1 {"threshold":null,"webhook":null}"#,
        r#"POST /accounts/acct_1/retention acme-1 {"retention_seconds":"none"}"#,
        "POST /accounts/acct_1/close acme-1",
        "POST /accounts/acct_1/erase acme-1",
    ];
    assert_eq!(told(&service), expected);
}

#[tokio::test]
async fn a_refusal_and_a_key_that_cannot_be_are_told() {
    let service = StandIn::start(vec![refusal("403 Forbidden", "insufficient_scope")]).await;
    let admin = service.client.administration();
    assert!(matches!(admin.once("a key"), Err(Error::Invalid(_))));
    assert!(matches!(admin.get_account("..").await, Err(Error::Invalid(_))));
    let refused = admin.get_account("acct_1").await;
    assert!(matches!(refused, Err(Error::Api { status: 403, .. })), "{refused:?}");
}

#[tokio::test]
async fn usage_is_listed_by_what_the_filter_says() {
    let list = concat!(
        r#"{"object":"list","data":[{"day":null,"model":null,"api_key_id":"key_1","api_key_name":"eval","requests":1,"#,
        r#""prompt_tokens":3,"completion_tokens":1,"credits":"0.1","a_later_release":1}],"next":null}"#
    );
    let service = StandIn::start(vec![reply("200 OK", list); 2]).await;
    let filter =
        UsageFilter { group_by: Some("api_key".to_owned()), limit: Some(7), ..UsageFilter::default() };
    let own = service.client.list_usage(&filter).await.expect("usage");
    assert_eq!((own.data[0].api_key_id.as_deref(), own.data[0].requests), (Some("key_1"), 1));
    let theirs = service.client.administration().list_usage("acct_1", &filter).await.expect("usage");
    assert_eq!(theirs, own);
    let query = "usage?group_by=api_key&limit=7 -";
    assert_eq!(told(&service), [format!("GET /v1/{query}"), format!("GET /accounts/acct_1/{query}")]);
}

#[tokio::test]
async fn the_place_of_a_page_is_percent_encoded_whatever_it_holds() {
    let service = StandIn::start(vec![reply("200 OK", r#"{"object":"list","data":[],"next":null}"#)]).await;
    let after = Some("2026-11-27,,,a&b=c d+e#f%,ü".to_owned());
    let filter = UsageFilter { after, ..UsageFilter::default() };
    service.client.list_usage(&filter).await.expect("usage");
    let encoded = "2026-11-27%2C%2C%2Ca%26b%3Dc+d%2Be%23f%25%2C%C3%BC";
    assert_eq!(told(&service), [format!("GET /v1/usage?after={encoded} -")]);
}
