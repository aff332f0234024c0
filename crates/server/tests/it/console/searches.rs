//! Lists in which something is looked for.

use overnight_domain::roles::Role;
use overnight_server::app::SEARCH_CHARS_MAX;

use super::{both_accounts, member};
use crate::support::TestApp;

#[tokio::test]
async fn the_longest_search_is_what_the_form_lets_through_and_what_the_message_says() {
    let app = TestApp::start().await;
    let [account, _] = both_accounts(&app).await;
    app.create_batch(1).await;
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    for list in ["requests", "batches"] {
        let at = |search: &str| format!("/console/{}/{list}?search={search}", account.id);
        // Each is one character of several bytes.
        let longest = browser.get(&at(&"%C3%A9".repeat(SEARCH_CHARS_MAX))).await;
        assert_eq!(longest.status, 200, "{}", longest.text());
        let bound = format!("maxlength=\"{SEARCH_CHARS_MAX}\"");
        assert!(longest.text().contains(&bound), "{}", longest.text());
        let longer = browser.get(&at(&"x".repeat(SEARCH_CHARS_MAX + 1))).await;
        assert_eq!(longer.status, 422, "{}", longer.text());
        let message = format!("Search must have at most {SEARCH_CHARS_MAX} characters.");
        assert!(longer.text().contains(&message), "{}", longer.text());
    }
    app.stop().await;
}
