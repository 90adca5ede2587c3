"""The registry's table: reads and writes of plain items, and what a failed condition means."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any

from botocore.exceptions import ClientError

from tenancy.aws import REGISTRY_TABLE, dynamodb, error_code, reaching_aws
from tenancy.errors import Unavailable

type Item = dict[str, Any]
type Key = tuple[str, str]
"""Partition and sort key of an item."""
type Write = Any
"""One write of a transaction, as `put`, `change`, `remove` and `check` make it."""

# The kinds of values that are stored, as DynamoDB calls them, as it wants them and as it gives them.
_WRITERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    str: lambda value: {"S": value},
    int: lambda value: {"N": str(value)},
    bool: lambda value: {"BOOL": value},
    NoneType: lambda _: {"NULL": True},
    list: lambda values: {"L": [_typed(value) for value in values]},
    dict: lambda fields: {"M": {name: _typed(value) for name, value in fields.items()}},
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "S": str,
    "N": int,
    "BOOL": bool,
    "NULL": lambda _: None,
    "L": lambda values: [_value(typed) for typed in values],
    "M": lambda fields: _plain(fields),
}
_READS = 3
_CONFLICTS = 5
"""Tries of a transaction that meets another one at an item, such as two creates of one user: they take milliseconds."""


class ConditionFailed(Exception):
    """A write's condition did not hold, so nothing was written."""


def at(key: Key) -> Item:
    """The fields of an item that say where it is."""
    return {"pk": key[0], "sk": key[1]}


def read(keys: Sequence[Key]) -> dict[Key, Item]:
    """The items that exist, as they are at this moment; at most 100 keys."""
    found: dict[Key, Item] = {}
    wanted: Any = {REGISTRY_TABLE: {"Keys": [_key(key) for key in keys], "ConsistentRead": True}}
    for _ in range(_READS):
        with reaching_aws():
            answer = dynamodb.batch_get_item(RequestItems=wanted)
        for raw in answer["Responses"].get(REGISTRY_TABLE, []):
            item = _plain(raw)
            found[item["pk"], item["sk"]] = item
        wanted = answer.get("UnprocessedKeys")
        if not wanted:
            return found
    raise Unavailable("a service behind this API cannot take the request now")


def page(pk: str, prefix: str, *, after: str = "", limit: int) -> tuple[list[Item], str | None]:
    """Up to `limit` items of one partition whose sort key starts with `prefix`, in order, from behind `prefix + after`.

    With what to go on after, None at the end.
    """
    with reaching_aws():
        answer = dynamodb.query(
            TableName=REGISTRY_TABLE,
            ConsistentRead=True,
            Limit=limit + 1,
            # "~" sorts behind every character that a name may have.
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=_values({"pk": pk, "first": f"{prefix}{after}\0", "last": f"{prefix}~"}),
        )
    items = [_plain(raw) for raw in answer["Items"]]
    return items[:limit], items[limit - 1]["sk"].removeprefix(prefix) if len(items) > limit else None


def due(kind: str, *, before: int, limit: int) -> list[Key]:
    """Keys of items that are due for the reconciler, from the sparse index; at most `limit`, the oldest first."""
    with reaching_aws():
        answer = dynamodb.query(
            TableName=REGISTRY_TABLE,
            IndexName="due",
            Limit=limit,
            KeyConditionExpression="due = :kind AND due_at <= :before",
            ExpressionAttributeValues=_values({"kind": kind, "before": before}),
        )
    return [(item["pk"]["S"], item["sk"]["S"]) for item in answer["Items"]]


