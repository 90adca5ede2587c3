"""Idempotency-Key: a request that is repeated gets the first one's answer and does nothing again."""

import json
import os
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)

from tenancy.auth import Tenant
from tenancy.aws import dynamodb, reaching_aws
from tenancy.endpoint import REPEAT_SECONDS
from tenancy.errors import IdempotencyMismatch, InvalidInput, RequestInProgress
from tenancy.telemetry import log_unhandled, note

_KEY = re.compile(r"[!-~]{1,255}")

_config = IdempotencyConfig(
    event_key_jmespath="asked",
    payload_validation_jmespath="body",
    expires_after_seconds=REPEAT_SECONDS,
    hash_function="sha256",
)
_store = DynamoDBPersistenceLayer(table_name=os.environ["IDEMPOTENCY_TABLE"], boto3_client=dynamodb)


def once(
    tenant: Tenant,
    method: str,
    path: str,
    key: str,
    body: bytes,
    context: Any,
    run: Callable[[], Any],
    *,
    secret: str | None = None,
) -> Any:
    """What `run` answers, or what it answered the first time, with null for the answer's field `secret` if it has one.

    Nothing is kept of a refusal or of a secret. Raises InvalidInput for a malformed key, IdempotencyMismatch,
    RequestInProgress.
    """
    if not _KEY.fullmatch(key):
        raise InvalidInput("Idempotency-Key must be 1 to 255 characters from ! to ~", field="Idempotency-Key")
    request = {"asked": [tenant.key_id, tenant.user, method, path, key], "body": sha256(body).hexdigest()}
    answers: list[Any] = []

    def remember() -> str:
        answers.append(run())
        kept = {**answers[0], secret: None} if secret is not None and secret in answers[0] else answers[0]
        return json.dumps(kept)  # as text, which keeps the order of the fields

    _config.register_lambda_context(context)
    try:
        stored = _once(request=request, run=remember)
        if answers:
            return answers[0]
        note(replayed=True)
        return json.loads(stored)
    except IdempotencyValidationError as fault:
        raise IdempotencyMismatch("this Idempotency-Key was used with another body") from fault
    except (IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError) as fault:
        raise RequestInProgress("a request with this Idempotency-Key is still running", retry_after=1) from fault
    except IdempotencyPersistenceLayerError as fault:
        if answers:  # It is done: failing now would only have it done again.
            log_unhandled(fault)
            return answers[0]
        with reaching_aws():
            raise fault.__cause__ or fault from None


def _run(*, request: dict[str, Any], run: Callable[[], Any]) -> Any:
    return run()


_once = idempotent_function(
    _run, data_keyword_argument="request", persistence_store=_store, config=_config, key_prefix="request"
)
