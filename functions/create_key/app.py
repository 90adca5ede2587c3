"""POST /v1/auth/keys: make a key of the company, or one that is sealed to a user."""

from tenancy import keys
from tenancy.endpoint import Request, endpoint
from tenancy.keys import NewKey
from tenancy.models import Input, KeyName, UserId


class KeyAsked(Input):
    name: KeyName
    active_tenant_user_id: UserId | None = None


# Fresh, so that a key that was just revoked leaves no other one behind.
@endpoint(body=KeyAsked, status=201, fresh=True, unsealed=True, audited=True, secret="api_key")
def handler(request: Request[KeyAsked]) -> NewKey:
    tenant, asked = request.tenant, request.input
    return keys.create(tenant.company, tenant.default_user, asked.name, asked.active_tenant_user_id)
