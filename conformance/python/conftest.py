"""Clients, databases and containers for the tests; everything made here is removed again."""

import logging
import os

import pytest
import pytest_asyncio

from driver import connect
from support import BY_PK, unique

# A client that is closed at once makes the SDK's background health check complain; failures still raise.
logging.getLogger("azure.cosmos").setLevel(logging.CRITICAL)
# The SDK asks for the account four times, half a second apart, even after a 401.
os.environ.setdefault("AZURE_COSMOS_HEALTH_CHECK_RETRY_AFTER_MS", "20")


@pytest.fixture(scope="session", params=["sync", "async"])
def flavour(request):
    """Which of the SDK's two clients a test uses: each test runs once with either."""
    return request.param


@pytest_asyncio.fixture(scope="session")
async def client(flavour):
    async with connect(flavour) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session")
async def database(client):
    """One database for all tests of a flavour; tests about databases make their own."""
    made = await client.create_database(unique("shared"))
    yield made
    await client.delete_database(made.id)


@pytest_asyncio.fixture
async def new_database(client):
    """Makes databases of a test's own."""
    names = []

    async def make(**options):
        name = unique("database")
        names.append(name)
        return await client.create_database(name, **options)

    yield make
    for name in names:
        await _forget(client.delete_database(name))


@pytest.fixture
def new_container(database):
    """Makes containers of a test's own, by default with the partition key /pk; they go with the database."""

    async def make(partition_key=BY_PK, **options):
        return await database.create_container(unique("container"), partition_key, **options)

    return make


@pytest_asyncio.fixture
async def container(new_container):
    return await new_container()


async def _forget(deletion):
    # The test may have deleted the resource itself, or failed to create it.
    try:
        await deletion
    except Exception as error:
        if getattr(error, "status_code", None) != 404:
            raise
