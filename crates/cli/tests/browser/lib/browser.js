// One Chromium a story, and contexts (as good as separate people) that note what must never happen.
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

/// Somebody with a browser of their own: `page`, and `troubles`, which stays empty where all is well.
export async function somebody({ scripts = true, viewport = DESKTOP, allows = () => false } = {}) {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing. ./scripts/test installs what tests need.`);
  browser ??= await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: SWITCHES });
  const context = await browser.newContext({ javaScriptEnabled: scripts, viewport, reducedMotion: "reduce" });
  context.setDefaultTimeout(PATIENCE_MS);
  const troubles = [];
  watch(context, troubles, allows);
  return { context, page: await context.newPage(), troubles };
}

/// Notes errors in the console (which a refused policy is, too), calls to elsewhere and calls that failed.
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
    // A stream of a page that is left ends so.
    const isLeft = request.failure()?.errorText === "net::ERR_ABORTED" && request.resourceType() === "eventsource";
    if (!isLeft) note(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) note(`answered ${response.status()}: ${response.url()}`);
  });
}

/// Forgets the pictures of the last time.
export function forgetPictures(name) {
  const known = existsSync(world.pictures) ? readdirSync(world.pictures) : [];
  for (const file of known.filter((file) => file.startsWith(`${name}-`))) rmSync(`${world.pictures}/${file}`);
}

/// Pictures of all that is open; their paths.
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
