//! Lists of the console that go on over several pages.

use overnight_domain::roles::Role;
use overnight_server::app::accounts;

use super::{both_accounts, member};
use crate::support::TestApp;

#[tokio::test]
async fn the_ledger_goes_on_behind_its_first_page_and_ends_with_its_last_entry() {
    let app = TestApp::start().await;
    let [account, _] = both_accounts(&app).await;
    for number in 0..60 {
        let source = format!("grant-{number}");
        let amount = "1".parse().unwrap();
        accounts::grant(&app.services, account.id, amount, Some(&source)).await.unwrap();
    }
    let mut browser = member(&app, &account, "a@example.com", Role::Viewer).await;
    let first = format!("/console/{}/credits", account.id);
    let (mut next, mut seen, mut pages) = (Some(format!("{first}?kind=grant")), Vec::new(), 0);
    while let Some(path) = next {
        let answered = browser.get(&path).await;
        let page = answered.text();
        pages += 1;
        seen.extend((0..60).rev().filter(|number| page.contains(&format!(">grant-{number}<"))));
        next = page.split("href=\"").find(|part| part.contains("\">Older entries")).map(|part| {
            let path = part.split('"').next().unwrap();
            path.replace("&#38;", "&")
        });
        assert!(next.as_ref().is_none_or(|path| path.ends_with("&kind=grant")), "{next:?}");
    }
    assert_eq!((pages, seen), (3, (0..60).rev().collect()));
    let none = browser.get(&format!("{first}?kind=dispute")).await;
    assert!(none.text().contains("No matching entries."), "{}", none.text());
    app.stop().await;
}
