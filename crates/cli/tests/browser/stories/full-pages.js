// Every page of an account in which much has happened, however it is looked at.
import { assert } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { fill } from "../lib/filling.js";
import { visit, weigh } from "../lib/looks.js";
import { world } from "../lib/world.js";
import { addressed } from "../pages.js";

export default async function play() {
  const owner = await operator();
  const names = await fill(owner.page, await firstAccount());
  await owner.page.goto(`${world.console}/${names.account}/keys`);
  await weigh(owner.page);
  const wrong = [];
  for (const page of addressed(names).filter(({ isOutside }) => !isOutside)) {
    wrong.push(...(await visit(owner, page, "full")));
  }
  assert.deepEqual(wrong, []);
}
