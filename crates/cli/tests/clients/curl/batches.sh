#!/usr/bin/env bash
# Batches of OpenAI's dialect with curl: files, batches, their outputs and errors.
set -euo pipefail

base=$CLIENT_URL/openai/v1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Calls the service, which must answer with this status: call STATUS PATH CURL_ARGUMENT…
call() {
    local expected=$1 path=$2 status
    shift 2
    status=$(curl -sS --max-time 60 -o "$folder/answer" -w '%{http_code}' \
        -H "Authorization: Bearer $CLIENT_KEY" "$@" "$base$path")
    [ "$status" = "$expected" ] || fail "$path: $status instead of $expected: $(cat "$folder/answer")"
    cat "$folder/answer"
}

# The value at a path of a JSON text: field id, field request_counts.total, field data.0.id
field() {
    python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key) if key.isdigit() else key]
print(value)' "$1"
}

same() {
    [ "$1" = "$2" ] || fail "$1 is not $2"
}

write_lines() {
    local number
    for number in 0 1 2; do
        printf '{"custom_id": "row-%s", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "%s", "messages": [{"role": "user", "content": "Say it"}], "max_tokens": 6}}\n' \
            "$number" "$1"
    done >"$folder/rows.jsonl"
}

upload() {
    call 200 /files -F purpose=batch -F "file=@$folder/rows.jsonl" | field id
}

create_batch() {
    call 200 /batches -H "Content-Type: application/json" -d "{\"input_file_id\": \"$1\", \
        \"endpoint\": \"/v1/chat/completions\", \"completion_window\": \"24h\", \"metadata\": {\"job\": \"nightly\"}}"
}

wait_for() {
    local status
    for _ in $(seq 300); do
        status=$(call 200 "/batches/$1" | field status)
        [ "$status" != "$2" ] || return 0
        sleep 0.1
    done
    fail "the batch $1 is $status and does not become $2"
}

write_lines overnight-tiny
file=$(upload)
call 200 "/files/$file" | field filename >"$folder/name"
same "$(cat "$folder/name")" rows.jsonl
call 200 "/files/$file/content" | cmp - "$folder/rows.jsonl"
same "$(call 200 "/files?limit=1&purpose=batch" | field data.0.id)" "$file"

batch=$(create_batch "$file" | field id)
wait_for "$batch" completed
ended=$(call 200 "/batches/$batch")
same "$(field request_counts.completed <<<"$ended")" 3
same "$(field metadata.job <<<"$ended")" nightly
output=$(field output_file_id <<<"$ended")
call 200 "/files/$output/content" >"$folder/output.jsonl"
same "$(grep -c '"custom_id":"row-[012]".*"status_code":200' "$folder/output.jsonl")" 3
native=$(curl -sS --max-time 60 -H "X-API-Key: $CLIENT_KEY" "$CLIENT_URL/v1/batches/$batch")
same "$(field status <<<"$native") $(field requests_counts.completed <<<"$native")" "completed 3"

write_lines waiting
waiting=$(create_batch "$(upload)" | field id)
wait_for "$waiting" in_progress
call 200 "/batches/$waiting/cancel" -X POST >"$folder/cancelled"
wait_for "$waiting" cancelled
errors=$(call 200 "/batches/$waiting" | field error_file_id)
same "$(call 200 "/files/$errors/content" | grep -c '"code":"batch_cancelled"')" 3
same "$(call 200 "/batches?limit=1" | field data.0.id)" "$waiting"
same "$(call 200 "/batches?limit=1&after=$waiting" | field data.0.id)" "$batch"

echo "no JSON" >"$folder/rows.jsonl"
failed=$(create_batch "$(upload)" | field id)
wait_for "$failed" failed
same "$(call 200 "/batches/$failed" | field errors.data.0.line)" 1

same "$(call 200 "/files/$file" -X DELETE | field deleted)" True
call 404 "/files/$file" >"$folder/missing"
same "$(call 404 /batches/batch_none | field error.type)" invalid_request_error
same "$(CLIENT_KEY=wrong call 401 /batches | field error.type)" authentication_error
echo "ok batches"
