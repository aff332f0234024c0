"""A client that openapi-python-client makes of the service's own reference: it posts, waits, groups and reads."""

import os
import subprocess
import sys
import tempfile
import time

from support import KEY, MODEL, STEP_S, TOKENS, URL, same

folder = tempfile.TemporaryDirectory(prefix="overnight-generated-")
generator = os.path.join(os.path.dirname(sys.executable), "openapi-python-client")
generated = subprocess.run(
    [generator, "generate", "--url", f"{URL}/openapi.json", "--meta", "none", "--output-path", f"{folder.name}/generated"],
    check=True,
    capture_output=True,
    text=True,
)
# It knows no JSON Lines. Nothing else is left out.
for warning in generated.stdout.split("WARNING ")[1:]:
    assert "application/x-ndjson" in warning, warning
assert "Unable to" not in generated.stdout, generated.stdout

sys.path.insert(0, folder.name)

from generated import AuthenticatedClient
from generated.api.batches import create_batch, get_batch_status
from generated.api.requests import create_request, get_request, list_requests
from generated.models import ChatCompletion, CreateBatch, CreateRequest, Error, RequestState

overnight = AuthenticatedClient(base_url=URL, token=KEY, auth_header_name="X-API-Key", prefix="")

question = {"model": MODEL, "messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": TOKENS}
body = CreateRequest.from_dict({"request_body": question, "metadata": {"row": 1}})
created = create_request.sync_detailed(client=overnight, body=body)
same(created.status_code, 201)
[created] = created.parsed

batch = create_batch.sync(client=overnight, body=CreateBatch(requests_ids=[created.id]))
while get_batch_status.sync(batch.id, client=overnight).status != "completed":
    time.sleep(STEP_S)

[request] = get_request.sync(created.id, client=overnight)
same((request.status, request.batch_id), (RequestState.COMPLETED, batch.id))
same(request.metadata.to_dict(), {"row": 1})
assert isinstance(request.result_body, ChatCompletion), request.result_body
same(len(request.result_body.choices), 1)

listed = list_requests.sync_detailed(client=overnight, status=RequestState.COMPLETED)
assert created.id.encode() in listed.content

refused = create_batch.sync(client=overnight, body=CreateBatch(requests_ids=[]))
assert isinstance(refused, Error), refused
same(refused.error.code, "invalid_input")
print("ok generated")
