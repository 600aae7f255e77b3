"""What the growth tests share: a container's ranges moved over the management API, and work that keeps a ledger.

Every worker checks what it sees as it goes. A worker that gets an error ends the test: the SDK's own retries
are all the help an application has while its container grows.
"""

import asyncio
import json
import random
import ssl
import urllib.request

from driver import ENDPOINT, KEY
from support import collect

RANGES_MAX = 16
RANGES_MIN = 2
KEYS = 48
FIXED_ITEMS = 240
PAGE = 25


class Ranges:
    """The ranges of one container, as an operator sees and moves them."""

    def __init__(self, database, container):
        self._path = f"dbs/{database}/colls/{container}/ranges"

    async def ids(self):
        """In the order of the hash space."""
        found = (await _manage("GET", self._path))["ranges"]
        return [it["id"] for it in sorted(found, key=lambda it: it["min"])]

    async def grow(self):
        """Splits ranges, all at once, so that there are twice as many, up to the maximum."""
        ids = await self.ids()
        await self._all(("split", it) for it in ids[: RANGES_MAX - len(ids)])

    async def shrink(self):
        """Merges neighbours, all pairs at once, so that there are half as many, down to the minimum."""
        ids = await self.ids()
        pairs = list(zip(ids[::2], ids[1::2], strict=False))[: len(ids) - RANGES_MIN]
        await self._all(("merge", pair) for pair in pairs)

    async def _all(self, commands):
        ended = await asyncio.gather(*(self._relocate(*command) for command in commands))
        assert all(it["end"] == "done" for it in ended), ended

    async def _relocate(self, kind, which):
        if kind == "split":
            return await _manage("POST", f"{self._path}/{which}/split", {"wait": True})
        return await _manage("POST", f"{self._path}/merge", {"ranges": list(which), "wait": True})


async def _manage(verb, path, body=None):
    def call():
        request = urllib.request.Request(
            f"{ENDPOINT.rstrip('/')}/_orrery/{path}",
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        )
        # The certificate of a local server is self-signed.
        trust = ssl._create_unverified_context() if ENDPOINT.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
            return json.load(answer)

    return await asyncio.to_thread(call)


class Ledger:
    """What was acknowledged: the key, the version and the session token of every item that must exist."""

    def __init__(self):
        self.live = {}
        self.written = 0

    def put(self, identity, key, version, answer):
        self.live[identity] = (key, version, answer.get_response_headers()["x-ms-session-token"])
        self.written += 1

    def forget(self, identity):
        self.live.pop(identity, None)
        self.written += 1


class Gone:
    """Notices whether a query met a range that is gone.

    When this SDK merges ranges and one is gone, it asks the new ranges from their beginning, beside those that it had
    not reached; when a second one is gone meanwhile, it forgets ranges. So its rows may come twice or not at all,
    whatever the service answers, and such a query only must not fail. The other SDKs hold the service to more, and
    so do the queries here that need no merging.
    """

    def __init__(self):
        self.is_met = False

    def __call__(self, response):
        self.is_met |= response.http_response.status_code == 410


