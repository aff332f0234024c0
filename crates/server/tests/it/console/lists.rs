//! Lists of the console with several pages.

use overnight_app::accounts;
use overnight_domain::roles::Role;

use super::visit;

#[tokio::test]
async fn the_ledger_goes_on_behind_its_first_page_and_ends_with_its_last_entry() {
    let (app, account, mut browser) = visit("a@example.com", Role::Viewer).await;
    for number in 0..60 {
        let source = format!("grant-{number}");
        let amount = "1".parse().unwrap();
        accounts::grant(&app.services, account.id, amount, Some(&source)).await.unwrap();
    }
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
    browser.get(&format!("{first}?kind=dispute")).await.shows("No matching entries.");
    app.stop().await;
}
