//! What the service calls itself: the webhooks of requests and batches.

use overnight_wire::native::events::Event;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem, Paths, PathsBuilder,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Ref, SchemaType, Type};
use utoipa::openapi::{Components, OpenApi as Document, Required, Response};
use utoipa::{Modify, ToSchema};

const DESCRIPTION: &str = "Sent to the `webhook` of a request or a batch when it ends, signed as \
    Standard Webhooks (standardwebhooks.com) says. It comes at least once and in any order; every try has the \
    same `webhook-id` and the same body. A try that is not answered with a 2xx within 15 seconds is made again after about 5 s, \
    1 min, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h. Redirects are not followed, and addresses that are not of the public internet \
    are called only where the operator allows it. The operator also tells you the secret, `whsec_…`, and what became of a webhook.";

/// Adds the webhooks to the reference.
pub(super) struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        describe::<Event>(components);
        document.webhooks = Some(webhooks());
    }
}

/// Adds a shape, and those that it refers to.
fn describe<T: ToSchema>(components: &mut Components) {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    components.schemas.extend(schemas);
}

fn webhooks() -> Paths {
    let operation = OperationBuilder::new()
        .tag("Webhooks")
        .operation_id(Some("receive_event"))
        .summary(Some("Receive an event"))
        .description(Some(DESCRIPTION))
        .parameter(header("webhook-id", "The event, the same on every try: `evt_…`.", Type::String))
        .parameter(header("webhook-timestamp", "When this try was made, in Unix seconds.", Type::Integer))
        .parameter(header(
            "webhook-signature",
            "`v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`; several of them, parted \
             by blanks, while the secret is being changed.",
            Type::String,
        ))
        .request_body(Some(body()))
        .response("2XX", Response::new("It was taken, and is not sent again."))
        .response("410", Response::new("It is not wanted, and is not sent again."))
        .response("default", Response::new("It is sent again."))
        .securities(Some([]))
        .build();
    PathsBuilder::new().path("event", PathItem::new(HttpMethod::Post, operation)).build()
}

fn body() -> RequestBody {
    let shape = Ref::from_schema_name(Event::name());
    let content = ContentBuilder::new().schema(Some(shape)).build();
    RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True)).build()
}

fn header(name: &str, description: &str, kind: Type) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(SchemaType::new(kind))))
        .build()
}
