// The HTTP API for programs.
import { assert, until } from "./checks.js";
import { world } from "./world.js";

/// A call with a key; returns the status and the JSON, or an array's first element.
export async function call(key, method, path, body) {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const answer = await fetch(`${world.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, json: [await answer.json()].flat()[0] };
}

/// The same; it must succeed.
export async function done(key, method, path, body) {
  const { status, json } = await call(key, method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

export const request = (content, more = {}) => ({
  request_body: { model: "m", messages: [{ role: "user", content }], max_tokens: 16 },
  ...more,
});

/// Creates a request; returns its identifier.
export const send = async (key, content, more) => (await done(key, "POST", "/v1/requests", request(content, more))).id;

/// Creates a batch; returns its identifier.
export const group = async (key, requests, more = {}) =>
  (await done(key, "POST", "/v1/batches", { requests_ids: requests, ...more })).id;

/// Waits until a request or batch is in this state.
export const ended = (key, kind, id, state = "completed") =>
  until(`${id} is ${state}`, async () => (await done(key, "GET", `/v1/${kind}/${id}/status`)).status === state);
