"""What holds for every template of this service. A rule reads what CloudFormation gets and yields what breaks it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from local.routes import routes_of

type Template = dict[str, Any]
type Resource = dict[str, Any]

INVOKED_BY_PEOPLE = {
    "functions/bootstrap": "making a company is the operator's right, by IAM",
}
FED_BY_MAPPINGS = {
    "functions/webhook_worker": "a queue that gets a webhook gets its mapping then",
}
CALLED_AGAIN = {
    "functions/depth_alarm": "where an alarm's call is lost, the reconciler looks",
    "functions/reconcile": "its schedule calls it again, and it goes by what is there then",
}
PROMPT = {
    "functions/depth_alarm": "a tick whose function died must be back before its queue counts as forgotten",
}
CONSUMERS = {
    "functions/consumer_example": "it is as those that operators deploy: a queue admits it when it is bound to it",
}
ON_EVERYTHING = {
    "ecr:GetAuthorizationToken": "it is for a whole registry; what may be pulled from there is named",
    "ecs:DeregisterTaskDefinition": "AWS takes no name there; whatever runs goes on without its definition",
    "ecs:ListTasks": "IAM knows no service for it; the cluster is a condition",
    "lambda:CreateEventSourceMapping": "a mapping that is made has no name yet",
    "lambda:DeleteEventSourceMapping": "Lambda names mappings",
    "lambda:GetFunctionConfiguration": "operators name their functions; those without our tag are left out",
    "lambda:ListEventSourceMappings": "IAM knows no resource for it",
    "lambda:ListTags": "operators name their functions",
    "lambda:UpdateEventSourceMapping": "Lambda names mappings",
    "tag:GetResources": "IAM knows no resource for it; it tells names and tags, and nothing else",
}
"""What is allowed on more than our resources."""
EPHEMERAL = {
    "ConsumerExampleDone": "messages that the example is done with; without it, one that comes twice is done again",
    "Idempotency": "answers that are kept for a day; without one, a repeat runs again",
    "Usage": "what keys asked for; without it, everybody begins with a full burst",
}
ATTACHED_BY_SAM = {
    "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole": "to write its log",
    "arn:aws:iam::aws:policy/AWSXrayWriteOnlyAccess": "for whoever sets Tracing to Active",
}
ROLE_PATH = {"Fn::Sub": "/naive/${Stage}/platform/"}
CONSUMER_PATH = {"Fn::Sub": "/naive/${Stage}/consumer/"}
FOR_TASKS = {"TaskExecutionRole": "with which ECS starts the tasks of services"}
"""Roles that no function has."""
OURS = {
    "sqs": r":nv-\$\{Stage\}-",
    "ecs": r":(service/\$\{EcsCluster\}|task-definition)/nv-\$\{Stage\}-|:task/\$\{EcsCluster\}/",
    "ssm": r":parameter/naive/\$\{Stage\}/services/",
    "ecr": r":repository/naive/\$\{Stage\}/",
}
"""What the names of this stage's resources have in them, by service."""
TASK_ROLES = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/naive/${Stage}/task-*"}
BOUNDED = {"StringEquals": {"iam:PermissionsBoundary": {"Ref": "TaskBoundary"}}}
TAGGED = {"Null": {"aws:ResourceTag/naive:company": "false"}}
GIVES_RIGHTS = {"iam:CreateRole", "iam:PutRolePolicy"}
PASSES = {"iam:PassRole"}
PASSED = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
GIVES_NONE = {"iam:DeleteRole", "iam:DeleteRolePolicy", "iam:TagRole"}
GATEWAY_SECONDS = 29
"""Less than the thirty after which API Gateway answers in a function's place."""


def of_type(template: Template, kind: str) -> dict[str, Resource]:
    """The properties of each resource of a type, by logical id."""
    return {name: found["Properties"] for name, found in template["Resources"].items() if found["Type"] == kind}


def functions(template: Template) -> dict[str, Resource]:
    """The properties of each function."""
    return of_type(template, "AWS::Lambda::Function")


def folder(function: Resource) -> str:
    """Where the function's code is."""
    key: str = function["Code"]["S3Key"]
    return key


def routes(template: Template) -> dict[str, str]:
    """Route key to the logical id of the function that serves it."""
    apis = of_type(template, "AWS::ApiGatewayV2::Api").values()
    return {key: function for api in apis for key, function in routes_of(api["Body"]["paths"]).items()}


