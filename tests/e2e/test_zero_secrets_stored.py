"""After everything else has run: the answers that are kept for repeats hold no secret. Runs last, by its name."""

from typing import Any

from tests.e2e.conftest import Api, environment, operator, output, unique

CANARY = "canary-7f3a91"


def test_no_stored_answer_holds_a_key_a_body_or_an_address(api: Api) -> None:
    queue = api.queue()
    headers = {"Idempotency-Key": unique()}
    sent = api("POST", f"/v1/queue/{queue}/messages", {"body": CANARY}, headers=headers).json()
    resources = operator("cloudformation").list_stack_resources(StackName="naive-local")["StackResourceSummaries"]
    (table,) = [r["PhysicalResourceId"] for r in resources if r["LogicalResourceId"] == "Idempotency"]
    records: list[Any] = []
    for page in operator("dynamodb").get_paginator("scan").paginate(TableName=table):
        records += page["Items"]
    text = repr(records)
    assert sent["message_id"] in text, "the scan does not see what it is meant to see"
    secret = environment("NAIVE_API_KEY").removeprefix("nv_sk_live_")
    runs = {secret[start : start + 8] for start in range(len(secret) - 7)}
    assert not [run for run in runs if run in text]
    for word in (CANARY, "arn:", "http:", "https:"):
        assert word not in text
    assert all(int(record["expiration"]["N"]) > 0 for record in records)
    assert output("RegistryTableName") not in text
