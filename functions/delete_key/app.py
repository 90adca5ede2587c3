"""DELETE /v1/auth/keys/{key_id}: revoke a key."""

from tenancy import keys
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing


@endpoint(status=204, fresh=True, unsealed=True, audited=True)
def handler(request: Request[Nothing]) -> None:
    keys.revoke(request.tenant.company, request.path["key_id"])
