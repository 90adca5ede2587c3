"""JSON schemas of the models: inputs as they are checked, answers as they are made."""

from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from tenancy.models import Input

type Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"

# What the texts of an answer hold; the models only say that they are texts.
_FORMATS = {
    "id": "uuid",
    "service_id": "uuid",
    "user_id": "uuid",
    "queue_id": "uuid",
    "key_id": "uuid",
    "active_tenant_user_id": "uuid",
    "created_at": "date-time",
    "done_by": "date-time",
    "last_scaled_at": "date-time",
    "last_used_at": "date-time",
    "lease_expires_at": "date-time",
    "sent_at": "date-time",
    "time": "date-time",
}

_SHOWN_ONCE = "Null when the answer is given again for its Idempotency-Key."


class Schemas:
    """The schemas under components, filled by what refers to them."""

    def __init__(self) -> None:
        self.shared: dict[str, Schema] = {}

    def body(self, model: type[Input]) -> Schema:
        """A reference to the schema of a request's body."""
        shared: Schema = _each(_input(model), self._share)
        return shared

    def query(self, model: type[Input]) -> dict[str, tuple[Schema, bool]]:
        """The parameters in a query: name to schema and whether it is required. There is no null in a query."""
        schema = _input(model)
        required = schema.get("required", [])
        return {name: (_given(field), name in required) for name, field in schema["properties"].items()}

    def answer(self, shape: Any, secret: str | None = None) -> Schema:
        """A reference to the schema of an answer's body, in which the field `secret` is null when it is repeated."""
        schema = TypeAdapter(shape).json_schema(
            mode="serialization", ref_template=_REF, schema_generator=_WithoutFieldTitles
        )
        for model in (schema, *schema.get("$defs", {}).values()):
            if secret is not None and secret in model.get("properties", {}):
                model["properties"][secret] = _optional(model["properties"][secret]) | {"description": _SHOWN_ONCE}
        shared: Schema = _each(_each(schema, _formatted), self._share)
        return shared

    def _share(self, schema: Schema) -> Schema:
        """Move a model to the shared ones and leave a reference in its place."""
        schema.pop("$defs", None)
        if "properties" not in schema or "title" not in schema:
            return schema
        name = schema.pop("title")
        assert self.shared.setdefault(name, schema) == schema, f"there are two models named {name}"
        return {"$ref": _REF.format(model=name)}


class _WithoutFieldTitles(GenerateJsonSchema):
    """A title names a model; that of a field would be the field's name again."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _input(model: type[Input]) -> Schema:
    schema = model.model_json_schema(mode="validation", ref_template=_REF, schema_generator=_WithoutFieldTitles)
    strict: Schema = _each(schema, _strict)
    return strict


def _each(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with every object in it changed, the inner ones first."""
    if isinstance(schema, list):
        return [_each(part, change) for part in schema]
    if isinstance(schema, dict):
        return change({key: _each(part, change) for key, part in schema.items()})
    return schema


def _strict(schema: Schema) -> Schema:
    """Say what Input does and its schema does not: it takes no unknown field, and a null for every optional one."""
    if "properties" in schema:
        required = schema.get("required", [])
        schema["additionalProperties"] = False
        schema["properties"] = {
            name: field if name in required else _optional(field) for name, field in schema["properties"].items()
        }
    return schema


def _optional(field: Schema) -> Schema:
    given = _given(field)
    default = {"default": given.pop("default")} if "default" in given else {}
    return {"anyOf": [given, {"type": "null"}]} | default


def _given(field: Schema) -> Schema:
    """The schema of a field's values other than null."""
    options = [option for option in field.get("anyOf", []) if option != {"type": "null"}]
    rest = {key: value for key, value in field.items() if key != "anyOf" and (key, value) != ("default", None)}
    return rest | options[0] if options else rest


def _formatted(schema: Schema) -> Schema:
    for name, field in schema.get("properties", {}).items():
        if name in _FORMATS:
            text = next(option for option in field.get("anyOf", [field]) if option["type"] == "string")
            text["format"] = _FORMATS[name]
    return schema
