use super::{accept, faults_of, parse, with_part};
use crate::limits::Limits;

const PART: &str = "request_body.messages[0].content[0]";

#[test]
fn inline_media_are_taken_in_and_counted() {
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}"#;
    let others = r#"{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},
        {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}},
        {"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}},
        {"type":"text","text":"what is this?","cache_control":{"type":"ephemeral"}}"#;
    assert_eq!(accept(&with_part(&format!("{image},{others}"))).image_count, 4);
    assert_eq!(accept(&with_part(r#"{"type":"image_url","image_url":"data:image/png,A"}"#)).image_count, 1);
}

#[test]
fn the_data_of_an_image_is_no_input_text() {
    let image = |data: &str| {
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#)
    };
    let small = accept(&with_part(&image("AAAA"))).input_bytes;
    assert_eq!(accept(&with_part(&image(&"A".repeat(1 << 20)))).input_bytes, small);
}

#[test]
fn a_source_is_inline_or_refused() {
    for url in [
        "http://169.254.169.254/latest",
        "https://example.com/a.png",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        " http://example.com",
        "Data:,x",
        "ftp://example.com",
        "//example.com/a.png",
        "\\u0068ttp://example.com",
        "",
    ] {
        for kind in ["image_url", "video_url", "audio_url"] {
            let part = format!(r#"{{"type":"{kind}","{kind}":{{"url":"{url}"}}}}"#);
            assert_eq!(faults_of(&with_part(&part)), [format!("{PART}.{kind}.url not_allowed")], "{url}");
        }
    }
    let part = r#"{"type":"image_url","image_url":"http://example.com"}"#;
    assert_eq!(faults_of(&with_part(part)), [format!("{PART}.image_url not_allowed")]);
    let part = r#"{"type":"input_audio","input_audio":{"data":"http://example.com","format":"wav"}}"#;
    assert_eq!(faults_of(&with_part(part)), [format!("{PART}.input_audio.data not_allowed")]);
    let part = r#"{"type":"file","file":{"file_data":"file:///etc/passwd"}}"#;
    assert_eq!(faults_of(&with_part(part)), [format!("{PART}.file.file_data not_allowed")]);
}

#[test]
fn the_operator_may_allow_remote_media_but_never_files() {
    let limits = Limits { remote_media: true, ..Limits::default() };
    let part = |url: &str| with_part(&format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#));
    assert!(parse(&part("https://example.com/a.png"), &limits).is_ok());
    assert!(parse(&part("http://example.com/a.png"), &limits).is_ok());
    assert!(parse(&part("file:///etc/passwd"), &limits).is_err());
}

#[test]
fn nothing_hides_beside_a_payload() {
    let hidden = r#"{"type":"text","text":"a","image_url":{"url":"http://example.com"}}"#;
    assert_eq!(faults_of(&with_part(hidden)), [format!("{PART}.image_url not_allowed")]);
    let cached =
        r#"{"type":"image_url","image_url":{"url":"data:image/png,","content_hash":"f00"},"uuid":"x"}"#;
    assert_eq!(
        faults_of(&with_part(cached)),
        [format!("{PART}.uuid not_allowed"), format!("{PART}.image_url.content_hash not_allowed")]
    );
    let twice = r#"{"type":"image_url","image_url":{"url":"data:image/png,","url":"http://example.com"}}"#;
    assert_eq!(faults_of(&with_part(twice)), [format!("{PART}.image_url.url duplicate_key")]);
    let stored = r#"{"type":"file","file":{"file_id":"file-1"}}"#;
    assert_eq!(
        faults_of(&with_part(stored)),
        [format!("{PART}.file.file_id not_allowed"), format!("{PART}.file.file_data missing")]
    );
}

#[test]
fn parts_have_a_known_type_and_a_payload() {
    assert_eq!(faults_of(&with_part("")), ["request_body.messages[0].content out_of_range"]);
    assert_eq!(faults_of(&with_part("1")), [format!("{PART} wrong_type")]);
    assert_eq!(faults_of(&with_part(r#"{"text":"a"}"#)), [format!("{PART}.type missing")]);
    assert_eq!(
        faults_of(&with_part(r#"{"type":"image_embeds","image_embeds":"gA"}"#)),
        [format!("{PART}.type unknown_value")]
    );
    assert_eq!(faults_of(&with_part(r#"{"type":"text"}"#)), [format!("{PART}.text missing")]);
    assert_eq!(faults_of(&with_part(r#"{"type":"text","text":1}"#)), [format!("{PART}.text wrong_type")]);
    assert_eq!(
        faults_of(&with_part(r#"{"type":"input_audio","input_audio":"AAAA"}"#)),
        [format!("{PART}.input_audio wrong_type")]
    );
}

#[test]
fn what_is_priced_as_an_image_is_one() {
    for data in ["data:application/pdf;base64,AAAA", "data:,x", "data:text/html,x", "data:imagex/png,x"] {
        let part = format!(r#"{{"type":"image_url","image_url":{{"url":"{data}"}}}}"#);
        let expected = "request_body.messages[0].content[0].image_url.url not_allowed";
        assert_eq!(faults_of(&with_part(&part)), [expected], "{data}");
    }
}
