"""The environment that the template gives a function, set before anything imports one; and signals as usual."""

import os
import signal

os.environ |= {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_LAMBDA_FUNCTION_NAME": "naive-test-operation",
    "DESTROY_USER_FUNCTION": "naive-test-destroy_user",
    "POWERTOOLS_METRICS_NAMESPACE": "Naive",
    "QUEUE_ARN_PREFIX": "arn:aws:sqs:us-east-1:123456789012",
    "QUEUE_PRINCIPALS": ",".join(
        [
            "arn:aws:iam::123456789012:role/naive/test/platform/*",
            "arn:aws:iam::123456789012:role/naive/test/task-{user}",
        ]
    ),
    "ASSIGN_PUBLIC_IP": "DISABLED",
    "ECS_CLUSTER": "workers",
    "EXECUTION_ROLE": "arn:aws:iam::123456789012:role/naive/test/execution",
    "QUEUES_PER_USER": "1000",
    "COMPANY_CONCURRENCY": "50",
    "DONE_TABLE": "done",
    "SECURITY_GROUPS": "sg-1",
    "SERVICES_PER_USER": "100",
    "SUBNETS": "subnet-1,subnet-2",
    "TICK_QUEUE": "https://sqs.us-east-1.amazonaws.com/123456789012/ticks",
    "ALARM_TOPIC": "arn:aws:sns:us-east-1:123456789012:alarms",
    "IDEMPOTENCY_TABLE": "idempotency",
    "REGISTRY_TABLE": "registry",
    "STAGE": "test",
    "USAGE_TABLE": "usage",
    "WEBHOOK_ALLOW_LOOPBACK": "true",
    "WEBHOOK_WORKER": "naive-test-webhook_worker",
    "REQUEST_RATE": "200",
    "REQUEST_BURST": "400",
    "WAITING_POLLS": "25",
    "TASK_BOUNDARY": "arn:aws:iam::123456789012:policy/naive/test/boundary",
}

# Whoever starts the tests in the background may have them ignore these, and what they start would ignore them too.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since many tests wait for what they time."""
    return (os.cpu_count() or 1) + 1
