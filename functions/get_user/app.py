"""GET /v1/users/{user_id}: one user."""

from tenancy import users
from tenancy.endpoint import Request, endpoint
from tenancy.models import Nothing
from tenancy.users import UserView


@endpoint(fresh=True)
def handler(request: Request[Nothing]) -> UserView:
    return users.get(request.tenant.user)
