"""The environment that the template gives a function, set before anything imports one."""

import os

os.environ |= {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_LAMBDA_FUNCTION_NAME": "naive-test-operation",
    "POWERTOOLS_METRICS_NAMESPACE": "Naive",
    "QUEUE_ARN_PREFIX": "arn:aws:sqs:us-east-1:123456789012",
    "QUEUE_PRINCIPALS": ",".join(
        [
            "arn:aws:iam::123456789012:role/naive/test/platform/*",
            "arn:aws:iam::123456789012:role/naive/test/task-{user}",
        ]
    ),
    "IDEMPOTENCY_TABLE": "idempotency",
    "REGISTRY_TABLE": "registry",
    "STAGE": "test",
}