class Work:
    """Everything that goes on while the ranges move; `stop` ends it."""

    def __init__(self, container, other, third, fourth, flavour):
        self.container = container
        # And through two more: a client keeps one continuation, and one etag, for all that use it.
        self.third = third
        self.fourth = fourth
        # Only the synchronous client wants to be told.
        self.across = {} if flavour == "async" else {"enable_cross_partition_query": True}
        self.other = other  # The same container through another client, with a session of its own.
        self.ledger = Ledger()
        self.stop = asyncio.Event()
        self.rounds = {"reads": 0, "queries": 0, "pages": 0, "changes": 0, "repaired": 0}
        self.seen = {}

    async def fill(self):
        """The items of a key come one after another: in a query without ORDER BY they have the order of creation."""

        async def fill_key(key):
            for n in range(key, FIXED_ITEMS, KEYS):
                await self.container.create_item({"id": f"f{n:04}", "pk": f"k{key}", "fixed": True, "rank": n})

        await asyncio.gather(*(fill_key(key) for key in range(KEYS)))

    async def write(self, writer):
        """One writer's life: every kind of write, on items that are its own."""
        choose = random.Random(writer)
        n = 0
        while not self.stop.is_set():
            key = f"k{choose.randrange(KEYS)}"
            await self._life_of_an_item(f"w{writer}-{n}", key, keep=n % 3 != 0)
            await self._batch(f"w{writer}-{n}", key)
            n += 1

    async def _life_of_an_item(self, identity, key, keep):
        container, ledger = self.container, self.ledger
        item = {"id": identity, "pk": key, "version": 1}
        ledger.put(identity, key, 1, await container.create_item(item))
        ledger.put(identity, key, 2, await container.upsert_item(item | {"version": 2}))
        ledger.put(identity, key, 3, await container.replace_item(identity, item | {"version": 3}))
        patch = [{"op": "incr", "path": "/version", "value": 1}]
        answer = await container.patch_item(identity, key, patch)
        assert answer["version"] == 4, f"{identity} was patched from another version: {answer}"
        ledger.put(identity, key, 4, answer)
        if not keep:
            ledger.live.pop(identity)  # Readers stop looking before it goes.
            await container.delete_item(identity, key)
            ledger.forget(identity)

    async def _batch(self, identity, key):
        names = [f"{identity}-b{n}" for n in range(3)]
        operations = [("create", ({"id": it, "pk": key, "version": 1},)) for it in names]
        operations.append(("upsert", ({"id": names[0], "pk": key, "version": 2},)))
        answer = await self.container.execute_item_batch(operations, key)
        assert [it["statusCode"] for it in answer] == [201, 201, 201, 200]
        for name in names:
            self.ledger.put(name, key, 2 if name == names[0] else 1, answer)

    async def read(self, own):
        """Reads what was just acknowledged: by the writers' session, or with their token in another one."""
        container = self.container if own else self.other
        choose = random.Random(own)
        while not self.stop.is_set():
            recent = list(self.ledger.live.items())[-20:]
            if not recent:
                await asyncio.sleep(0.01)
                continue
            identity, (key, version, token) = choose.choice(recent)
            options = {} if own else {"session_token": token}
            try:
                found = await container.read_item(identity, key, **options)
            except Exception as error:
                # It may have been deleted meanwhile, and only then be missing.
                if getattr(error, "status_code", None) == 404 and identity not in self.ledger.live:
                    continue
                raise
            assert found["version"] >= version, f"{identity}: {found['version']} after {version}"
            self.rounds["reads"] += 1

    async def query_in_order(self):
        """The fixed items, by rank, over all ranges: all of them, once, in order, however the ranges move."""
        text = "SELECT c.id, c.rank FROM c WHERE c.fixed = true ORDER BY c.rank"
        while not self.stop.is_set():
            ranks, gone = [], Gone()
            pages = self.container.query_items(
                text, max_item_count=PAGE, raw_response_hook=gone, **self.across
            ).by_page()
            async for page in pages:
                ranks += [it["rank"] async for it in page]
                self.rounds["pages"] += 1
                await asyncio.sleep(0.02)
            self.rounds["repaired" if gone.is_met else "queries"] += 1
            assert gone.is_met or ranks == list(range(FIXED_ITEMS)), _differences(ranks)

    async def count(self):
        """An aggregate that the client puts together from all ranges."""
        text = "SELECT VALUE COUNT(1) FROM c WHERE c.fixed = true"
        while not self.stop.is_set():
            gone = Gone()
            found = await collect(self.container.query_items(text, raw_response_hook=gone, **self.across))
            self.rounds["repaired" if gone.is_met else "queries"] += 1
            assert gone.is_met or found == [FIXED_ITEMS], found

    async def query_feed_range(self):
        """One feed range that covers all ranges, more and fewer with time: every fixed item once."""
        text = "SELECT c.id, c.rank FROM c WHERE c.fixed = true"
        bounds = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}
        # While it is one range, this SDK pages with a token that it cannot use after a split, and begins again.
        while len([it async for it in self.container.read_feed_ranges(force_refresh=True)]) < 2:
            await asyncio.sleep(0.1)
        while not self.stop.is_set():
            pager = self.container.query_items(text, feed_range={"Range": bounds}, max_item_count=PAGE)
            ranks = sorted(it["rank"] for it in await collect(pager))
            assert ranks == list(range(FIXED_ITEMS)), _differences(ranks)
            self.rounds["queries"] += 1

    async def query_one_key(self):
        """One logical partition, each page through a new pager, so that only the token carries over."""
        plain = "SELECT VALUE c.rank FROM c WHERE c.fixed = true"
        choose = random.Random(7)
        while not self.stop.is_set():
            key = choose.randrange(KEYS)
            text = plain + choose.choice(["", " ORDER BY c.rank"])
            ranks, token = [], None
            while True:
                pager = self.third.query_items(text, partition_key=f"k{key}", max_item_count=2)
                pages = pager.by_page(token)
                async for page in pages:
                    ranks += [it async for it in page]
                    break
                token = pages.continuation_token
                self.rounds["pages"] += 1
                await asyncio.sleep(0.05)
                if token is None:
                    break
            assert ranks == list(range(key, FIXED_ITEMS, KEYS)), f"k{key}: {ranks} by {text}"

    async def follow(self):
        """Follows the change feed from the beginning; stops when the writers have and nothing is new."""
        position = {"start_time": "Beginning"}
        while True:
            is_last = self.stop.is_set()
            pager = self.fourth.query_items_change_feed(max_item_count=50, **position)
            found = await collect(pager)
            headers = self.fourth.client_connection.last_response_headers
            position = {"continuation": headers["etag"]}
            for item in found:
                self._see(item)
            if is_last and not found:
                return
            await asyncio.sleep(0.02)

    def _see(self, item):
        self.rounds["changes"] += 1
        version = item.get("version", 0)
        before = self.seen.get(item["id"], -1)
        assert version > before, f"{item['id']}: version {version} in the feed after {before}"
        self.seen[item["id"]] = version

    async def check(self):
        """At the end: the container, the change feed and the ledger agree."""
        found = await collect(self.container.query_items(
            "SELECT c.id, c.pk, c.version FROM c WHERE NOT IS_DEFINED(c.fixed)", **self.across
        ))
        stored = sorted((it["id"], it["pk"], it["version"]) for it in found)
        expected = sorted((it, key, version) for it, (key, version, _) in self.ledger.live.items())
        assert stored == expected, f"{len(stored)} stored, {len(expected)} acknowledged"
        for identity, _, version in expected:
            assert self.seen.get(identity) == version, f"{identity}: the feed ends with {self.seen.get(identity)}"


def _differences(ranks):
    missing = sorted(set(range(FIXED_ITEMS)) - set(ranks))
    return f"{len(ranks)} rows, missing {missing[:10]}, in order: {ranks == sorted(ranks)}"
