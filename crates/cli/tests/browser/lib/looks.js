// Checks that every page must pass in every view.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { DESKTOP, PHONE } from "./browser.js";
import { assert, seen } from "./checks.js";
import { resetWatchdog } from "./watchdog.js";
import { world } from "./world.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const EVERYTHING = { type: "tag", values: TAGS };
// Only colours change with the scheme: if the same page was checked completely, only they are checked again.
const COLOURS = { type: "rule", values: ["color-contrast"] };
const LOOKS = [
  ["desktop-light", DESKTOP, "light", EVERYTHING],
  ["desktop-dark", DESKTOP, "dark", COLOURS],
  ["phone-dark", PHONE, "dark", EVERYTHING],
  ["phone-light", PHONE, "light", COLOURS],
];

/// Opens a page and checks every view of it; returns the faults, one on each line.
export async function visit({ page, troubles }, { name, path, heading, status = 200 }, folder) {
  resetWatchdog();
  troubles.length = 0;
  const answer = await page.goto(`${world.console}${path}`);
  if (answer.status() !== status) return [`${name}: answered ${answer.status()}`];
  await seen(page.getByRole("heading", { level: 1, name: heading, exact: typeof heading === "string" }));
  const wrong = await look(page, name, folder);
  const isExpected = (trouble) => status >= 400 && trouble.includes(`${status}`);
  wrong.push(...troubles.filter((trouble) => !isExpected(trouble)).map((trouble) => `${name}: ${trouble}`));
  return wrong;
}

/// Checks every view of the open page; returns the faults, one on each line.
export async function look(page, name, folder) {
  const wrong = [];
  for (const [way, viewport, colorScheme, rules] of LOOKS) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const told = (what) => wrong.push(`${name}, ${way}: ${what}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) told(`${wide} px wider than the window`);
    for (const violation of await violations(page, rules)) told(violation);
    mkdirSync(`${world.pictures}/${folder}`, { recursive: true });
    await page.screenshot({ path: `${world.pictures}/${folder}/${name}-${way}.png`, fullPage: true });
  }
  return wrong;
}

/// The findings of axe-core, which runs outside the page's policy, like a debugger.
async function violations(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const found = await page.evaluate(
    (runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }),
    rules,
  );
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id} (${help}): ${node.target.join(" ")} ${node.any.map((check) => check.message).join("; ")}`));
}

/// Checks that a first visit transfers little, and that the document itself names everything that the page needs.
export async function weigh(page) {
  const loads = await page.evaluate(() =>
    ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
      .map(({ name, initiatorType, encodedBodySize }) => ({ name, initiatorType, encodedBodySize })));
  const assets = loads.filter((load) => load.initiatorType !== "navigation" && !load.name.startsWith("data:"));
  for (const { name } of assets) {
    const path = new URL(name).pathname;
    const isNamed = await page.locator(`link[href="${path}"], script[src="${path}"]`).count();
    assert.equal(isNamed, 1, `${path} is named by something other than the document`);
  }
  const bytes = loads.reduce((sum, load) => sum + load.encodedBodySize, 0);
  assert.ok(bytes > 2_000 && bytes < 60_000, `the page weighs ${bytes} bytes`);
}
