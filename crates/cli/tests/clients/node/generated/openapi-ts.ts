// A client that @hey-api/openapi-ts makes: it posts, waits, groups and reads.
import assert from "node:assert/strict";
import { createBatch, createRequest, getBatchStatus, getRequest, listRequests } from "./generated";
import { client } from "./generated/client.gen";
import type { BatchState, RequestCreated } from "./generated";

client.setConfig({ baseUrl: process.env.CLIENT_URL, auth: process.env.CLIENT_KEY });

async function main() {
  const created = await createRequest({
    body: {
      request_body: { model: "overnight-tiny", messages: [{ role: "user", content: "What is the capital of France?" }], max_tokens: 6 },
      metadata: { row: 1 },
    },
    throwOnError: true,
  });
  const [{ id }] = created.data as RequestCreated[];

  const batch = await createBatch({ body: { requests_ids: [id] }, throwOnError: true });
  let status: BatchState = batch.data.status;
  while (status !== "completed") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    status = (await getBatchStatus({ path: { batch_id: batch.data.id }, throwOnError: true })).data.status;
  }

  const read = await getRequest({ path: { request_id: id }, throwOnError: true });
  const [request] = read.data;
  assert.deepEqual([request.status, request.batch_id, request.metadata], ["completed", batch.data.id, { row: 1 }]);
  assert.ok(request.result_body && "object" in request.result_body && request.result_body.object === "chat.completion");

  const listed = await listRequests({ query: { status: "completed" }, parseAs: "text", throwOnError: true });
  assert.ok((listed.data as unknown as string).includes(id));

  const refused = await createBatch({ body: { requests_ids: [] } });
  assert.equal(refused.error?.error.code, "invalid_input");
}

main();
