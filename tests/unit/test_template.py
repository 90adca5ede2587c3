"""What CloudFormation gets is right, the code agrees with it, and what a change of it would destroy is said before."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from local.routes import translated as translate
from tenancy import consumers
from tests import rules, snapshot
from tests.rules import Template
from tests.template import ROOT, translated

# Each rule, and a change of the template that breaks it with what is said of that.
type Rule = Callable[[Template], Iterator[str]]
type Change = Callable[[dict[str, Any]], object]
MAKING_ROLES = {
    "Action": ["iam:CreateRole", "iam:PutRolePolicy"],
    "Resource": rules.TASK_ROLES,
    "Condition": rules.BOUNDED,
}
PASSING = {"Action": "iam:PassRole", "Resource": rules.TASK_ROLES, "Condition": rules.PASSED}
BREACHES: list[tuple[Rule, Change, str]] = [
    (
        rules.routes_that_lead_nowhere,
        lambda made: made.pop("HealthFunction"),
        "GET /health is served by HealthFunction, which is no function",
    ),
    (
        rules.routes_that_lead_nowhere,
        lambda made: made.pop("GetQueueFunctionUserQueuePermission"),
        "GET /v1/users/{user_id}/queue/{id} may not invoke GetQueueFunction",
    ),
    (
        rules.functions_that_nothing_invokes,
        lambda made: made.pop("HealthFunctionHealthPermission"),
        "HealthFunction has neither a route nor an event",
    ),
    (
        rules.functions_that_nothing_invokes,
        lambda made: made["HealthFunctionHealthPermission"]["Properties"].update(
            FunctionName={"Fn::GetAtt": ["BootstrapFunction", "Arn"]}
        ),
        "BootstrapFunction is said to be invoked by people alone, and is not",
    ),
    (
        rules.rights_that_anybody_could_use,
        lambda made: made["HealthFunctionHealthPermission"]["Properties"].pop("SourceArn"),
        "HealthFunctionHealthPermission lets apigateway.amazonaws.com of every account invoke HealthFunction",
    ),
    (
        rules.loose_policies,
        lambda made: policy(made).pop("Version"),
        "BootstrapFunctionRole has a policy without Version 2012-10-17",
    ),
    (rules.loose_policies, lambda made: statement(made).update(Action="dynamodb:*"), "may do dynamodb:*"),
    (rules.loose_policies, lambda made: statement(made).update(Action=["s3:Get*"]), "may do s3:Get*"),
    (rules.loose_policies, lambda made: statement(made).update(Resource="*"), "on everything"),
    (rules.loose_policies, lambda made: statement(made).update(Resource=["arn:aws:sqs:*:*:*"]), "on everything"),
    (
        rules.loose_policies,
        lambda made: statement(made).update(
            Action="sqs:SendMessage", Resource={"Fn::Sub": "arn:aws:sqs:${AWS::Region}:${AWS::AccountId}:nv-*"}
        ),
        "on what is not this stage's",
    ),
    (
        rules.loose_policies,
        lambda made: statement(made).update(
            Action="ecs:UpdateService", Resource={"Fn::Sub": "arn:aws:ecs:x:1:service/${EcsCluster}/nv-*"}
        ),
        "on what is not this stage's",
    ),
    (
        rules.loose_policies,
        lambda made: statement(made).update(
            Action="ssm:GetParameters", Resource={"Fn::Sub": "arn:aws:ssm:x:1:parameter/naive/*"}
        ),
        "on what is not this stage's",
    ),
    (
        rules.loose_policies,
        lambda made: statement(made).update(Action=["ecs:DeregisterTaskDefinition", "ecs:DeleteService"], Resource="*"),
        "on everything",
    ),
    (rules.loose_policies, lambda made: statement(made).update(NotAction="sqs:*"), "is not a plain Allow"),
    (
        rules.loose_policies,
        lambda made: role(made)["ManagedPolicyArns"].append("arn:aws:iam::aws:policy/AmazonSQSFullAccess"),
        "has the managed policy arn:aws:iam::aws:policy/AmazonSQSFullAccess",
    ),
    (
        rules.loose_policies,
        lambda made: made["TaskBoundary"]["Properties"]["PolicyDocument"]["Statement"][0].update(Action="sqs:*"),
        "TaskBoundary may do sqs:*",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(MAKING_ROLES, Action="iam:CreateUser"),
        "BootstrapFunctionRole may do ['iam:CreateUser']",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(MAKING_ROLES, Resource={"Fn::Sub": "arn:aws:iam::1:role/naive/*"}),
        "BootstrapFunctionRole may do ['iam:CreateRole', 'iam:PutRolePolicy'] on what is no task role",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(MAKING_ROLES, Condition={}),
        "BootstrapFunctionRole may do ['iam:CreateRole', 'iam:PutRolePolicy'] without TaskBoundary",
    ),
    (
        rules.functions_that_a_queue_could_invoke,
        lambda made: statement(made).update(Action="lambda:CreateEventSourceMapping", Resource="*"),
        "BootstrapFunctionRole may have a queue invoke [':function:${AWS::StackName}-bootstrap'",
    ),
    (
        rules.functions_that_a_queue_could_invoke,
        lambda made: statement(made).update(Action="lambda:GetFunctionConfiguration"),
        "BootstrapFunctionRole may see functions that nobody has tagged",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(PASSING, Condition={}),
        "BootstrapFunctionRole may do ['iam:PassRole'] to what is no task",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(PASSING, Resource={"Fn::GetAtt": ["HealthFunctionRole", "Arn"]}),
        "BootstrapFunctionRole may do ['iam:PassRole'] on what is no task role",
    ),
    (
        rules.rights_that_give_rights,
        lambda made: statement(made).update(MAKING_ROLES, Resource={"Fn::GetAtt": ["TaskExecutionRole", "Arn"]}),
        "BootstrapFunctionRole may do ['iam:CreateRole', 'iam:PutRolePolicy'] on what is no task role",
    ),
    (rules.strange_roles, lambda made: role(made).pop("Path"), "BootstrapFunctionRole is not where it belongs"),
    (
        rules.strange_roles,
        lambda made: made["TaskExecutionRole"]["Properties"].update(Path=rules.ROLE_PATH),
        "TaskExecutionRole is not where it belongs",
    ),
    (
        rules.strange_roles,
        lambda made: made["TaskExecutionRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0].pop(
            "Condition"
        ),
        "TaskExecutionRole may be assumed for another account",
    ),
    (
        rules.strange_roles,
        lambda made: made["TaskExecutionRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0].update(
            Principal={"Service": ["lambda.amazonaws.com"]}
        ),
        "TaskExecutionRole may be assumed by",
    ),
    (
        rules.strange_roles,
        lambda made: made["ConsumerExampleFunctionRole"]["Properties"].update(Path=rules.ROLE_PATH),
        "ConsumerExampleFunctionRole is not where it belongs",
    ),
    (
        rules.strange_roles,
        lambda made: role(made)["AssumeRolePolicyDocument"]["Statement"][0].update(Principal={"AWS": "*"}),
        "BootstrapFunctionRole may be assumed by",
    ),
    (
        rules.strange_roles,
        lambda made: made["HealthFunction"]["Properties"].update(Role={"Fn::GetAtt": ["BootstrapFunctionRole", "Arn"]}),
        "HealthFunction has not a role of its own",
    ),
    (
        rules.strange_roles,
        lambda made: made["HealthFunction"]["Properties"]["Environment"]["Variables"].update(QUEUE_PRINCIPALS=""),
        "HealthFunction would make queues that do not admit the functions",
    ),
    (
        rules.logs_without_end,
        lambda made: made["FunctionLogs"]["Properties"].pop("RetentionInDays"),
        "FunctionLogs keeps its logs for ever",
    ),
    (
        rules.logs_without_end,
        lambda made: made["HealthFunction"]["Properties"].pop("LoggingConfig"),
        "HealthFunction logs into a group that is not declared",
    ),
    (rules.logs_without_end, lambda made: stage(made).pop("AccessLogSettings"), "logs into a group that is not"),
    (
        rules.secrets_in_the_access_log,
        lambda made: stage(made)["AccessLogSettings"].update(Format='{"q": "$context.integration.queryString"}'),
        "logs $context.integration.queryString as q",
    ),
    (
        rules.apis_without_throttle,
        lambda made: stage(made)["DefaultRouteSettings"].update(ThrottlingRateLimit=0),
        "has not ThrottleRate as its ThrottlingRateLimit",
    ),
    (
        rules.functions_slower_than_the_gateway,
        lambda made: made["HealthFunction"]["Properties"].update(Timeout=30),
        "HealthFunction may take 30 s",
    ),
    (
        rules.events_that_get_lost,
        lambda made: made["HealthFunctionHealthPermission"]["Properties"].update(Principal="sns.amazonaws.com"),
        "HealthFunction loses an event when it fails",
    ),
    (
        rules.data_that_a_mistake_could_destroy,
        lambda made: made["Registry"].update(UpdateReplacePolicy="Delete"),
        "Registry has not UpdateReplacePolicy Retain",
    ),
    (
        rules.data_that_a_mistake_could_destroy,
        lambda made: made["Registry"]["Properties"].pop("DeletionProtectionEnabled"),
        "Registry has no deletion protection",
    ),
    (
        rules.data_that_a_mistake_could_destroy,
        lambda made: made["Registry"]["Properties"].pop("PointInTimeRecoverySpecification"),
        "Registry has no point-in-time recovery",
    ),
    (
        rules.data_that_a_mistake_could_destroy,
        lambda made: made["Idempotency"]["Properties"].pop("TimeToLiveSpecification"),
        "Idempotency is said to be ephemeral, and keeps its items for ever",
    ),
]
WITH_MAPPINGS = """
  CarefulWork: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 65}}
  CarelessWork: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 64}}
  WorkerFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/worker
      Timeout: 10
      Events:
        Careful:
          Type: SQS
          Properties:
            Queue: !GetAtt CarefulWork.Arn
            MaximumBatchingWindowInSeconds: 5
            FunctionResponseTypes: [ReportBatchItemFailures]
        Careless:
          Type: SQS
          Properties:
            Queue: !GetAtt CarelessWork.Arn
            MaximumBatchingWindowInSeconds: 5
        Foreign:
          Type: SQS
          Properties:
            Queue: arn:aws:sqs:us-east-1:123456789012:foreign
            FunctionResponseTypes: [ReportBatchItemFailures]

