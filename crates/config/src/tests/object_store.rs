use super::*;

#[test]
fn an_object_store_has_a_url_of_a_known_kind() {
    assert_eq!(load_text("").unwrap().object_store, None);
    assert_eq!(load_text("[object_store]\nenabled = true").unwrap().object_store, None);
    for url in
        ["s3://bucket", "s3://bucket/a/prefix", "gs://bucket/p", "az://container/p", "file:///var/objects"]
    {
        let config = load_text(&format!("[object_store]\nurl = \"{url}\"")).unwrap().object_store.unwrap();
        assert_eq!(config.url.as_str(), url);
        assert!(config.enabled && !config.allow_http && config.endpoint.is_none() && config.region.is_none());
        assert_eq!((config.min_bytes, config.delete_after), (ByteSize(256 << 10), Millis(7 * 86_400_000)));
    }
    let wrong = " bucket s3:// s3:///prefix http://bucket/p s3://user:secret@bucket/p s3://bucket:80/p s3://bucket/p?region=x \
        gs://bucket/p#x file:/// file://host/folder memory:///";
    for url in wrong.split(' ') {
        let text = format!("[object_store]\nurl = \"{url}\"");
        check_refused(&text, &["`object_store.url` must be s3://bucket/prefix", "line 2"]);
    }
}

#[test]
fn what_goes_into_an_object_store_has_bounds() {
    let head = "[object_store]\nurl = \"s3://bucket\"\n";
    check_table(
        head,
        r#"
        min_bytes = "63 KiB" => `object_store.min_bytes` must be 64 KiB to 1 GiB
        min_bytes = "2 GiB" => `object_store.min_bytes` must be 64 KiB to 1 GiB
        delete_after = "366d" => `object_store.delete_after` must be 0s to 365d
        enabled = "no" => `object_store.enabled` must be true or false
        endpoint = "minio:9000" => `object_store.endpoint` must be an http or https URL
        endpoint = "http://minio:9000" => `object_store.allow_http` is false
        bucket = "b" => bucket
        "#,
    );
    let text = format!("{head}endpoint = \"http://minio:9000\"\nallow_http = true\nenabled = false");
    let config = load_text(&text).unwrap().object_store.unwrap();
    assert_eq!(config.endpoint.unwrap().as_str(), "http://minio:9000/");
    assert!(!config.enabled);
}
