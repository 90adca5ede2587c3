"""PATCH /v1/users/{user_id}: change what the company says of a user."""

from tenancy import users
from tenancy.endpoint import Request, endpoint
from tenancy.errors import AlreadyExists, InvalidInput, RequestInProgress
from tenancy.users import UserDetails, UserView


@endpoint(body=UserDetails, fresh=True, unsealed=True, audited=True, errors=(AlreadyExists, RequestInProgress))
def handler(request: Request[UserDetails]) -> UserView:
    if not request.input.given():
        raise InvalidInput("give at least one of " + ", ".join(UserDetails.model_fields))
    return users.change(request.tenant.user, request.input)
