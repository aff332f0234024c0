//! Searches in lists.

use overnight_app::SEARCH_CHARS_MAX;
use overnight_domain::roles::Role;

use super::visit;

#[tokio::test]
async fn the_longest_search_is_what_the_form_lets_through_and_what_the_message_says() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    app.create_batch(1).await;
    for list in ["requests", "batches"] {
        let at = |search: &str| format!("/console/{}/{list}?search={search}", account.id);
        // Each is one character of several bytes.
        let longest = browser.get(&at(&"%C3%A9".repeat(SEARCH_CHARS_MAX))).await.checked(200);
        let bound = format!("maxlength=\"{SEARCH_CHARS_MAX}\"");
        longest.shows(&bound);
        let longer = browser.get(&at(&"x".repeat(SEARCH_CHARS_MAX + 1))).await.checked(422);
        let message = format!("Search must have at most {SEARCH_CHARS_MAX} characters.");
        longer.shows(&message);
    }
    app.stop().await;
}
