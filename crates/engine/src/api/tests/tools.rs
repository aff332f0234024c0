use serde_json::{Value, json};

use super::{super::Calls, ChatRequest, check_refused, request};
use crate::constraint::Shape;

fn tools() -> Value {
    let place = json!({
        "type": "object",
        "properties": { "at": { "$ref": "#/$defs/city" } },
        "$defs": { "city": { "enum": ["#/a"], "default": { "$ref": "#/b" } } },
    });
    json!([
        { "type": "function", "function": { "name": "now" } },
        { "type": "function", "function": { "name": "weather", "parameters": place } },
    ])
}

fn choosing(choice: &Value) -> ChatRequest {
    request(&format!(r#","tools":{},"tool_choice":{choice}"#, tools()))
}

fn schema_of(request: &ChatRequest) -> Value {
    match &request.form.as_ref().expect("a form").shape {
        Shape::Schema(schema) => schema.clone(),
        shape => panic!("no schema: {shape:?}"),
    }
}

#[test]
fn tools_are_shown_unless_none_is_to_be_called() {
    for choice in [json!(null), json!("auto")] {
        let request = choosing(&choice);
        assert_eq!((request.calls, request.form), (Calls::Tagged, None));
        assert!(request.tools.is_true());
    }
    let none = choosing(&json!("none"));
    assert!(none.tools.is_undefined() && none.calls == Calls::None && none.form.is_none());
    for fields in ["", r#","tools":[]"#, r#","tools":null,"tool_choice":"none""#, r#","tool_choice":"auto""#]
    {
        let none = request(fields);
        assert!(none.tools.is_undefined() && none.calls == Calls::None, "{fields}");
    }
}

#[test]
fn a_named_function_gives_the_form_of_its_arguments() {
    let request = choosing(&json!({ "type": "function", "function": { "name": "weather" } }));
    assert_eq!(request.calls, Calls::Arguments("weather".to_owned()));
    assert_eq!(schema_of(&request), tools()[1]["function"]["parameters"]);
    let request = choosing(&json!({ "type": "function", "function": { "name": "now" } }));
    assert_eq!(schema_of(&request), json!({ "type": "object" }));
    assert!(request.tools.is_true());
}

#[test]
fn a_required_call_is_any_functions_and_references_stay_in_their_schema() {
    let request = choosing(&json!("required"));
    assert_eq!(request.calls, Calls::Whole);
    let schema = schema_of(&request);
    assert_eq!(schema["anyOf"][0]["properties"]["name"], json!({ "const": "now" }));
    let arguments = &schema["anyOf"][1]["properties"]["arguments"];
    assert_eq!(arguments["properties"]["at"]["$ref"], "#/anyOf/1/properties/arguments/$defs/city");
    assert_eq!(arguments["$defs"], tools()[1]["function"]["parameters"]["$defs"]);
}

#[test]
fn a_forced_call_goes_before_the_form_of_the_text() {
    let fields = r#","response_format":{"type":"json_object"}"#;
    let required = request(&format!(r#","tools":{},"tool_choice":"required"{fields}"#, tools()));
    assert_eq!(required.form.map(|form| form.field), Some("tools"));
    let free = request(&format!(r#","tools":{}{fields}"#, tools()));
    assert_eq!(free.form.map(|form| form.field), Some("response_format"));
}

#[test]
fn a_choice_that_the_tools_do_not_have_is_refused() {
    check_refused(r#","tool_choice":"required""#, "tool_choice");
    for choice in [r#""sometimes""#, "5", "{}", r#"{"function":{"name":"other"}}"#] {
        check_refused(&format!(r#","tools":{},"tool_choice":{choice}"#, tools()), "tool_choice");
    }
    check_refused(r#","tools":[{"type":"function"}],"tool_choice":"required""#, "tools[0]");
    let many = json!(vec![json!({ "function": { "name": "f" } }); 129]);
    check_refused(&format!(r#","tools":{many},"tool_choice":"required""#), "tools");
}
