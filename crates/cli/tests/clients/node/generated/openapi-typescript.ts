// A client that openapi-typescript and openapi-fetch make: it posts, waits, groups and reads.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const overnight = createClient<paths>({
  baseUrl: process.env.CLIENT_URL,
  headers: { "X-API-Key": process.env.CLIENT_KEY },
});

async function main() {
  const created = await overnight.POST("/v1/requests", {
    body: {
      request_body: { model: "overnight-tiny", messages: [{ role: "user", content: "What is the capital of France?" }], max_tokens: 6 },
      metadata: { row: 1 },
    },
  });
  assert.equal(created.response.status, 201);
  const [{ id }] = created.data as components["schemas"]["RequestCreated"][];

  const batch = await overnight.POST("/v1/batches", { body: { requests_ids: [id] } });
  assert.ok(batch.data);
  let status: components["schemas"]["BatchState"] = batch.data.status;
  while (status !== "completed") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const read = await overnight.GET("/v1/batches/{batch_id}/status", { params: { path: { batch_id: batch.data.id } } });
    assert.ok(read.data);
    status = read.data.status;
  }

  const read = await overnight.GET("/v1/requests/{request_id}", { params: { path: { request_id: id } } });
  assert.ok(read.data);
  const [request] = read.data;
  assert.deepEqual([request.status, request.batch_id, request.metadata], ["completed", batch.data.id, { row: 1 }]);
  assert.ok(request.result_body && "object" in request.result_body && request.result_body.object === "chat.completion");

  const listed = await overnight.GET("/v1/requests", { params: { query: { status: "completed" } }, parseAs: "text" });
  assert.ok((listed.data as unknown as string).includes(id));

  const refused = await overnight.POST("/v1/batches", { body: { requests_ids: [] } });
  assert.equal(refused.error?.error.code, "invalid_input");
}

main();