def all_due(kind: str) -> list[Key]:
    """Keys of all items that have this to be seen to, whenever, from the sparse index."""
    keys: list[Key] = []
    start: Any = {}
    while True:
        with reaching_aws():
            answer = dynamodb.query(
                TableName=REGISTRY_TABLE,
                IndexName="due",
                KeyConditionExpression="due = :kind",
                ExpressionAttributeValues=_values({"kind": kind}),
                **start,
            )
        keys += [(item["pk"]["S"], item["sk"]["S"]) for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return keys
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def put_off(key: Key, due_at: int) -> bool:
    """Let what has been due since then be the last of what is due; whether it still was."""
    try:
        update(
            key,
            "SET due_at = :now",
            condition="due_at = :since",
            values={"now": int(time.time()), "since": due_at},
        )
    except ConditionFailed:
        return False
    return True


def update(key: Key, change: str, *, condition: str, values: Mapping[str, Any]) -> Item:
    """Change an item by an update expression; the answer is the item as it is then.

    Raises ConditionFailed when the condition does not hold.
    """
    try:
        with reaching_aws():
            answer = dynamodb.update_item(
                TableName=REGISTRY_TABLE,
                Key=_key(key),
                UpdateExpression=change,
                ConditionExpression=condition,
                ReturnValues="ALL_NEW",
                **_expression(f"{change} {condition}", values),
            )
            return _plain(answer.get("Attributes", {}))
    except ClientError as fault:
        if error_code(fault) == "ConditionalCheckFailedException":
            raise ConditionFailed from fault
        raise


def delete(key: Key) -> None:
    """Remove an item, whether or not it is there."""
    with reaching_aws():
        dynamodb.delete_item(TableName=REGISTRY_TABLE, Key=_key(key))


def transact(writes: Sequence[Write]) -> None:
    """Do all of the writes or none. Raises ConditionFailed when a condition does not hold."""
    for left in reversed(range(_CONFLICTS)):
        try:
            with reaching_aws():
                dynamodb.transact_write_items(TransactItems=writes)
            return
        except ClientError as fault:
            if error_code(fault) != "TransactionCanceledException":
                raise
            reasons = {reason.get("Code") for reason in fault.response.get("CancellationReasons", [])} - {"None"}
            if reasons <= {"ConditionalCheckFailed"}:
                raise ConditionFailed from fault
            # What else there is: throttling, and a conflict with another request, which is over at once.
            if "TransactionConflict" not in reasons or not left:
                raise Unavailable("a service behind this API cannot take the request now") from fault


def put(item: Item, *, condition: str = "attribute_not_exists(pk)", **values: Any) -> Write:
    """A write for `transact`: store a whole item, a new one unless the condition says otherwise."""
    raw = {name: _typed(value) for name, value in item.items() if value is not None}
    return {
        "Put": {
            "TableName": REGISTRY_TABLE,
            "Item": raw,
            "ConditionExpression": condition,
            **_expression(condition, values),
        }
    }


def change(key: Key, expression: str, *, condition: str, **values: Any) -> Write:
    """A write for `transact`: an update expression."""
    return {
        "Update": {
            "TableName": REGISTRY_TABLE,
            "Key": _key(key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            **_expression(f"{expression} {condition}", values),
        }
    }


def remove(key: Key, *, condition: str, **values: Any) -> Write:
    """A write for `transact`: delete an item."""
    return {
        "Delete": {
            "TableName": REGISTRY_TABLE,
            "Key": _key(key),
            "ConditionExpression": condition,
            **_expression(condition, values),
        }
    }


def check(key: Key, condition: str, **values: Any) -> Write:
    """A condition for `transact` on an item that is not written."""
    return {
        "ConditionCheck": {
            "TableName": REGISTRY_TABLE,
            "Key": _key(key),
            "ConditionExpression": condition,
            **_expression(condition, values),
        }
    }


def unchanged(item: Item, *fields: str) -> tuple[str, dict[str, Any]]:
    """The condition that these fields of an item are still as they were read, and its values."""
    conditions = [f"#{name} = :was_{name}" if name in item else f"attribute_not_exists(#{name})" for name in fields]
    return " AND ".join(conditions), {f"was_{name}": item[name] for name in fields if name in item}


def _expression(text: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The names (each word with a #) and values that an expression uses."""
    names = {word: word[1:] for word in re.split(r"[\s(),.]+", text) if word.startswith("#")}
    parts: dict[str, Any] = {}
    if names:
        parts["ExpressionAttributeNames"] = names
    if values:
        parts["ExpressionAttributeValues"] = _values(values)
    return parts


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f":{name}": _typed(value) for name, value in values.items()}


def _key(key: Key) -> dict[str, Any]:
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}


def _typed(value: Any) -> dict[str, Any]:
    return _WRITERS[type(value)](value)


def _plain(raw: Mapping[str, Mapping[str, Any]]) -> Item:
    return {name: _value(typed) for name, typed in raw.items()}


def _value(typed: Mapping[str, Any]) -> Any:
    ((kind, value),) = typed.items()
    return _READERS[kind](value)