def routes_that_lead_nowhere(template: Template) -> Iterator[str]:
    """A route needs its function, and API Gateway the right to invoke it for this route."""
    invocable = {(_function_of(right), _route_pattern(right)) for right in _rights(template, "apigateway")}
    for key, function in routes(template).items():
        if function not in functions(template):
            yield f"{key} is served by {function}, which is no function"
        elif (function, re.sub(r"\{\w+\}", "*", key.replace("$default", "*"))) not in invocable:
            yield f"{key} may not invoke {function}"


def functions_that_nothing_invokes(template: Template) -> Iterator[str]:
    """A function has a route or an event, or another one may start it, unless people invoke it."""
    invoked = {_function_of(right) for right in of_type(template, "AWS::Lambda::Permission").values()}
    invoked |= {_function_of(mapping) for mapping in _mappings(template).values()}
    invoked |= set(_started(template))
    for name, function in functions(template).items():
        by_people = folder(function) in INVOKED_BY_PEOPLE
        if name not in invoked and not by_people and folder(function) not in FED_BY_MAPPINGS:
            yield f"{name} has neither a route nor an event"
        if name in invoked and by_people:
            yield f"{name} is said to be invoked by people alone, and is not"


def rights_that_anybody_could_use(template: Template) -> Iterator[str]:
    """A service may invoke a function for one thing of ours, not for any of anybody's."""
    for name, right in of_type(template, "AWS::Lambda::Permission").items():
        if "SourceArn" not in right:
            yield f"{name} lets {right['Principal']} of every account invoke {_function_of(right)}"


def loose_policies(template: Template) -> Iterator[str]:
    """A policy says which language it is in, and a statement which actions it allows on which of our resources."""
    for name, document in _policies(template):
        if document.get("Version") != "2012-10-17":
            yield f"{name} has a policy without Version 2012-10-17: IAM reads variables in it as plain text"
        for statement in _listed(document["Statement"]):
            yield from (f"{name} {fault}" for fault in _looseness(statement))
    for name, role in of_type(template, "AWS::IAM::Role").items():
        for given in role.get("ManagedPolicyArns", []):
            arn = given["Fn::Sub"].replace("${AWS::Partition}", "aws") if isinstance(given, dict) else given
            if arn not in ATTACHED_BY_SAM:
                yield f"{name} has the managed policy {arn}"


def _looseness(statement: dict[str, Any]) -> Iterator[str]:
    if not statement.keys() <= {"Sid", "Effect", "Action", "Resource", "Condition"} or statement["Effect"] != "Allow":
        yield f"has a statement that is not a plain Allow: {statement}"
        return
    actions = _listed(statement["Action"])
    yield from (f"may do {a}" for a in actions if not re.fullmatch(r"[a-z0-9-]+:[A-Z][A-Za-z0-9]+", a))
    for resource in _listed(statement["Resource"]):
        pattern = resource.get("Fn::Sub") if isinstance(resource, dict) else resource
        if pattern is None:
            continue  # One resource of this template.
        if re.fullmatch(r"(.*:)?\*", pattern):
            if not ON_EVERYTHING.keys() >= set(actions):
                yield f"may do {actions} on everything"
        elif any(not re.search(OURS.get(action.partition(":")[0], ""), pattern) for action in actions):
            yield f"may do {actions} on what is not this stage's: {pattern}"


def rights_that_give_rights(template: Template) -> Iterator[str]:
    """Whoever makes roles could make one that may do more than they: only task roles are made, with their boundary.

    And whoever passes one on could give it to what they run: only tasks get one, theirs or the one that starts them.
    """
    for name, document in _policies(template):
        for statement in _listed(document["Statement"]):
            actions = {action for action in _listed(statement["Action"]) if action.startswith("iam:")}
            passable = [{"Fn::GetAtt": [role, "Arn"]} for role in FOR_TASKS] if actions == PASSES else []
            if actions - GIVES_RIGHTS - GIVES_NONE - PASSES:
                yield f"{name} may do {sorted(actions)}"
            if actions and statement["Resource"] not in [TASK_ROLES, *passable]:
                yield f"{name} may do {sorted(actions)} on what is no task role: {statement['Resource']}"
            if actions & GIVES_RIGHTS and statement.get("Condition") != BOUNDED:
                yield f"{name} may do {sorted(actions)} without TaskBoundary"
            if actions & PASSES and statement.get("Condition") != PASSED:
                yield f"{name} may do {sorted(actions)} to what is no task"


