"""What the tests share: names, expected failures, pages, and a look at the wire."""

import uuid
from contextlib import contextmanager

import pytest
from azure.core.exceptions import HttpResponseError
from azure.cosmos import PartitionKey

BY_PK = PartitionKey("/pk")


def unique(prefix):
    """A name no other test and no other run uses."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


@contextmanager
def fails(status, *texts, sub=None):
    """Expects the block to fail with this status, sub-status and these pieces of the message."""
    with pytest.raises(HttpResponseError) as caught:
        yield caught
    error = caught.value
    assert error.status_code == status, f"expected {status}, got {error.status_code}: {error.message}"
    if sub is not None:
        assert error.sub_status == sub, f"expected sub-status {sub}, got {error.sub_status}: {error.message}"
    for text in texts:
        assert text in error.message, f"{text!r} is missing in: {error.message}"


async def collect(pager):
    """Everything a pager yields."""
    return [item async for item in pager]


async def collect_pages(pager, continuation=None):
    """Everything a pager yields, as a list of pages."""
    return [[item async for item in page] async for page in pager.by_page(continuation)]


def ids(items):
    """The ids of items, sorted: order across ranges is nobody's promise."""
    return sorted(item["id"] for item in items)


class Wire:
    """A response hook that keeps what the server really sent: `container.read_item(…, raw_response_hook=wire)`."""

    def __init__(self):
        self.status = None
        self.headers = {}
        self.text = ""

    def __call__(self, response):
        self.status = response.http_response.status_code
        self.headers = response.http_response.headers
        self.text = response.http_response.body().decode("utf-8")


def with_header(name, value):
    """A request hook that sets one header after the SDK has set its own."""

    def hook(request):
        request.http_request.headers[name] = value

    return {"raw_request_hook": hook}


def with_body(text):
    """A request hook that sends this text instead of the body the SDK wrote."""

    def hook(request):
        request.http_request.data = text
        request.http_request.headers["Content-Length"] = str(len(text.encode("utf-8")))

    return {"raw_request_hook": hook}


async def write(container, *bodies):
    """Creates items and returns what the server answered."""
    return [await container.create_item(body) for body in bodies]
