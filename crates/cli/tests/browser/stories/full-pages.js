// Every page of a full account in every view.
import { nothing, seen } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { fill } from "../lib/filling.js";
import { visit, weigh } from "../lib/looks.js";
import { world } from "../lib/world.js";
import { addressed } from "../pages.js";

/// With a thousand rows, a first visit loads a page, the style sheet and the scripts; the next page less.
async function firstVisitWeighsLittle(page, { account, largeBatch }) {
  await (await page.context().newCDPSession(page)).send("Network.clearBrowserCache");
  await page.goto(`${world.console}/${account}/requests?batch=${largeBatch}`);
  await seen(page.getByRole("link", { name: "review-2024-49", exact: true }));
  await weigh(page);
  await page.goto(`${world.console}/${account}/requests?batch=${largeBatch}&status=failed`);
  await seen(page.getByText(/^250 × /));
  await page.getByRole("link", { name: "Next requests" }).click();
  // Equal failures on all pages are counted together.
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
