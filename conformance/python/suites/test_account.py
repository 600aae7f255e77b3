"""The account document and the ways to reach it."""

from urllib.parse import urlsplit

from driver import ENDPOINT, KEY, account_of, client_class, connect


async def test_account_names_one_region_at_the_address_the_client_used(client):
    account = await account_of(client)
    assert [len(account.WritableLocations), len(account.ReadableLocations)] == [1, 1]
    region = account.WritableLocations[0]
    assert region["name"]
    assert region == account.ReadableLocations[0]
    assert _address(region["databaseAccountEndpoint"]) == _address(ENDPOINT)


async def test_account_endpoint_follows_the_host_header(flavour):
    address = urlsplit(ENDPOINT)
    alias = "localhost" if address.hostname != "localhost" else "127.0.0.1"
    endpoint = f"{address.scheme}://{alias}:{address.port}/"
    async with connect(flavour, endpoint=endpoint) as client:
        account = await account_of(client)
        assert _address(account.WritableLocations[0]["databaseAccountEndpoint"]) == _address(endpoint)


async def test_account_default_consistency_is_session(client):
    account = await account_of(client)
    assert account.ConsistencyPolicy["defaultConsistencyLevel"] == "Session"


async def test_client_opens_from_a_connection_string(flavour):
    text = f"AccountEndpoint={ENDPOINT};AccountKey={KEY};"
    opened = client_class(flavour).from_connection_string(text)
    if flavour == "async":
        async with opened:
            assert (await account_of(opened)).WritableLocations
    else:
        with opened:
            assert opened.get_database_account().WritableLocations


def _address(url):
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
