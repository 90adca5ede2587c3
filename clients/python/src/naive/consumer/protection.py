"""The protection of the ECS task that this process runs in, from being ended by a scale-in."""

from __future__ import annotations

import logging
import os
from threading import Lock

import httpx

from naive.constants import ECS_AGENT_VARIABLE, PROTECTION_TIMEOUT_SECONDS

log = logging.getLogger("naive")

_lock = Lock()
_holders: set[int] = set()


class Protection:
    """What one loop asks of the agent of its task, which stays protected while any loop of the process needs it."""

    def __init__(self, agent_uri: str, transport: httpx.BaseTransport | None = None) -> None:
        self._url = f"{agent_uri.rstrip('/')}/task-protection/v1/state"
        self._http = httpx.Client(transport=transport, timeout=PROTECTION_TIMEOUT_SECONDS, trust_env=False)

    @classmethod
    def of_this_task(cls) -> Protection | None:
        """The protection of the task that the environment speaks of, if there is one."""
        agent_uri = os.environ.get(ECS_AGENT_VARIABLE)
        return cls(agent_uri) if agent_uri else None

    def change(self, minutes: int | None) -> bool:
        """Protect the task for so many minutes, or no longer; a failure is logged, and is no reason not to work."""
        with _lock:
            if minutes is not None:
                _holders.add(id(self))
                return self._put({"ProtectionEnabled": True, "ExpiresInMinutes": minutes})
            _holders.discard(id(self))
            return bool(_holders) or self._put({"ProtectionEnabled": False})

    def close(self) -> None:
        """Need it no longer, and close the connection to the agent."""
        with _lock:
            _holders.discard(id(self))
        self._http.close()

    def _put(self, state: dict[str, object]) -> bool:
        try:
            answer = self._http.put(self._url, json=state)
            # The agent may answer 200 and that ECS refused.
            if answer.is_success and "protection" in answer.json():
                return True
            reason = f"{answer.status_code} {answer.text[:500]}"
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as fault:
            reason = str(fault) or type(fault).__name__
        log.warning("The task's protection could not be changed to %s: %s", state, reason)
        return False
