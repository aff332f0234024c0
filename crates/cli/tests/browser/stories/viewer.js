// A viewer reads and changes nothing, neither with the pages' controls nor with forged forms.
import { somebody } from "../lib/browser.js";
import { absent, assert, seen } from "../lib/checks.js";
import { firstAccount, invite, join, operator } from "../lib/signing-in.js";
import { done, group, send } from "../lib/api.js";
import { command, delayAnswers, world } from "../lib/world.js";

export default async function play() {
  const { page } = await operator();
  const account = await firstAccount();
  const link = await invite(page, account, "vera@example.com", "viewer");
  await command(`key create --account ${account} --name theirs`);
  await delayAnswers(600_000);
  const request = await send(world.apiKey, "Still on its way");
  const batch = await group(world.apiKey, [await send(world.apiKey, "This one too")]);

  const viewer = await somebody({ allows: (trouble) => trouble.includes("403") });
  await join(viewer.page, link, "vera@example.com");
  await viewer.page.goto(`${world.console}/${account}/keys`);
  await seen(viewer.page.getByText("You look at this account as a viewer"));
  await seen(viewer.page.getByRole("row").filter({ hasText: "theirs" }));
  for (const name of ["Create key", "Revoke this key"]) await absent(viewer.page.getByRole("button", { name }));
  await absent(viewer.page.getByText("Revoke", { exact: true }));
  await absent(viewer.page.getByRole("link", { name: "Operator" }));

  const work = { request, batch };
  for (const path of ["requests", `requests/${request}`, "batches", `batches/${batch}`, "new", "playground", "webhooks"]) {
    await viewer.page.goto(`${world.console}/${account}/${path}`);
    await seen(viewer.page.getByRole("heading", { level: 1 }));
    for (const name of [/cancel/i, /send/i, /^Check/, /secret/i]) await absent(viewer.page.getByRole("button", { name }));
  }

  const before = await state(account, work);
  for (const [path, fields] of forgeries(account, before.keys, work)) {
    const status = await viewer.page.evaluate(forge, [path, fields]);
    assert.equal(status, path.startsWith("/console/operator") ? 404 : 403, path);
  }
  assert.deepEqual(await state(account, work), before);

  await viewer.page.goto(`${world.console}/${account}/account`);
  for (const name of ["Change", "Add member"]) await absent(viewer.page.getByRole("button", { name }));
  await viewer.page.goto(`${world.console}/${account}/credits`);
  await absent(viewer.page.getByRole("button", { name: "Order credits" }));
  assert.deepEqual(viewer.troubles.filter((trouble) => !trouble.includes("404")), []);
}

const forgeries = (account, keys, { request, batch }) => [
  [`/console/${account}/keys`, { name: "mine", expires: "never" }],
  ...keys.map((key) => [`/console/${account}/keys/${key.id}/revoke`, {}]),
  [`/console/${account}/account/invitations`, { email: "mallory@example.com", role: "owner" }],
  [`/console/${account}/credits/top-up`, { amount: "5" }],
  [`/console/${account}/requests/${request}/cancel`, {}],
  [`/console/${account}/requests/${request}/again`, {}],
  [`/console/${account}/playground`, { model: "m", prompt: "mine" }],
  [`/console/${account}/batches/${batch}/cancel`, {}],
  [`/console/${account}/batches/${batch}/again`, {}],
  [`/console/${account}/new`, { lines: '{"model": "m", "messages": [{"role": "user", "content": "mine"}]}' }],
  [`/console/${account}/webhooks/rotate`, {}],
  [`/console/${account}/webhooks/test`, { url: world.receiver }],
  [`/console/${account}/webhooks/replay`, {}],
  [`/console/operator/accounts/${account}/grant`, { amount: "5" }],
];

/// A form sent without the page, with the viewer's own cookie.
async function forge([path, fields]) {
  const form = path.endsWith("/new") ? new FormData() : new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const sent = await fetch(path, { method: "POST", body: form, redirect: "manual" });
  await sent.text();
  return sent.status;
}

async function state(account, { request, batch }) {
  const keys = await command(`key list --account ${account}`);
  const shown = await command(`account show ${account}`);
  return {
    keys: keys.map(({ id, revoked_at }) => ({ id, revoked_at })),
    balance: shown.balance,
    requests: (await command("list requests --limit 0")).map(({ id }) => id),
    ended: (await done(world.apiKey, "GET", `/v1/requests/${request}/status`)).ended_at,
    cancelled: (await done(world.apiKey, "GET", `/v1/batches/${batch}/status`)).cancelled_at,
    secret: await command(`webhook secret --account ${account}`),
    events: await command(`webhook events --account ${account}`),
  };
}
