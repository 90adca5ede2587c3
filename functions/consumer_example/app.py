"""Fed with a queue's messages by its mapping: an example of a consumer, which does each once, and in order on fifo.

Copy it, put your work into `run`, deploy it and have it tagged for your company. It needs nothing of this service.
"""

import json
import os
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

logger = Logger(service="consumer_example")

# A message that fails comes back alone; on fifo with those of its group that follow it, so that none overtakes it.
_standard = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
_fifo = SqsFifoPartialProcessor(skip_group_on_error=True)
_fifo.raise_on_entire_batch_failure = False

_config = IdempotencyConfig(event_key_jmespath="message_id", expires_after_seconds=24 * 60 * 60)
_done = DynamoDBPersistenceLayer(table_name=os.environ["DONE_TABLE"])


def handler(event: dict[str, Any], context: Any) -> Any:
    _config.register_lambda_context(context)
    fifo = event["Records"][0]["eventSourceARN"].endswith(".fifo")
    return process_partial_response(event, work, _fifo if fifo else _standard, context)


def work(record: SQSRecord) -> None:
    """Work on one message; one that raises comes back."""
    once(message={"message_id": record.message_id, "body": record.body, "group": record.attributes.message_group_id})


def run(*, message: dict[str, Any]) -> None:
    """Do the work. A body that is no JSON fails, each time that it comes back."""
    json.loads(message["body"])
    logger.info("done", extra={"message_id": message["message_id"], "group": message["group"]})


# A message may be delivered twice; what was done in the last day is not done again.
once = idempotent_function(run, data_keyword_argument="message", persistence_store=_done, config=_config)
