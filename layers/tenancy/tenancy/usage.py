"""When keys were last used, as far as fair use keeps count of it."""

from collections.abc import Sequence

from tenancy.aws import USAGE_TABLE, dynamodb, reaching_aws
from tenancy.errors import Unavailable


def last_used(key_ids: Sequence[str]) -> dict[str, str]:
    """The day on which each key was last used, of those that ever were; at most 100 keys."""
    if not key_ids:
        return {}
    with reaching_aws():
        answer = dynamodb.batch_get_item(
            RequestItems={
                USAGE_TABLE: {
                    "Keys": [{"id": {"S": key_id}} for key_id in key_ids],
                    "ProjectionExpression": "id, last_used_on",
                }
            }
        )
    if answer.get("UnprocessedKeys"):
        raise Unavailable("a service behind this API cannot take the request now")
    found = answer["Responses"].get(USAGE_TABLE, [])
    return {item["id"]["S"]: f"{item['last_used_on']['S']}T00:00:00Z" for item in found if "last_used_on" in item}


def forget(key_id: str) -> None:
    """Remove what is counted of a key."""
    with reaching_aws():
        dynamodb.delete_item(TableName=USAGE_TABLE, Key={"id": {"S": key_id}})
