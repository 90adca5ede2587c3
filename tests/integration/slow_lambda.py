"""Event source mappings that change in their own time, as Lambda's do and moto's do not."""

from typing import Any

from botocore.exceptions import ClientError

from tests.integration.lambdas import client


class SlowLambda:
    """The calls of a Lambda client that mappings are made with: each change goes on until `rest`."""

    def __init__(self) -> None:
        self._moto = client("lambda")
        self._changing: dict[str, str] = {}

    def rest(self) -> None:
        """Let all changes come to their end."""
        for uuid, state in self._changing.items():
            if state == "Deleting":
                self._moto.delete_event_source_mapping(UUID=uuid)
        self._changing.clear()

    def list_event_source_mappings(self, **of: Any) -> Any:
        found = self._moto.list_event_source_mappings(**of)["EventSourceMappings"]
        shown = [{**made, "State": self._changing.get(made["UUID"], made["State"])} for made in found]
        return {"EventSourceMappings": shown}

    def create_event_source_mapping(self, **asked: Any) -> Any:
        there = self._moto.list_event_source_mappings(EventSourceArn=asked["EventSourceArn"])["EventSourceMappings"]
        if any(made["FunctionArn"].endswith(f":{asked['FunctionName']}") for made in there):
            raise _fault("ResourceConflictException", 409)
        made = self._moto.create_event_source_mapping(**asked)
        return self._begin(made, "Creating")

    def update_event_source_mapping(self, **asked: Any) -> Any:
        self._require_rest(asked["UUID"])
        return self._begin(self._moto.update_event_source_mapping(**asked), "Updating")

    def delete_event_source_mapping(self, **asked: Any) -> Any:
        self._require_rest(asked["UUID"])
        return self._begin({"UUID": asked["UUID"]}, "Deleting")

    def _begin(self, made: Any, state: str) -> Any:
        self._changing[made["UUID"]] = state
        return {**made, "State": state}

    def _require_rest(self, uuid: str) -> None:
        if uuid in self._changing:
            raise _fault("ResourceInUseException", 400)
        if uuid not in [made["UUID"] for made in self._moto.list_event_source_mappings()["EventSourceMappings"]]:
            raise _fault("ResourceNotFoundException", 404)


def _fault(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "secret"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SomeOperation")