Outputs:
"""


def role(made: dict[str, Any]) -> Any:
    return made["BootstrapFunctionRole"]["Properties"]


def policy(made: dict[str, Any]) -> Any:
    return role(made)["Policies"][0]["PolicyDocument"]


def statement(made: dict[str, Any]) -> Any:
    return policy(made)["Statement"][0]


def stage(made: dict[str, Any]) -> Any:
    return made["ApiApiGatewayDefaultStage"]["Properties"]


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_template_has_no(rule: Rule) -> None:
    assert list(rule(translated())) == []


@pytest.mark.parametrize("rule, change, said", BREACHES, ids=[said for _, _, said in BREACHES])
def test_a_rule_sees(rule: Rule, change: Change, said: str) -> None:
    template = deepcopy(translated())
    change(template["Resources"])
    assert any(said in fault for fault in rule(template))


def test_a_rule_sees_a_careless_mapping(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text((ROOT / "template.yaml").read_text().replace("\nOutputs:\n", WITH_MAPPINGS))
    careless, incomplete, foreign = sorted(rules.careless_mappings(translate(template)))
    assert careless.startswith("WorkerFunctionCareless has a whole batch again")
    assert (
        incomplete == "WorkerFunctionCareless: the VisibilityTimeout of CarelessWork is 64 s, and must be at least 65"
    )
    assert foreign.startswith("WorkerFunctionForeign reads a queue that is not declared here")


def test_every_function_has_a_folder_with_its_app_alone_and_every_folder_a_function() -> None:
    folders = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("functions/*")}
    assert {rules.folder(function) for function in rules.functions(translated()).values()} == folders
    for folder in folders:
        assert {path.name for path in (ROOT / folder).iterdir()} - {"__pycache__"} == {"app.py"}


@pytest.mark.parametrize("name", rules.functions(translated()))
def test_an_operations_docstring_names_its_route(name: str) -> None:
    own = [key for key, function in rules.routes(translated()).items() if function == name]
    app = ROOT / rules.folder(rules.functions(translated())[name]) / "app.py"
    if own:
        assert app.read_text().startswith(f'"""{min(own, key=len)}: ')


