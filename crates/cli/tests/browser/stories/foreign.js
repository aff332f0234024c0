// To a member of one account, every other account looks as if it did not exist.
import { group, send } from "../lib/api.js";
import { somebody } from "../lib/browser.js";
import { assert, seen } from "../lib/checks.js";
import { firstAccount, invite, join, operator } from "../lib/signing-in.js";
import { command, world } from "../lib/world.js";
import { PAGES } from "../pages.js";

export default async function play() {
  const { page } = await operator();
  const own = await firstAccount();
  const { id: foreign } = await command("account create --name theirs");
  const link = await invite(page, own, "dan@example.com", "developer");
  const unknown = another(foreign);
  const { id: key, key: secret } = await command(`key create --account ${foreign}`);
  await command(`account activate ${foreign}`);
  await command(`account grant ${foreign} 5`);
  const request = await send(secret, "Nobody else's");
  const batch = await group(secret, [request]);

  const member = await somebody({ allows: (trouble) => trouble.includes("404") });
  await join(member.page, link, "dan@example.com");
  await member.page.goto(`${world.console}/${own}/keys`);
  await seen(member.page.getByRole("heading", { name: "API keys" }));

  const paths = PAGES.filter((known) => known.path.includes("{account}")).map((known) => known.path);
  for (const path of [...paths, "/{account}/nothing", "/{account}/requests/req_1", "/{account}/batches/batch_1"]) {
    const [theirs, nobodys] = [await look(member.page, path, foreign), await look(member.page, path, unknown)];
    assert.equal(theirs.status, 404, path);
    assert.deepEqual(theirs, nobodys, path);
  }
  for (const path of [`/{account}/keys/${key}/revoke`, "/{account}/keys", "/{account}/account/invitations"]) {
    const send = (account) => member.page.evaluate(post, `/console${path.replace("{account}", account)}`);
    assert.deepEqual(await send(foreign), await send(unknown), path);
  }
  // Under the own account, foreign identifiers are not found either.
  for (const [kind, id] of [["requests", request], ["batches", batch]]) {
    const theirs = await look(member.page, `/{account}/${kind}/${id}`, own);
    assert.equal(theirs.status, 404, kind);
    assert.deepEqual(theirs, await look(member.page, `/{account}/${kind}/${another(id)}`, own));
    const path = `/console/${own}/${kind}/${id}/cancel`;
    assert.equal((await member.page.evaluate(post, path)).status, 404, path);
  }
  assert.equal((await look(member.page, "/operator", "")).status, 404);
  const theirs = await member.page.evaluate(post, `/console/${own}/keys/${key}/revoke`);
  assert.equal(theirs.status, 404, "a foreign key under the own account");
  const [left] = await command(`key list --account ${foreign}`);
  assert.equal(left.revoked_at, null);
  assert.deepEqual(member.troubles, []);
}

/// An unknown identifier of the same kind.
const another = (id) => `${id.slice(0, -1)}${id.endsWith("7") ? "8" : "7"}`;

/// The content of a page without the requested identifier.
async function look(page, path, account) {
  const answer = await page.goto(`${world.console}${path.replace("{account}", account)}`);
  return { status: answer.status(), headers: Object.keys(answer.headers()).sort(), text: await answer.text() };
}

async function post(path) {
  const body = new URLSearchParams({ name: "mine", email: "mallory@example.com", role: "owner" });
  const answer = await fetch(path, { method: "POST", body });
  return { status: answer.status, text: await answer.text() };
}
