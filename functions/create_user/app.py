"""POST /v1/users: make an end-user of the company."""

from tenancy import users
from tenancy.endpoint import Request, endpoint
from tenancy.errors import AlreadyExists, RequestInProgress
from tenancy.users import UserDetails, UserView


@endpoint(body=UserDetails, status=201, unsealed=True, audited=True, errors=(AlreadyExists, RequestInProgress))
def handler(request: Request[UserDetails]) -> UserView:
    return users.create(request.tenant.company, request.input)