def test_task_roles_can_be_made_within_their_boundary() -> None:
    template = deepcopy(translated())
    statement(template["Resources"]).update(MAKING_ROLES)
    assert [*rules.loose_policies(template), *rules.rights_that_give_rights(template)] == []


def test_a_webhook_needs_as_much_time_as_the_function_that_calls_it_has() -> None:
    assert rules.functions(translated())["WebhookWorkerFunction"]["Timeout"] == consumers.WEBHOOK_SECONDS


def test_what_is_no_route_is_answered_by_us() -> None:
    assert rules.routes(translated())["$default"] == "NotFoundFunction"


def test_the_sample_events_are_the_templates_routes() -> None:
    event = json.loads((ROOT / "events/send_message.json").read_text())
    assert rules.routes(translated())[event["routeKey"]] == "SendMessageFunction"


def test_a_change_of_the_template_deletes_and_replaces_only_what_was_accepted() -> None:
    before = snapshot.accepted()
    after = snapshot.taken(translated(), before["replacing"])
    changes = "\n  ".join(snapshot.changes(before, after))
    assert not changes, (
        f"In a stack that is in use, CloudFormation would\n  {changes}\n"
        "What is deleted or replaced is lost, or stays behind outside the stack (DeletionPolicy, UpdateReplacePolicy). "
        "When that is meant, say so in CHANGELOG.md and run 'make snapshot'."
    )


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda made: made.pop("Registry"), "delete Registry (AWS::DynamoDB::Table)"),
        (lambda made: made.update(More={"Type": "AWS::SQS::Queue", "Properties": {}}), "make More (AWS::SQS::Queue)"),
        (
            lambda made: made["Registry"]["Properties"].update(TableName="registry"),
            "replace Registry (AWS::DynamoDB::Table), since TableName was None and would be registry",
        ),
        (
            lambda made: made["Registry"]["Properties"]["AttributeDefinitions"][0].update(AttributeType="N"),
            "replace Registry (AWS::DynamoDB::Table), since AttributeDefinitions was",
        ),
        (
            lambda made: made["FunctionLogs"]["Properties"].update(LogGroupName="/other"),
            "replace FunctionLogs (AWS::Logs::LogGroup), since LogGroupName was",
        ),
        (
            lambda made: made["HealthFunction"]["Properties"].update(FunctionName="health"),
            "replace HealthFunction (AWS::Lambda::Function), since FunctionName was",
        ),
        (lambda made: role(made).update(Path="/"), "replace BootstrapFunctionRole (AWS::IAM::Role), since Path was"),
    ],
)
def test_the_snapshot_names_what_a_change_costs(change: Change, said: str) -> None:
    replacing = snapshot.accepted()["replacing"]
    template = deepcopy(translated())
    change(template["Resources"])
    changes = list(snapshot.changes(snapshot.taken(translated(), replacing), snapshot.taken(template, replacing)))
    assert len(changes) == 1
    assert changes[0].startswith(said)


def test_the_snapshot_takes_no_notice_of_what_changes_in_place() -> None:
    replacing = snapshot.accepted()["replacing"]
    template = deepcopy(translated())
    template["Resources"]["HealthFunction"]["Properties"] |= {"MemorySize": 1024, "Timeout": 5}
    template["Resources"]["Registry"]["Properties"]["AttributeDefinitions"][2]["AttributeType"] = "N"
    assert snapshot.taken(template, replacing) == snapshot.taken(translated(), replacing)
