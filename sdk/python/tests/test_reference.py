"""The package beside the reference of the API, docs/openapi.json: what is added there is missed here."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

import overnight
from overnight import Administration, AsyncAdministration, Overnight, webhooks
from overnight import administration_records as records

ROOT = Path(__file__).parents[3]
REFERENCE: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text())
RECORDS: dict[str, type[Any]] = {
    "Account": overnight.Account,
    "AccountQuotas": overnight.AccountQuotas,
    "ApiKey": records.ApiKey,
    "ApiKeyCreated": records.ApiKeyCreated,
    "AccountCredits": webhooks.AccountCredits,
    "Batch": overnight.Batch,
    "BatchCreated": overnight.BatchCreated,
    "BatchStatus": overnight.BatchStatus,
    "ErrorBody": overnight.ErrorBody,
    "ErrorDetail": overnight.ErrorDetail,
    "FailedAttempt": overnight.FailedAttempt,
    "FailureBody": overnight.Failure,
    "Grant": records.Grant,
    "GrantCreated": records.GrantCreated,
    "LowCredits": overnight.LowCredits,
    "QuotaUse": overnight.QuotaUse,
    "Request": overnight.Request,
    "RequestCreated": overnight.RequestCreated,
    "RequestStatus": overnight.RequestStatus,
    "RequestsCounts": overnight.RequestsCounts,
    "Tested": webhooks.Tested,
    "Totals": records.Totals,
    "UsageRecord": overnight.UsageRecord,
    "WaitingFor": overnight.WaitingFor,
    "Warning": overnight.FieldWarning,
}


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_has_the_members_of_the_reference(name: str) -> None:
    schema = REFERENCE["components"]["schemas"][name]
    fields = dataclasses.fields(RECORDS[name])
    assert {field.name for field in fields} == set(schema["properties"])
    # What may be absent has a default.
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    assert needed <= set(schema.get("required", []))


def test_a_model_has_the_members_that_are_not_the_same_in_each() -> None:
    members = set(REFERENCE["components"]["schemas"]["Model"]["properties"])
    assert {field.name for field in dataclasses.fields(overnight.Model)} == members - {"object"}


def test_create_requests_and_batches_take_every_member() -> None:
    schemas = REFERENCE["components"]["schemas"]
    fields = {field.name for field in dataclasses.fields(overnight.CreateRequest)}
    # There is one completion window.
    assert fields == set(schemas["CreateRequest"]["properties"]) - {"completion_window"}
    parameters = set(Overnight.create_batch.__annotations__) - {"return"}
    assert parameters == set(schemas["CreateBatch"]["properties"])


def test_filters_take_every_parameter() -> None:
    for path, taken in [("/v1/requests", overnight.RequestFilter), ("/v1/batches", overnight.BatchFilter)]:
        named = {parameter["name"] for parameter in REFERENCE["paths"][path]["get"]["parameters"]}
        assert set(taken.__annotations__) == named - {"full"}
    named = {parameter["name"] for parameter in REFERENCE["paths"]["/v1/usage"]["get"]["parameters"]}
    assert set(overnight.UsageFilter.__annotations__) == named - {"after", "limit"}


def test_every_operation_has_a_method() -> None:
    operations = {operation["operationId"] for path in REFERENCE["paths"].values() for operation in path.values()}
    administration = {name.removeprefix("admin_") for name in operations if name.startswith("admin_")}
    assert {name for name in operations if not name.startswith("admin_")} <= set(dir(Overnight))
    assert len(administration) > 15 and administration <= set(dir(Administration))
    assert administration <= set(dir(AsyncAdministration))


def test_the_version_is_that_of_the_service() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'\[workspace\.package\][^\[]*?\nversion = "(.*?)"', manifest)
    assert found is not None and found[1] == overnight.__version__
