//! Answers without the engine's token counts.

use overnight_domain::records::{FailedAttempt, RequestRecord};
use overnight_domain::requests::RequestStatus;
use overnight_testkit::engine::SimConfig;
use serde_json::Value;

use super::endpoints::rich;
use super::{Rig, result_of};

async fn ended(rig: &Rig, content: &str) -> RequestRecord {
    rig.ended(rig.create(content).await).await
}

#[tokio::test]
async fn an_answer_without_a_usage_completes_with_a_warning_if_its_model_has_no_price() {
    let rig = Rig::start(vec![SimConfig::default()]).await;
    for name in ["gateway-no-usage", "openai-negative-tokens", "easyllm-fractional-tokens"] {
        let record = ended(&rig, &format!("[[sim:behaviour={name}]]")).await;
        assert_eq!(record.summary.state.status(), RequestStatus::Completed, "{}", result_of(&record));
        let warnings: Value = serde_json::from_slice(&record.warnings.expect("warnings")).expect("JSON");
        assert_eq!(warnings[0]["param"], "result_body.usage", "{warnings}");
        assert_eq!(record.attempts, []);
    }
    rig.finish().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_charged_is_asked_for_once_more() {
    let rig = rich(SimConfig::default()).await;
    let record = ended(&rig, "[[sim:behaviour=gateway-no-usage x1]]").await;
    assert_eq!(record.summary.state.status(), RequestStatus::Completed, "{}", result_of(&record));
    let [attempt] = &*record.attempts else { panic!("{:?}", record.attempts) };
    assert_eq!(attempt.message, "the engine's answer has no usable usage: usage is missing");
    assert_eq!(record.warnings, None);
    rig.finish().await;
}

#[tokio::test]
async fn a_request_whose_answers_cannot_be_charged_fails_with_the_second() {
    let rig = rich(SimConfig::default()).await;
    for (name, why) in [
        ("gateway-no-usage", "usage is missing"),
        ("openai-negative-tokens", "usage.completion_tokens is -35"),
        ("easyllm-fractional-tokens", "usage.completion_tokens is 37.25"),
    ] {
        let content = format!("[[sim:behaviour={name}]]");
        let record = ended(&rig, &content).await;
        let result = result_of(&record);
        assert_eq!(record.summary.state.status(), RequestStatus::Failed, "{result}");
        assert!(result.contains("engine_invalid_response") && result.contains(why), "{result}");
        assert!(result.contains("as once before"), "{result}");
        assert!(record.attempts.iter().any(FailedAttempt::lacks_usage));
        assert_eq!(rig.engines[0].attempts_of(&content), 2);
    }
    let healthy = ended(&rig, "afterwards").await;
    assert_eq!(healthy.summary.state.status(), RequestStatus::Completed);
    rig.finish().await;
}
