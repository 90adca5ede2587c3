"""What input models share: strict types, no unknown fields, and refusals that name the field and its allowed range."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tenancy.errors import InvalidInput
from tenancy.names import NAME_PATTERN

MAX_VISIBILITY = 43_200

_WHOLE = re.compile(r"-?[0-9]{1,9}")


class Input(BaseModel):
    """The body or the query of a request. A null is the same as leaving the field out."""

    model_config = ConfigDict(strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_fields_without_nulls(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        for name in data:
            if name not in cls.model_fields:
                known = ", ".join(cls.model_fields) or "there are none here"
                raise InvalidInput(f"unknown field {name[:80]!r}; known: {known}", field=name[:80])
        return {name: value for name, value in data.items() if value is not None}


class Nothing(Input):
    """The input of an operation that takes none."""


def _whole_number(value: object) -> object:
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


FromText = BeforeValidator(_whole_number)
"""For a whole number that arrives as text, in a query."""

Flag = Annotated[bool, BeforeValidator(lambda value: {"true": True, "false": False}.get(value, value))]
"""For true or false that arrives as text, in a query."""


_PLAIN = r"^[^\x00-\x1f\x7f-\x9f]{1,%d}$"
_NAME_RULE = "a string of 1 to 64 characters from A-Z a-z 0-9 _ -"

CompanyName = Annotated[str, Field(pattern=NAME_PATTERN, description=_NAME_RULE)]


UserId = Annotated[str, Field(description="the id of a user of this company")]
"""Its form is judged with the user, so that a malformed one is told apart from a foreign one by nobody."""

ExternalId = Annotated[
    str,
    Field(
        pattern=_PLAIN % 200,
        max_length=200,
        description="a string of 1 to 200 characters, none of them a control character",
    ),
]

Email = Annotated[
    str,
    Field(
        max_length=254,
        pattern=r"^[^\x00-\x20\x7f-\x9f@]+@[^\x00-\x20\x7f-\x9f@]+$",
        description="an e-mail address of at most 254 characters",
    ),
]

Label = Annotated[
    str,
    Field(
        pattern=_PLAIN % 200,
        max_length=200,
        description="a string of 1 to 200 characters, none of them a control character",
    ),
]

KeyName = Annotated[
    str,
    Field(
        pattern=_PLAIN % 100,
        max_length=100,
        description="a string of 1 to 100 characters, none of them a control character",
    ),
]


def _without_suffix(value: object) -> object:
    if isinstance(value, str) and value.endswith(".fifo"):
        raise InvalidInput(
            f"name must be {_NAME_RULE}",
            hint='Leave .fifo off the name and say "type": "fifo".',
            field="name",
        )
    return value


QueueName = Annotated[
    str,
    Field(pattern=NAME_PATTERN, max_length=64, description=_NAME_RULE),
    BeforeValidator(_without_suffix),
]

ServiceName = Annotated[str, Field(pattern=NAME_PATTERN, description=_NAME_RULE)]

ReceiptHandle = Annotated[str, Field(description="the receipt_handle of a received message")]
"""Its form is judged with the queue, so that whatever is wrong with one is the same refusal."""

Cursor = Annotated[str, Field(max_length=500, description="the next_cursor of an earlier answer, unchanged")]

Visibility = Annotated[int, Field(ge=0, le=MAX_VISIBILITY)]
"""Seconds for which a received message is hidden from other receives."""

Retention = Annotated[int, Field(ge=60, le=1_209_600)]
"""Seconds for which an unacknowledged message is kept."""

Delay = Annotated[int, Field(ge=0, le=900)]
"""Seconds before a sent message can be received."""

MaxReceiveCount = Annotated[int, Field(ge=1, le=1000)]
"""Receives after which a message moves to the dead-letter queue."""

BatchSize = Annotated[int, Field(ge=1, le=10)]
"""Messages that a consumer gets at once."""

MaxConcurrency = Annotated[int, Field(ge=2, le=1000)]
"""Batches that a consumer may have at the same time."""

MinWorkers = Annotated[int, Field(ge=0, le=1000)]
"""Workers of a service that stay when there is nothing to do."""

MaxWorkers = Annotated[int, Field(ge=1, le=1000)]
"""Workers that a service may have at the same time."""

MessagesPerWorker = Annotated[int, Field(ge=1, le=1000)]
"""Messages for which a service gets one more worker."""

IdleSeconds = Annotated[int, Field(ge=60, le=86_400)]
"""Seconds without messages after which a service goes to its fewest workers."""


def parse[T: Input](model: type[T], data: object) -> T:
    """The typed input. Raises InvalidInput with every field that is wrong and what it may be."""
    try:
        return model.model_validate(data)
    except ValidationError as fault:
        errors = fault.errors(include_url=False, include_context=False)
        fields = model.model_json_schema().get("properties", {})
        message = "; ".join(_sentence(error, fields) for error in errors[:5])
        details: dict[str, Any] = {"field": errors[0]["loc"][0]} if errors[0]["loc"] else {}
        # The fault holds the input, so it does not travel with the refusal.
        raise InvalidInput(message, **details) from None


def _sentence(error: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    if not error["loc"]:
        return "a JSON object is expected"
    expected = _expected(_schema_at(error["loc"][1:], fields[error["loc"][0]]))
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{where} is required: {expected}"
    return f"{where} must be {expected}{_got(error['input'])}"


def _schema_at(path: Sequence[int | str], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an entry inside a list, or of the field itself."""
    schema = next((option for option in schema.get("anyOf", []) if option.get("type") != "null"), schema)
    return _schema_at(path[1:], schema["items"]) if path else schema


def _got(value: object) -> str:
    """The value as it was given, when it is short enough to say and cannot be somebody's data."""
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    if isinstance(value, int | float | str) and re.fullmatch(r"'?-?[0-9.e+]{1,20}'?", repr(value)):
        return f", not {value!r}"
    return ""


def _expected(schema: Mapping[str, Any]) -> str:
    """A field's rule in words, from its JSON schema."""
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    match schema.get("type"):
        case "integer":
            return f"a whole number from {schema['minimum']} to {schema['maximum']}"
        case "boolean":
            return "true or false"
        case "array":
            return f"a list of {schema.get('minItems', 0)} to {schema['maxItems']}"
        case "object":
            return f"an object of {schema['description']}"
        case _:
            return str(schema["description"])
