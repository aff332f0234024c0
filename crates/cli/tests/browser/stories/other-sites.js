// Another site's pages in the browser of a signed-in user: their calls have no effect, and a frame shows nothing. One page is of the same
// site (another port of the host), one of another site (another name of this machine).
import { createServer } from "node:http";
import { absent, assert, seen, until } from "../lib/checks.js";
import { firstAccount, operator } from "../lib/signing-in.js";
import { command, world } from "../lib/world.js";

export default async function play() {
  const { context, page, troubles } = await operator();
  const account = await firstAccount();
  const before = await command(`key list --account ${account}`);
  const evil = await serve(account);
  try {
    for (const host of ["127.0.0.1", "localhost"]) {
      const origin = `http://${host}:${evil.address().port}`;
      for (const name of ["127.0.0.1", "localhost"]) await sends(context, `${origin}/send?to=${name}`);
      await asks(context, `${origin}/ask`);
      await frames({ context, troubles }, `${origin}/frame`);
    }
    assert.deepEqual(await command(`key list --account ${account}`), before, "no key was made or revoked");
    await page.goto(`${world.console}/${account}/keys`);
    await seen(page.getByRole("heading", { name: "API keys" }));
    await absent(page.getByText("made elsewhere"));
    assert.ok(troubles.some((trouble) => trouble.startsWith("answered 403")), "the browser did send");
  } finally {
    evil.close();
    evil.closeAllConnections();
  }
}

/// A form that submits itself.
async function sends(context, url) {
  const page = await context.newPage();
  const [answer] = await Promise.all([page.waitForResponse((response) => response.request().method() === "POST"), page.goto(url)]);
  assert.equal(answer.status(), 403, url);
  await seen(page.getByRole("heading", { name: "Not from here" }));
  await page.close();
}

/// A script that calls with the cookie, if the browser sends it, and reads the answer.
async function asks(context, url) {
  const page = await context.newPage();
  await page.goto(url);
  const told = await until("the script is through", () => page.evaluate(() => window.told));
  assert.deepEqual(told, { sent: "TypeError", read: "TypeError", blind: "TypeError" }, url);
  await page.close();
}

async function frames({ context, troubles }, url) {
  const before = troubles.length;
  const page = await context.newPage();
  await page.goto(url);
  const frame = await until("the frame is there", () => page.mainFrame().childFrames()[0]);
  const isRefusal = (trouble) => /^console: .*(frame-ancestors|X-Frame-Options)/i.test(trouble);
  await until("the browser has refused it", () => troubles.slice(before).some(isRefusal));
  assert.ok(!frame.url().startsWith(world.url), frame.url());
  const shown = await frame.evaluate(() => document.body.innerText);
  assert.ok(!/API keys|Operator|Sign in/.test(shown), shown);
  await page.close();
}

/// A server with the other site's pages.
async function serve(account) {
  const port = new URL(world.url).port;
  const keys = `http://127.0.0.1:${port}/console/${account}/keys`;
  const pages = {
    "/send": (to) =>
      `<form method="post" action="${keys.replace("127.0.0.1", to)}"><input name="name" value="made elsewhere">
       <input name="expires" value="never"></form><script>document.forms[0].submit()</script>`,
    "/ask": () =>
      `<script>(async () => {
        const body = new URLSearchParams({ name: "made elsewhere", expires: "never" });
        const tell = (answer) => answer.name ?? answer.type;
        const call = (more) => fetch("${keys}", { credentials: "include", ...more }).then(tell, tell);
        const sent = await call({ method: "POST", mode: "no-cors", body });
        window.told = { sent, read: await call({}), blind: await call({ mode: "no-cors" }) };
      })()</script>`,
    "/frame": () => `<iframe src="${keys}" width="800" height="600"></iframe>`,
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    const page = pages[url.pathname]?.(url.searchParams.get("to"));
    response.writeHead(page ? 200 : 404, { "Content-Type": "text/html" });
    response.end(page && `<!doctype html><title>Elsewhere</title>${page}`);
  });
  await new Promise((listening) => server.listen(0, listening));
  return server;
}
