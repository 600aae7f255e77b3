"""Opens the SDK's clients and gives the synchronous one the surface of the asynchronous one.

Every test is written once, with `await` and `async for`, and runs against both clients. The asynchronous
client is used as it is. The synchronous client is wrapped in `Bridge`, which runs each call on a thread, so
that a test may also start several calls at once. The SDK itself is never patched.
"""

import asyncio
import os
from contextlib import asynccontextmanager

import azure.cosmos
import azure.cosmos.aio

ENDPOINT = os.environ.get("ORRERY_ENDPOINT", "http://127.0.0.1:8081/")
KEY = os.environ.get(
    "ORRERY_KEY",
    # The key that every emulator of this protocol starts with; it protects nothing.
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
)
READ_ONLY_KEY = os.environ.get("ORRERY_READ_ONLY_KEY")
MIN_PARTITIONS = int(os.environ.get("ORRERY_MIN_PARTITIONS", "1"))

_PROXIES = ("DatabaseProxy", "ContainerProxy", "UserProxy", "ScriptsProxy")
_PAGED_PREFIXES = ("list_", "query_")
_PAGED_NAMES = ("read_all_items", "read_feed_ranges")
_END = object()


@asynccontextmanager
async def connect(flavour, credential=KEY, endpoint=ENDPOINT, **options):
    """Opens a client of the flavour ("sync" or "async") and closes it at the end of the block."""
    if flavour == "async":
        client = azure.cosmos.aio.CosmosClient(endpoint, credential, **options)
        try:
            async with client:
                yield client
        finally:
            await client.close()  # Opening may fail and then leaves the connection open.
        return
    client = await asyncio.to_thread(azure.cosmos.CosmosClient, endpoint, credential, **options)
    try:
        yield Bridge(client)
    finally:
        client.close()


def client_class(flavour):
    """The SDK's class behind a flavour, for the constructors that `connect` does not cover."""
    return azure.cosmos.aio.CosmosClient if flavour == "async" else azure.cosmos.CosmosClient


async def account_of(client):
    """The account document; only the synchronous client has a public method for it."""
    read = getattr(client, "get_database_account", None) or client._get_database_account
    return await read()


class Bridge:
    """A synchronous client, database, container, user or scripts that is called with `await`."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        value = getattr(self._target, name)
        if not callable(value):
            return _wrap(value)
        if name.startswith("get_") and name.endswith("_client"):
            return lambda *args, **options: _wrap(value(*_bare(args), **options))
        if name.startswith(_PAGED_PREFIXES) or name in _PAGED_NAMES:
            return lambda *args, **options: BridgedPager(lambda: value(*_bare(args), **options))

        async def call(*args, **options):
            return _wrap(await asyncio.to_thread(value, *_bare(args), **options))

        return call


class BridgedPager:
    """A synchronous pager that is read with `async for`, whole or by page."""

    def __init__(self, start):
        self._start = start

    async def __aiter__(self):
        for item in await asyncio.to_thread(lambda: list(self._start())):
            yield item

    def by_page(self, continuation_token=None):
        return BridgedPages(lambda: self._start().by_page(continuation_token))


class BridgedPages:
    """The pages of a `BridgedPager`; the token of the last page read stays readable."""

    def __init__(self, start):
        self._start = start
        self._pages = None

    def __aiter__(self):
        return self

    async def __anext__(self):
        page = await asyncio.to_thread(self._next)
        if page is _END:
            raise StopAsyncIteration
        return _as_async(page)

    @property
    def continuation_token(self):
        return self._pages.continuation_token

    def _next(self):
        if self._pages is None:
            self._pages = self._start()
        # Nothing may raise StopIteration through a future, hence the marker.
        page = next(self._pages, _END)
        return page if page is _END else list(page)


async def _as_async(items):
    for item in items:
        yield item


def _wrap(value):
    if isinstance(value, tuple):
        return tuple(_wrap(part) for part in value)
    return Bridge(value) if type(value).__name__ in _PROXIES else value


def _bare(args):
    return [arg._target if isinstance(arg, Bridge) else arg for arg in args]
