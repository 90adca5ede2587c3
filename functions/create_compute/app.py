"""POST /v1/compute: make a compute service."""

import time
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tenancy import compute, containers
from tenancy.containers import Command, Cpu, Env, Image, Memory
from tenancy.endpoint import Request, endpoint
from tenancy.errors import AlreadyExists, Conflict, InvalidInput, RequestInProgress
from tenancy.models import Input, ServiceName
from tenancy.names import new_id
from tenancy.registry import Service
from tenancy.views import ServiceView


def _no_job(value: object) -> object:
    if value in ("job", "schedule"):
        raise InvalidInput(
            f"type must be service, not {value}",
            hint="For work that comes and goes, make a service with a queue_id: it runs while there are messages.",
            field="type",
        )
    return value


class NewService(Input):
    name: ServiceName
    type: Annotated[Literal["service"], BeforeValidator(_no_job)]
    image: Image
    command: Command = Field(default_factory=list)
    cpu: Cpu = 256
    memory: Memory = 512
    env: Env = Field(default_factory=dict)
    queue_id: Annotated[str, Field(description="the id of a queue of the user")] | None = None

    def made_for(self, company: str, user: str) -> Service:
        """The service that is asked for. Raises InvalidInput for what does not go together."""
        containers.fit_size(self.cpu, self.memory)
        containers.fit_definition(self.command, self.env)
        containers.fit_company(self.image, company)
        return Service(
            id=new_id(),
            name=self.name,
            company=company,
            user=user,
            created_at=time.time(),
            image=self.image,
            command=self.command,
            cpu=self.cpu,
            memory=self.memory,
            env=self.env,
            queue_id=self.queue_id,
        )


# Fresh, so that a key that was just revoked leaves no other one behind: a service has one.
@endpoint(body=NewService, status=201, fresh=True, audited=True, errors=(AlreadyExists, Conflict, RequestInProgress))
def handler(request: Request[NewService]) -> ServiceView:
    tenant = request.tenant
    return compute.create(request.input.made_for(tenant.company, tenant.user), tenant.default_user)
