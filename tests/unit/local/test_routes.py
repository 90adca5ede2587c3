"""What is done to the emulator's routes so that they are the template's."""

from local.routes import Plan, Route, plan

SEND, LIST = (
    "arn:aws:lambda:us-east-1:000000000000:function:send",
    "arn:aws:lambda:us-east-1:000000000000:function:list",
)
WANTED = {"POST /v1/queue": SEND, "GET /v1/queue": LIST, "$default": LIST}


def test_a_new_api_gets_every_route() -> None:
    assert plan(WANTED, []) == Plan(add=WANTED, remove=[])


def test_routes_that_are_there_are_left_alone() -> None:
    existing = [Route(str(number), key, function) for number, (key, function) in enumerate(WANTED.items())]
    assert plan(WANTED, existing) == Plan(add={}, remove=[])


def test_a_route_that_the_template_has_no_more_is_removed() -> None:
    stale = Route("1", "GET /v1/old", LIST)
    assert plan({}, [stale]) == Plan(add={}, remove=[stale])


def test_a_route_to_another_function_is_made_again() -> None:
    stale = Route("1", "POST /v1/queue", LIST)
    assert plan({"POST /v1/queue": SEND}, [stale]) == Plan(add={"POST /v1/queue": SEND}, remove=[stale])


def test_a_route_whose_integration_has_gone_is_made_again() -> None:
    stale = Route("1", "$default", "")
    assert plan({"$default": LIST}, [stale]) == Plan(add={"$default": LIST}, remove=[stale])


def test_of_two_of_one_key_one_stays() -> None:
    twice = [Route("1", "$default", LIST), Route("2", "$default", LIST)]
    assert len(plan({"$default": LIST}, twice).remove) == 1
