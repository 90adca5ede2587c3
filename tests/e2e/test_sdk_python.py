"""The Python SDK, blocking and asynchronous, as a newcomer uses it."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from naive import AsyncNaive, Delivery, Naive, NewMessage, NotFoundError, Retry, Stop
from tests.e2e import seen
from tests.e2e.conftest import unique
from tests.e2e.deployed import environment, invoked


@pytest.fixture
def key() -> Iterator[str]:
    """The key of a company that has nothing yet."""
    made = invoked("bootstrap", company=unique())["api_key"]
    seen.keys.add(made)
    yield made


def test_the_first_session_runs_as_it_stands(key: str) -> None:
    with Naive(key, environment("NAIVE_BASE_URL")) as naive:
        q = naive.queue.create(name="jobs")
        naive.queue.create(name="orders", type="fifo", dlq=True)
        naive.queue.send(q.id, json.dumps({"task": "resize", "url": "https://…"}))
        received = naive.queue.receive(q.id, max=10, wait=20)
        for m in received.messages:
            naive.queue.ack(q.id, m.receipt_handle)
        assert [queue.name for queue in naive.queue.list()] == ["jobs", "orders"]
        assert naive.queue.attributes(q.id).depth == 0
        naive.queue.purge(q.id)
        naive.queue.destroy(q.id)
        assert [json.loads(m.body)["task"] for m in received] == ["resize"]


def test_the_first_session_runs_asynchronously_too(key: str) -> None:
    async def session() -> None:
        async with AsyncNaive(key, environment("NAIVE_BASE_URL")) as naive:
            q = await naive.queue.create(name="jobs")
            await naive.queue.create(name="orders", type="fifo", dlq=True)
            await naive.queue.send(q.id, json.dumps({"task": "resize", "url": "https://…"}))
            received = await naive.queue.receive(q.id, max=10, wait=20)
            for m in received.messages:
                await naive.queue.ack(q.id, m.receipt_handle)
            assert [queue.name async for queue in naive.queue.list_all(limit=1)] == ["jobs", "orders"]
            await naive.queue.attributes(q.id)
            await naive.queue.purge(q.id)
            await naive.queue.destroy(q.id)
            assert [json.loads(m.body)["task"] for m in received] == ["resize"]

    asyncio.run(session())


@pytest.mark.parametrize("type", ["standard", "fifo"])
def test_a_stream_is_sent_and_worked_off_with_asyncio(key: str, type: str) -> None:
    done: list[str] = []
    failed: set[str] = set()
    stop = Stop()

    async def work(message: Delivery) -> None:
        await asyncio.sleep(0.01)
        if int(message.body) % 21 == 7 and message.body not in failed:  # of each group some
            failed.add(message.body)
            raise Retry(after=1)
        done.append(message.body)
        if len(done) == 250:
            stop()

    async def session() -> None:
        async with AsyncNaive(key, environment("NAIVE_BASE_URL")) as naive:
            queue = await naive.queue.create("stream", type="fifo" if type == "fifo" else None)
            messages = (
                NewMessage(body=str(number), group_id=f"g{number % 5}" if type == "fifo" else None)
                for number in range(250)
            )
            told: list[str | None] = []
            sent = await naive.queue.send_batch(
                queue, messages, on_result=lambda message, result: told.append(result.message_id)
            )
            assert (sent.sent, sent.failed, sent.results, len(set(told))) == (250, 0, [], 250)
            counts = await naive.queue.consume(queue, work, concurrency=20, wait=2, stop=stop)
            assert (counts.done, counts.failed, counts.lost) == (250, 0, 0)

    asyncio.run(session())
    assert sorted(done, key=int) == [str(number) for number in range(250)]
    if type == "fifo":
        for group in range(5):
            mine = [int(body) for body in done if int(body) % 5 == group]
            assert mine == sorted(mine)


def test_consumers_and_services_are_made_and_destroyed(key: str) -> None:
    with Naive(key, environment("NAIVE_BASE_URL")) as naive:
        queue = naive.queue.create("jobs")
        hook = naive.queue.consumer.set(queue, type="webhook", url="http://127.0.0.1:9/hook", max_concurrency=2)
        assert str(hook.secret).startswith("whsec_")
        assert naive.queue.consumer.pause(queue).paused
        naive.queue.consumer.remove(queue)
        service = naive.compute.create("worker", image="me/worker:latest", queue_id=queue, env={"A": "1"})
        assert naive.queue.consumer.get(queue).service_id == service.id
        assert [found.id for found in naive.compute.list(name="worker")] == [naive.compute.get(service).id]
        assert naive.queue.consumer.update(queue, max=2).max == 2
        assert list(naive.compute.logs(service)) == []
        naive.compute.stop(service)
        naive.compute.start(service)
        naive.compute.destroy(service)
        with pytest.raises(NotFoundError):
            naive.queue.consumer.get(queue)
