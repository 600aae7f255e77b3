"""Emulator-style identity tokens: their last part is the key instead of a signature, so they are an opt-in."""

import base64
import json
import os
import time

import pytest
from azure.core.credentials import AccessToken

from driver import ENDPOINT, KEY, account_of, connect
from support import fails

ACCEPTED = os.environ.get("ORRERY_ACCEPT_IDENTITY_TOKENS", "").lower() in ("1", "true")

pytestmark = pytest.mark.skipif(
    not ENDPOINT.startswith("https:"), reason="the SDK sends identity tokens over https only"
)


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def token(key, lifetime=3600):
    now = int(time.time())
    head = {"typ": "JWT", "alg": "RS256", "x5t": "CosmosEmulatorPrimaryMaster", "kid": "CosmosEmulatorPrimaryMaster"}
    claims = {
        "aud": "https://localhost.localhost",
        "iss": "https://sts.fake-issuer.net/7b1999a1-dfd7-440e-8204-00170979b984",
        "iat": now - 7200,
        "nbf": now - 7200,
        "exp": now + lifetime,
        "appid": "localhost",
        "oid": "96313034-4739-43cb-93cd-74193adbe5b6",
        "sub": "localhost",
        "tid": "EmulatorFederation",
        "scp": "user_impersonation",
    }
    parts = [json.dumps(head).encode(), json.dumps(claims).encode(), key.encode()]
    return AccessToken(".".join(encoded(part) for part in parts), now + 3600)


class Credential:
    def __init__(self, value):
        self._value = value

    def get_token(self, *scopes, **options):
        return self._value


class AsyncCredential(Credential):
    async def get_token(self, *scopes, **options):
        return self._value

    async def close(self):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        pass


def credential(flavour, value):
    return (AsyncCredential if flavour == "async" else Credential)(value)


@pytest.mark.skipif(ACCEPTED, reason="this server accepts identity tokens")
async def test_identity_token_is_refused_by_default(flavour):
    with fails(401):
        async with connect(flavour, credential(flavour, token(KEY))) as client:
            await account_of(client)


@pytest.mark.skipif(not ACCEPTED, reason="this server does not accept identity tokens")
async def test_identity_token_with_the_key_is_accepted(flavour):
    async with connect(flavour, credential(flavour, token(KEY))) as client:
        assert (await account_of(client)).WritableLocations


async def test_identity_token_with_another_key_is_refused(flavour):
    with fails(401):
        async with connect(flavour, credential(flavour, token("another key"))) as client:
            await account_of(client)


async def test_expired_identity_token_is_refused(flavour):
    with fails(401):
        async with connect(flavour, credential(flavour, token(KEY, lifetime=-3600))) as client:
            await account_of(client)
