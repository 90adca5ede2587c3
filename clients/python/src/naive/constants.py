"""Every default and limit of the client, in one place."""

VERSION = "0.1.0"
USER_AGENT = f"naive-queue-python/{VERSION}"

API_KEY_VARIABLE = "NAIVE_API_KEY"
BASE_URL_VARIABLE = "NAIVE_BASE_URL"
ACTIVE_USER_VARIABLE = "NAIVE_ACTIVE_USER_ID"

# A receive may take its whole `wait` before it answers: its timeout is this much longer.
TIMEOUT_SECONDS = 10.0

MAX_ATTEMPTS = 4
BACKOFF_SECONDS = 0.25
BACKOFF_CAP_SECONDS = 8.0
# A server that asks for more patience than this gets its error reported instead.
LONGEST_RETRY_AFTER_SECONDS = 60.0

MEBIBYTE = 1024 * 1024
MAX_BODY_BYTES = MEBIBYTE
MAX_BATCH_BYTES = 2 * MEBIBYTE
MAX_BATCH_MESSAGES = 100
MAX_SETTLE_ENTRIES = 100
MAX_PAGE = 100
MAX_WAIT = 20
MAX_REDRIVE = 1000
