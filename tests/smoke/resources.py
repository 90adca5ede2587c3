"""What CloudFormation made of the template: checks that only read."""

import json

from tests.smoke.deployment import Deployment
from tests.smoke.runner import Check, expect


def every_function_runs_under_the_path_of_its_stage(deployment: Deployment) -> None:
    """IAM must give each function's role the path that the queues' policies admit."""
    path = f":role/naive/{deployment.stage}/platform/"
    functions = deployment.resources("AWS::Lambda::Function")
    roles = {
        logical: deployment.aws("lambda").get_function_configuration(FunctionName=name)["Role"]
        for logical, name in functions.items()
    }
    # The example of a consumer is as those of operators, which a queue admits when it is bound to them.
    expect([logical for logical, role in roles.items() if path not in role], ["ConsumerExampleFunction"])


def logs_are_kept_as_long_as_the_stack_says(deployment: Deployment) -> None:
    """CloudWatch Logs must have the retention of the parameter on both log groups."""
    days = int(deployment.parameters["LogRetentionDays"])
    for name in deployment.resources("AWS::Logs::LogGroup").values():
        groups = deployment.aws("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        kept = [group.get("retentionInDays") for group in groups if group["logGroupName"] == name]
        expect((name, kept), (name, [days]))


def functions_log_nowhere_else(deployment: Deployment) -> None:
    """Lambda must write to the declared group, and make none of its own that keeps everything for ever."""
    pages = deployment.aws("logs").get_paginator("describe_log_groups")
    pages = pages.paginate(logGroupNamePrefix=f"/aws/lambda/{deployment.stack}-")
    groups = {group["logGroupName"] for page in pages for group in page["logGroups"]}
    functions = deployment.resources("AWS::Lambda::Function").values()
    expect(sorted(groups & {f"/aws/lambda/{name}" for name in functions}), [])


def the_gateway_throttles_as_the_stack_says(deployment: Deployment) -> None:
    """API Gateway must have the throttle of the parameters on the stage, and metrics per route."""
    stage = deployment.aws("apigatewayv2").get_stage(ApiId=deployment.outputs["ApiId"], StageName="$default")
    settings = stage.get("DefaultRouteSettings", {})
    wanted = {
        "ThrottlingRateLimit": float(deployment.parameters["ThrottleRate"]),
        "ThrottlingBurstLimit": int(deployment.parameters["ThrottleBurst"]),
        "DetailedMetricsEnabled": True,
    }
    expect({name: settings.get(name) for name in wanted}, wanted)


def the_registry_can_be_restored_and_not_be_deleted(deployment: Deployment) -> None:
    """DynamoDB must have point-in-time recovery and deletion protection on the registry."""
    name = deployment.outputs["RegistryTableName"]
    dynamodb = deployment.aws("dynamodb")
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    protected = dynamodb.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled")
    expect({"recovery": recovery, "protected": protected}, {"recovery": "ENABLED", "protected": True})


def kept_answers_are_removed_after_their_day(deployment: Deployment) -> None:
    """DynamoDB must remove by itself what the idempotency table holds."""
    name = deployment.resources("AWS::DynamoDB::Table")["Idempotency"]
    removal = deployment.aws("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    seen = removal["TimeToLiveStatus"], removal.get("AttributeName")
    expect(seen, ("ENABLED", "expiration"))


def the_reconciler_answers_a_dry_run(deployment: Deployment) -> None:
    """Lambda must run the function with the rights it needs to look; nothing is changed."""
    name = deployment.outputs["ReconcileFunctionName"]
    answer = deployment.aws("lambda").invoke(FunctionName=name, Payload=json.dumps({"dry_run": True}))
    payload = json.loads(answer["Payload"].read())
    expect((answer.get("FunctionError"), type(payload).__name__), (None, "list"))


def the_reconciler_is_scheduled(deployment: Deployment) -> None:
    """EventBridge must have one rule with the function as its target, and have it enabled."""
    events, function = deployment.aws("events"), deployment.outputs["ReconcileFunctionName"]
    states = [
        events.describe_rule(Name=rule)["State"]
        for rule in deployment.resources("AWS::Events::Rule").values()
        for target in events.list_targets_by_rule(Rule=rule)["Targets"]
        if target["Arn"].endswith(f":function:{function}")
    ]
    expect(states, ["ENABLED"])


CHECKS: list[Check] = [
    every_function_runs_under_the_path_of_its_stage,
    logs_are_kept_as_long_as_the_stack_says,
    functions_log_nowhere_else,
    the_gateway_throttles_as_the_stack_says,
    the_registry_can_be_restored_and_not_be_deleted,
    kept_answers_are_removed_after_their_day,
    the_reconciler_answers_a_dry_run,
    the_reconciler_is_scheduled,
]
