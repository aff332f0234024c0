//! The operations of OpenAI's dialect. Those that wait for an engine get a body that is refused before the wait.

use super::Noun::{Batch, BatchErrors, BatchInput, BatchOutput, File, Item, Part, Response, Upload};
use super::Place::{Body, Query};
use super::Stage::{Completed, Failed};
use super::{Case, program};
use crate::tenants::sent::Sent::{Json, Parts};

const RESPONSE: &str = r#"{"model":"llama-3.1-8b-instruct","input":"hello","background":true}"#;

const FILE: &[(&str, &str)] = &[
    ("name=\"purpose\"", "batch"),
    (
        "name=\"file\"; filename=\"rows.jsonl\"",
        "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"llama-3.1-8b-instruct\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}}\n",
    ),
];

pub(super) const CASES: &[Case] = &[
    program("POST /openai/v1/chat/completions").sending(Json("{}")).refused(400),
    program("POST /openai/v1/completions").sending(Json("{}")).refused(400),
    program("POST /openai/v1/embeddings").sending(Json("{}")).refused(400),
    program("POST /openai/v1/responses").sending(Json(RESPONSE)),
    program("POST /openai/v1/responses")
        .naming_in(Body, &[Response])
        .sending(Json(
            r#"{"model":"llama-3.1-8b-instruct","input":"go on","background":true,"previous_response_id":"ID"}"#,
        ))
        .refused(400),
    program("GET /openai/v1/responses/{response_id}").naming(&[Response]),
    program("DELETE /openai/v1/responses/{response_id}").naming(&[Response]).once(Completed),
    program("POST /openai/v1/responses/{response_id}/cancel").naming(&[Response]),
    program("GET /openai/v1/responses/{response_id}/input_items").naming(&[Response]),
    program("GET /openai/v1/responses/{response_id}/input_items").naming_in(Query("after=ID"), &[Item]),
    program("GET /openai/v1/models"),
    program("GET /openai/v1/models/{*model}"),
    program("GET /openai/v1/files"),
    program("GET /openai/v1/files").naming_in(Query("after=ID"), &[File]),
    program("POST /openai/v1/files").sending(Parts(FILE)),
    program("GET /openai/v1/files/{file_id}").naming(&[File, BatchInput]),
    program("GET /openai/v1/files/{file_id}").naming(&[BatchOutput]).once(Completed),
    program("GET /openai/v1/files/{file_id}").naming(&[BatchErrors]).once(Failed),
    program("DELETE /openai/v1/files/{file_id}").naming(&[File]),
    program("DELETE /openai/v1/files/{file_id}").naming(&[BatchOutput]).once(Completed),
    program("DELETE /openai/v1/files/{file_id}").naming(&[BatchErrors]).once(Failed),
    program("GET /openai/v1/files/{file_id}/content").naming(&[File, BatchInput]),
    program("GET /openai/v1/files/{file_id}/content").naming(&[BatchOutput]).once(Completed),
    program("GET /openai/v1/files/{file_id}/content").naming(&[BatchErrors]).once(Failed),
    program("POST /openai/v1/uploads").sending(Json(
        r#"{"bytes":9,"filename":"rows.jsonl","mime_type":"application/jsonl","purpose":"batch"}"#,
    )),
    program("POST /openai/v1/uploads/{upload_id}/parts")
        .naming(&[Upload])
        .sending(Parts(&[("name=\"data\"; filename=\"upload\"", "more")])),
    program("POST /openai/v1/uploads/{upload_id}/complete")
        .naming(&[Upload])
        .sending(Json(r#"{"part_ids":["WITHIN"]}"#)),
    program("POST /openai/v1/uploads/{upload_id}/complete")
        .naming_in(Body, &[Part])
        .sending(Json(r#"{"part_ids":["ID"]}"#)),
    program("POST /openai/v1/uploads/{upload_id}/cancel").naming(&[Upload]),
    program("GET /openai/v1/batches"),
    program("GET /openai/v1/batches").naming_in(Query("after=ID"), &[Batch]),
    program("POST /openai/v1/batches").naming_in(Body, &[File]).sending(Json(
        r#"{"input_file_id":"ID","endpoint":"/v1/chat/completions","completion_window":"24h"}"#,
    )),
    program("GET /openai/v1/batches/{batch_id}").naming(&[Batch]),
    program("POST /openai/v1/batches/{batch_id}/cancel").naming(&[Batch]),
];
