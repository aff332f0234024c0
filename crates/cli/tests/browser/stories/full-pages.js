// Every page of an account in which much has happened, however it is looked at.
import { nothing, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { fill } from "../lib/filling.js";
import { visit, weigh } from "../lib/looks.js";
import { world } from "../lib/world.js";
import { addressed } from "../pages.js";

/// Of a thousand rows a first visit takes a page, the sheet and the scripts; the page behind it less.
async function firstVisitWeighsLittle(page, { account, largeBatch }) {
  await (await page.context().newCDPSession(page)).send("Network.clearBrowserCache");
  await page.goto(`${world.console}/${account}/requests?batch=${largeBatch}`);
  await seen(page.getByRole("link", { name: "review-2024-49", exact: true }));
  await weigh(page);
  await page.goto(`${world.console}/${account}/requests?batch=${largeBatch}&status=failed`);
  await seen(page.getByText(/^250 × /));
  await page.getByRole("link", { name: "Next requests" }).click();
  // Those that failed alike are counted on all pages.
  await seen(page.getByText(/^250 × /));
}

export default async function play() {
  const owner = await operator();
  const names = await fill(owner.page, await firstAccount());
  await owner.page.goto(`${world.console}/${names.account}/keys`);
  await weigh(owner.page);
  await firstVisitWeighsLittle(owner.page, names);
  const wrong = [];
  for (const page of addressed(names).filter(({ isOutside }) => !isOutside)) {
    wrong.push(...(await visit(owner, page, "full")));
  }
  nothing(wrong);
}