def functions_that_a_queue_could_invoke(template: Template) -> Iterator[str]:
    """Mappings are made to nothing that only operators and our own code call, and only what is tagged is read."""
    served = set(routes(template).values())
    mighty = {
        f":function:${{AWS::StackName}}-{folder(function).removeprefix('functions/')}"
        for name, function in functions(template).items()
        if name not in served and folder(function) not in FED_BY_MAPPINGS | CONSUMERS
    }
    for name, document in _policies(template):
        for statement in _listed(document["Statement"]):
            actions, condition = set(_listed(statement["Action"])), statement.get("Condition", {})
            named = [arn["Fn::Sub"] for arn in condition.get("ArnNotEquals", {}).get("lambda:FunctionArn", [])]
            spared = {arn[arn.index(":function:") :] for arn in named}
            if actions & {"lambda:CreateEventSourceMapping", "lambda:UpdateEventSourceMapping"} and spared != mighty:
                yield f"{name} may have a queue invoke {sorted(mighty - spared)}"
            if "lambda:GetFunctionConfiguration" in actions and condition != TAGGED:
                yield f"{name} may see functions that nobody has tagged"


def strange_roles(template: Template) -> Iterator[str]:
    """A queue's own policy admits our functions by the path of their roles; each function has a role of its own."""
    consumers = {f"{name}Role" for name, function in functions(template).items() if folder(function) in CONSUMERS}
    for name, role in of_type(template, "AWS::IAM::Role").items():
        for_tasks = name in FOR_TASKS
        path = CONSUMER_PATH if name in consumers else ROLE_PATH
        if for_tasks == (role.get("Path") == path):
            yield f"{name} is not where it belongs, under {path} or not: queues admit what is"
        trust = role["AssumeRolePolicyDocument"]["Statement"]
        trusted = [statement["Principal"] for statement in trust]
        if trusted != [{"Service": "ecs-tasks.amazonaws.com" if for_tasks else ["lambda.amazonaws.com"]}]:
            yield f"{name} may be assumed by {trusted}"
        if for_tasks and any("aws:SourceAccount" not in s.get("Condition", {}).get("StringEquals", {}) for s in trust):
            yield f"{name} may be assumed for another account"
    for name, function in functions(template).items():
        if function["Role"] != {"Fn::GetAtt": [f"{name}Role", "Arn"]}:
            yield f"{name} has not a role of its own"
        principals = json.dumps(function["Environment"]["Variables"]["QUEUE_PRINCIPALS"])
        if f"role{ROLE_PATH['Fn::Sub']}*" not in principals:
            yield f"{name} would make queues that do not admit the functions"


def logs_without_end(template: Template) -> Iterator[str]:
    """What is logged goes to a group that is declared, so that it ends."""
    groups = of_type(template, "AWS::Logs::LogGroup")
    yield from (f"{name} keeps its logs for ever" for name, group in groups.items() if "RetentionInDays" not in group)
    for name, function in functions(template).items():
        if function.get("LoggingConfig", {}).get("LogGroup") not in [{"Ref": group} for group in groups]:
            yield f"{name} logs into a group that is not declared"
    for name, stage in of_type(template, "AWS::ApiGatewayV2::Stage").items():
        destination = stage.get("AccessLogSettings", {}).get("DestinationArn")
        if destination not in [{"Fn::GetAtt": [group, "Arn"]} for group in groups]:
            yield f"{name} logs into a group that is not declared"


def secrets_in_the_access_log(template: Template) -> Iterator[str]:
    """Receipt handles are in queries and keys in headers, so neither is logged."""
    for name, stage in of_type(template, "AWS::ApiGatewayV2::Stage").items():
        written = json.loads(stage["AccessLogSettings"]["Format"])
        for field, variable in written.items():
            if re.search("query|header|authoriz", variable, re.IGNORECASE):
                yield f"{name} logs {variable} as {field}"


def apis_without_throttle(template: Template) -> Iterator[str]:
    """An API lets through as many requests as the operator says."""
    for name, stage in of_type(template, "AWS::ApiGatewayV2::Stage").items():
        settings = stage.get("DefaultRouteSettings", {})
        for limit, parameter in (("ThrottlingRateLimit", "ThrottleRate"), ("ThrottlingBurstLimit", "ThrottleBurst")):
            if settings.get(limit) != {"Ref": parameter}:
                yield f"{name} has not {parameter} as its {limit}"


def functions_slower_than_the_gateway(template: Template) -> Iterator[str]:
    """A request is answered by us, not by API Gateway's patience."""
    for function in set(routes(template).values()) & functions(template).keys():
        if functions(template)[function]["Timeout"] >= GATEWAY_SECONDS:
            yield f"{function} may take {functions(template)[function]['Timeout']} s"


