"""Every default and limit of the client, in one place."""

VERSION = "0.1.0"
USER_AGENT = f"naive-queue-python/{VERSION}"

API_KEY_VARIABLE = "NAIVE_API_KEY"
BASE_URL_VARIABLE = "NAIVE_BASE_URL"
ACTIVE_USER_VARIABLE = "NAIVE_ACTIVE_USER_ID"
QUEUE_VARIABLE = "NAIVE_QUEUE_ID"

# A receive may take its whole `wait` before it answers: its timeout is this much longer.
TIMEOUT_SECONDS = 10.0

MAX_ATTEMPTS = 4
BACKOFF_SECONDS = 0.25
BACKOFF_CAP_SECONDS = 8.0
# A server that asks for more patience than this gets its error reported instead.
LONGEST_RETRY_AFTER_SECONDS = 60.0

MEBIBYTE = 1024 * 1024
# Of an answer no more is kept in memory, whoever gives it: this API's have 6 MB at most, as all of AWS Lambda's.
MAX_ANSWER_BYTES = 16 * MEBIBYTE
MAX_BODY_BYTES = MEBIBYTE
MAX_BATCH_BYTES = 2 * MEBIBYTE
MAX_BATCH_MESSAGES = 100
MAX_SETTLE_ENTRIES = 100
MAX_PAGE = 100
MAX_ATTRIBUTES = 10
MAX_LOG_LINES = 1000
MAX_RECEIVE = 10
MAX_WAIT = 20
MAX_REDRIVE = 1000
MAX_LEASE_SECONDS = 43_200

# The consumer loop.
CONCURRENCY = 1
DRAIN_SECONDS = 25.0
# What is given back when no more time is left has this long to reach the server.
GIVE_BACK_SECONDS = 5.0
# A lease of half this could end while one slow call is about to extend it.
LEAST_VISIBILITY = 5
# A lease that could not be extended counts as lost this long before it ends.
LOST_MARGIN_SECONDS = 1.0
# What is settled waits this long for company while other handlers run.
LINGER_SECONDS = 0.05
SETTLE_CALLS = 4
POLL_CALLS = 10
# Beside a receive that waits, others do not: a key has only so many places for receives that wait for longer than this.
BESIDE_WAIT = 1
EMPTY_PAUSE_SECONDS = 1.0
LEAST_TIMEOUT_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 900.0
# A message whose handler failed stays hidden for this long, twice as long with each receive, up to the cap.
HANDLER_BACKOFF_SECONDS = 2.0
HANDLER_BACKOFF_CAP_SECONDS = 900.0
# Hooks have this long to catch up when a loop has ended.
HOOK_SECONDS = 5.0

# A webhook's request may be this old, or come from a clock that is this far ahead.
WEBHOOK_TOLERANCE_SECONDS = 300
# A shorter secret is a piece of one, or nothing that others could not find out by trying.
LEAST_WEBHOOK_SECRET_BYTES = 16

# `naive queue work`: from SIGTERM to SIGKILL, for an answer to a POST, and what attributes may take in an environment.
KILL_SECONDS = 5.0
POST_TIMEOUT_SECONDS = 300.0
MAX_ENVIRONMENT_BYTES = 64 * 1024
MAX_ATTRIBUTES_HEADER = 4096

# The protection of an ECS task from being scaled in.
ECS_AGENT_VARIABLE = "ECS_AGENT_URI"
PROTECTION_MINUTES = 10
PROTECTION_IDLE_SECONDS = 5.0
PROTECTION_RETRY_SECONDS = 30.0
PROTECTION_TIMEOUT_SECONDS = 5.0
