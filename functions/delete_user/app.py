"""DELETE /v1/users/{user_id}: take a user out of use at once; what it had is destroyed in the background."""

import os

from tenancy import background, users
from tenancy.endpoint import Request, endpoint
from tenancy.errors import Conflict, InvalidInput, RequestInProgress
from tenancy.models import Flag, Input

_DESTROYER = os.environ["DESTROY_USER_FUNCTION"]


class Deletion(Input):
    force: Flag = False


@endpoint(query=Deletion, status=204, fresh=True, unsealed=True, audited=True, errors=(Conflict, RequestInProgress))
def handler(request: Request[Deletion]) -> None:
    user = request.tenant.user
    if user not in (request.path["user_id"], request.tenant.default_user):
        # A header that a client sends with every request must not decide what is destroyed.
        raise InvalidInput("the path must name the user to delete", field="user_id")
    users.retire(user, force=request.input.force)
    background.start(_DESTROYER, user=user)