def careless_mappings(template: Template) -> Iterator[str]:
    """A message that failed comes back alone, and none comes back while it is still being worked on."""
    queues = of_type(template, "AWS::SQS::Queue")
    for name, mapping in _mappings(template).items():
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"] and mapping.get("BatchSize", 10) > 1:
            yield f"{name} has a whole batch again when one message fails: it wants ReportBatchItemFailures"
        source = mapping["EventSourceArn"]
        queue = source["Fn::GetAtt"][0] if isinstance(source, dict) and "Fn::GetAtt" in source else None
        if queue not in queues:
            yield f"{name} reads a queue that is not declared here: {source}"
            continue
        function = functions(template)[_function_of(mapping)]
        times = 1 if folder(function) in PROMPT else 6
        needed = times * function["Timeout"] + mapping.get("MaximumBatchingWindowInSeconds", 0)
        visible = queues[queue].get("VisibilityTimeout", 30)
        if visible < needed:
            yield f"{name}: the VisibilityTimeout of {queue} is {visible} s, and must be at least {needed}"


def events_that_get_lost(template: Template) -> Iterator[str]:
    """An event that nobody waits for is kept when its function fails, unless another one does as well."""
    configured = of_type(template, "AWS::Lambda::EventInvokeConfig").values()
    kept = {_function_of(found) for found in configured if "OnFailure" in found.get("DestinationConfig", {})}
    kept |= {name for name, function in functions(template).items() if "DeadLetterConfig" in function}
    rights = of_type(template, "AWS::Lambda::Permission").values()
    for name in {_function_of(right) for right in rights if right["Principal"] != "apigateway.amazonaws.com"} - kept:
        if folder(functions(template)[name]) not in CALLED_AGAIN:
            yield f"{name} loses an event when it fails: it wants a dead-letter queue, or a reason to have none"


def data_that_a_mistake_could_destroy(template: Template) -> Iterator[str]:
    """A table outlives its stack and mistakes, unless what it holds may be lost."""
    for name, table in of_type(template, "AWS::DynamoDB::Table").items():
        if name in EPHEMERAL:
            if table.get("TimeToLiveSpecification", {}).get("Enabled") is not True:
                yield f"{name} is said to be ephemeral, and keeps its items for ever"
            continue
        resource = template["Resources"][name]
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if resource.get(policy) != "Retain":
                yield f"{name} has not {policy} Retain"
        if table.get("DeletionProtectionEnabled") is not True:
            yield f"{name} has no deletion protection"
        if table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled") is not True:
            yield f"{name} has no point-in-time recovery"


RULES = (
    routes_that_lead_nowhere,
    functions_that_nothing_invokes,
    rights_that_anybody_could_use,
    loose_policies,
    rights_that_give_rights,
    functions_that_a_queue_could_invoke,
    strange_roles,
    logs_without_end,
    secrets_in_the_access_log,
    apis_without_throttle,
    functions_slower_than_the_gateway,
    careless_mappings,
    events_that_get_lost,
    data_that_a_mistake_could_destroy,
)


def _started(template: Template) -> Iterator[str]:
    """The functions that a role may invoke."""
    for _, document in _policies(template):
        for statement in _listed(document["Statement"]):
            if "lambda:InvokeFunction" in _listed(statement["Action"]):
                yield from (resource["Fn::GetAtt"][0] for resource in _listed(statement["Resource"]))


def _policies(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every policy that the template writes, with the logical id of what has it."""
    for name, role in of_type(template, "AWS::IAM::Role").items():
        yield from ((name, policy["PolicyDocument"]) for policy in role.get("Policies", []))
    for name, policy in of_type(template, "AWS::IAM::ManagedPolicy").items():
        yield name, policy["PolicyDocument"]


def _rights(template: Template, service: str) -> list[Resource]:
    rights = of_type(template, "AWS::Lambda::Permission").values()
    return [right for right in rights if right["Principal"] == f"{service}.amazonaws.com"]


def _function_of(resource: Resource) -> str:
    """The logical id of the function that a right or a mapping is for."""
    named = resource["FunctionName"]
    return str(named["Ref"] if "Ref" in named else named["Fn::GetAtt"][0])


def _route_pattern(right: Resource) -> str:
    """The route key that a right is for, with a * for each parameter."""
    pattern, _ = right["SourceArn"]["Fn::Sub"]
    method, _, path = pattern.partition("${__Stage__}/")[2].partition("/")
    return f"{method} /{path}" if path else str(method)


def _mappings(template: Template) -> dict[str, Resource]:
    return of_type(template, "AWS::Lambda::EventSourceMapping")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
