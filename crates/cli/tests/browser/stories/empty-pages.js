// Every page of an empty account in every view.
import { nothing } from "../lib/checks.js";
import { operator } from "../lib/signing-in.js";
import { visit, weigh } from "../lib/looks.js";
import { somebody } from "../lib/browser.js";
import { command, world } from "../lib/world.js";
import { addressed } from "../pages.js";

export default async function play() {
  const outside = await somebody();
  const pages = addressed({ link: world.signInUrl.split("/").at(-1) });
  const wrong = [];
  for (const page of pages.filter(({ isOutside }) => isOutside)) wrong.push(...(await visit(outside, page, "empty")));
  const inside = await operator();
  const { id: account } = await command("account create --name research");
  await inside.page.reload();
  await weigh(inside.page);
  for (const page of addressed({ account }).filter(({ isOutside }) => !isOutside)) {
    wrong.push(...(await visit(inside, page, "empty")));
  }
  nothing(wrong);
}
