// One Chromium for each story, with a context for each person. Contexts record forbidden events.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { chromium } from "playwright-core";
import { PATIENCE_MS } from "./checks.js";
import { world } from "./world.js";

const EXECUTABLE = process.env.CHROMIUM || "/usr/bin/chromium";
const SWITCHES = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

let browser = null;

/// A person with a separate context: `page`, and `troubles`, which must stay empty.
export async function somebody({ scripts = true, viewport = DESKTOP, allows = () => false } = {}) {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing. ./scripts/test installs what tests need.`);
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: SWITCHES });
  const context = await browser.newContext({ javaScriptEnabled: scripts, viewport, reducedMotion: "reduce" });
  context.setDefaultTimeout(PATIENCE_MS);
  const troubles = [];
  watch(context, troubles, allows);
  return { context, page: await context.newPage(), troubles };
}

/// Records errors in the console (including violations of the policy), calls to other hosts and failed calls.
function watch(context, troubles, allows) {
  const note = (trouble) => allows(trouble) || troubles.push(trouble);
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) note(`console: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => note(`script: ${error.error().stack}`));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${world.url}/`) && !url.startsWith("data:")) note(`elsewhere: ${url}`);
  });
  context.on("requestfailed", (request) => {
    // A stream ends this way when its page is left.
    const isLeft = request.failure()?.errorText === "net::ERR_ABORTED" && request.resourceType() === "eventsource";
    if (!isLeft) note(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) note(`answered ${response.status()}: ${response.url()}`);
  });
}

/// Removes the pictures of the last run.
export function forgetPictures(name) {
  const known = existsSync(world.pictures) ? readdirSync(world.pictures) : [];
  for (const file of known.filter((file) => file.startsWith(`${name}-`))) rmSync(`${world.pictures}/${file}`);
}

/// Pictures of all open pages; returns their paths.
export async function picture(name) {
  const pages = (browser?.contexts() ?? []).flatMap((context) => context.pages());
  mkdirSync(world.pictures, { recursive: true });
  const paths = pages.map(async (page, at) => {
    const path = `${world.pictures}/${name}-${at}.png`;
    const taken = page.screenshot({ path, fullPage: true, timeout: 5_000 });
    return taken.then(() => `${page.url()}: ${path}`, (error) => `${page.url()}: no picture, ${error.message}`);
  });
  return Promise.all(paths);
}

export const closeBrowser = async () => browser?.close();
