"""A message that is to be sent: what it may hold, and how large it may be."""

import re
from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import BeforeValidator, Field, ValidationInfo

from tenancy.errors import InvalidInput, PayloadTooLarge
from tenancy.messages import MAX_BYTES
from tenancy.models import Delay, Input
from tenancy.registry import Queue

# What XML 1.0 leaves out, SQS refuses.
_REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTRIBUTE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_RESERVED_NAME = re.compile(r"(aws|amazon)\.|\.|.*\.$|.*\.\.", re.IGNORECASE)


def _allowed_text(value: object, info: ValidationInfo) -> object:
    """Refuse what SQS refuses, before a JSON or UTF-8 encoder gets to it."""
    if isinstance(value, str):
        _refuse_characters(str(info.field_name), value)
    return value


def _allowed_attributes(value: object) -> object:
    """Refuse names, values and characters that SQS refuses."""
    for name, text in value.items() if isinstance(value, dict) else ():
        if not _ATTRIBUTE_NAME.fullmatch(name):
            raise _bad_attribute(f"the name {name[:80]!r} must be 1 to 256 characters from A-Z a-z 0-9 _ - .")
        if _RESERVED_NAME.match(name):
            raise _bad_attribute(
                f"the name {name!r} must not start with AWS., Amazon. or a period, end with one or have two in a row"
            )
        if not isinstance(text, str) or not text:
            raise _bad_attribute(f"{name} must be a string of at least 1 byte")
        _refuse_characters(f"attributes.{name}", text)
    return value


def _refuse_characters(field: str, text: str) -> None:
    if refused := _REFUSED.search(text):
        code_point = f"U+{ord(refused[0]):04X}"
        raise InvalidInput(
            f"{field} must not have the character {code_point}, which is at index {refused.start()}",
            hint="SQS takes tab, line feed, carriage return, U+0020 to U+D7FF, U+E000 to U+FFFD and U+10000 upwards;"
            " send other data as base64.",
            field=field,
            index=refused.start(),
            code_point=code_point,
        )


def _bad_attribute(rule: str) -> InvalidInput:
    return InvalidInput(f"attributes: {rule}", field="attributes")


Text = Annotated[str, Field(min_length=1, description="a string of at least 1 byte"), BeforeValidator(_allowed_text)]
Token = Annotated[
    str,
    Field(min_length=1, max_length=128, pattern="^[!-~]+$", description="a string of 1 to 128 characters from ! to ~"),
]
Attributes = Annotated[
    dict[str, str],
    Field(max_length=10, description="at most 10 pairs: name (letters, digits, _ - .) and non-empty string"),
    BeforeValidator(_allowed_attributes),
]


class NewMessage(Input):
    """A message to be sent."""

    body: Text
    group_id: Token | None = None
    dedup_id: Token | None = None
    delay_seconds: Delay | None = None
    attributes: Attributes | None = None

    def fit(self, queue: Queue) -> None:
        """Refuse what is wrong for this queue. Raises InvalidInput, PayloadTooLarge."""
        if queue.fifo:
            self._fit_fifo(queue)
        elif self.dedup_id is not None:
            raise InvalidInput("dedup_id is for fifo queues; this one is standard", field="dedup_id")
        if self.size > MAX_BYTES:
            raise PayloadTooLarge(
                f"body and attributes must be at most {MAX_BYTES} bytes together, not {self.size}", field="body"
            )

    def _fit_fifo(self, queue: Queue) -> None:
        if self.group_id is None:
            raise InvalidInput(
                "group_id is required on a fifo queue: 1 to 128 characters from ! to ~", field="group_id"
            )
        if self.dedup_id is None and not queue.content_based_dedup:
            raise InvalidInput(
                "dedup_id is required on this fifo queue, since its content_based_dedup is off", field="dedup_id"
            )
        if self.delay_seconds:
            raise InvalidInput(
                f"delay_seconds must be 0 on a fifo queue, not {self.delay_seconds}: SQS delays fifo queues as a whole",
                hint="Set delay_seconds of the queue.",
                field="delay_seconds",
            )

    @property
    def size(self) -> int:
        """Bytes as SQS counts them: the body, and name, type and value of each attribute."""
        attributes = (self.attributes or {}).items()
        return len(self.body.encode()) + sum(len(n) + len("String") + len(v.encode()) for n, v in attributes)

    def to_sqs(self, queue: Queue) -> dict[str, Any]:
        """The arguments of SendMessage; an empty attribute map is left out, since it breaks SQS's checksum."""
        arguments: dict[str, Any] = {"MessageBody": self.body}
        if self.group_id is not None:
            arguments["MessageGroupId"] = self.group_id
        if self.dedup_id is not None:
            arguments["MessageDeduplicationId"] = self.dedup_id
        if not queue.fifo:
            arguments["DelaySeconds"] = queue.delay_seconds if self.delay_seconds is None else self.delay_seconds
        if self.attributes:
            arguments["MessageAttributes"] = {
                name: {"DataType": "String", "StringValue": value} for name, value in self.attributes.items()
            }
        return arguments


class SentMessage(TypedDict):
    """The answer to a send."""

    message_id: str
    sequence_number: NotRequired[str]
