"""Vector, full-text and hybrid search through the SDK, against rankings worked out here."""

import math

import pytest
import pytest_asyncio

from support import BY_PK, collect, unique, write

DIMENSIONS = 4
POLICY = {
    "vectorEmbeddings": [
        {"path": "/v", "dataType": "float32", "dimensions": DIMENSIONS, "distanceFunction": "euclidean"},
        {"path": "/w", "dataType": "float32", "dimensions": DIMENSIONS, "distanceFunction": "cosine"},
    ]
}
FULL_TEXT = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "en-US"}]}
INDEXING = {
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
    "vectorIndexes": [{"path": "/v", "type": "flat"}, {"path": "/w", "type": "quantizedFlat"}],
    "fullTextIndexes": [{"path": "/text"}],
}
WORDS = 24


def make(n):
    """Item `n`: a vector, and a text of constant length that says "comet" once more than the item before."""
    vector = [math.sin(n * 0.7 + axis) * (1 + n % 3) for axis in range(DIMENSIONS)]
    said = n % 12 + 1
    words = ["comet"] * said + [f"filler{k}" for k in range(WORDS - said)]
    if n % 2:
        words[-1] = "harbour"
    return {"id": f"{n:02}", "pk": f"key{n % 5}", "n": n, "v": vector, "w": vector, "text": " ".join(words), "said": said}


ITEMS = [make(n) for n in range(24)]
TARGET = [0.5, -0.25, 1.0, 0.125]


def euclidean(item):
    return math.dist(item["v"], TARGET)


def cosine(item):
    dot = sum(a * b for a, b in zip(item["w"], TARGET))
    return dot / (math.hypot(*item["w"]) * math.hypot(*TARGET))


@pytest_asyncio.fixture(scope="session")
async def library(database):
    """One container for all tests here, which only read."""
    container = await database.create_container(
        unique("library"),
        BY_PK,
        indexing_policy=INDEXING,
        vector_embedding_policy=POLICY,
        full_text_policy=FULL_TEXT,
    )
    await write(container, *ITEMS)
    return container


@pytest.fixture
def ask(library, flavour):
    async def run(query, partition_key=None, **options):
        if partition_key is not None:
            options["partition_key"] = partition_key
        elif flavour == "sync":
            options["enable_cross_partition_query"] = True
        return await collect(library.query_items(query, **options))

    return run


def names(rows):
    return [row["id"] for row in rows]


async def test_nearest_vectors_come_first(ask):
    expected = sorted(ITEMS, key=euclidean)[:7]
    query = "SELECT TOP 7 c.id, VectorDistance(c.v, @target) AS d FROM c ORDER BY VectorDistance(c.v, @target)"
    found = await ask(query, parameters=[{"name": "@target", "value": TARGET}])
    assert names(found) == names(expected)
    assert [row["d"] for row in found] == [pytest.approx(euclidean(item), rel=1e-5) for item in expected]


async def test_most_similar_vectors_come_first(ask):
    expected = sorted(ITEMS, key=cosine, reverse=True)[:7]
    found = await ask(f"SELECT TOP 7 c.id FROM c ORDER BY VectorDistance(c.w, {TARGET})")
    assert names(found) == names(expected)


async def test_vectors_are_searched_in_one_partition_with_a_filter(ask):
    inside = [item for item in ITEMS if item["pk"] == "key2" and item["n"] > 5]
    found = await ask(f"SELECT TOP 3 c.id FROM c WHERE c.n > 5 ORDER BY VectorDistance(c.v, {TARGET})", "key2")
    assert names(found) == names(sorted(inside, key=euclidean)[:3])


async def test_offset_applies_to_vectors(ask):
    found = await ask(f"SELECT c.id FROM c ORDER BY VectorDistance(c.v, {TARGET}) OFFSET 3 LIMIT 4")
    assert names(found) == names(sorted(ITEMS, key=euclidean)[3:7])


async def test_words_are_found(ask):
    found = await ask("SELECT c.id FROM c WHERE FullTextContains(c.text, 'harbour')")
    assert sorted(names(found)) == [item["id"] for item in ITEMS if item["n"] % 2]
    found = await ask("SELECT c.id FROM c WHERE FullTextContainsAll(c.text, 'harbour', 'filler20')")
    expected = [item["id"] for item in ITEMS if {"harbour", "filler20"} <= set(item["text"].split())]
    assert sorted(names(found)) == expected
    found = await ask("SELECT c.id FROM c WHERE FullTextContainsAny(c.text, 'nowhere', 'filler22')")
    expected = [item["id"] for item in ITEMS if "filler22" in item["text"].split()]
    assert sorted(names(found)) == expected


async def test_texts_are_ranked(ask):
    # Same length, one word: the score grows with how often it is said. Twice each number: ties in any order.
    found = await ask("SELECT TOP 8 c.id, c.said FROM c ORDER BY RANK FullTextScore(c.text, 'comet')")
    assert [row["said"] for row in found] == sorted((item["said"] for item in ITEMS), reverse=True)[:8]


async def test_ranks_are_fused(ask):
    # In one half of the items every text has a score of its own.
    half = [item for item in ITEMS if item["n"] < 12]
    by_text = sorted(half, key=lambda item: -item["said"])
    by_vector = sorted(half, key=euclidean)
    scores = {
        item["id"]: sum(1 / (60 + order.index(item) + 1) for order in (by_text, by_vector)) for item in half
    }
    query = (
        "SELECT TOP 12 c.id FROM c WHERE c.n < 12 "
        f"ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), VectorDistance(c.v, {TARGET}))"
    )
    found = names(await ask(query))
    assert sorted(found) == sorted(scores)
    assert [round(scores[name], 9) for name in found] == sorted((round(s, 9) for s in scores.values()), reverse=True)


async def test_weights_of_ranks_may_be_parameters(ask):
    clause = "ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), VectorDistance(c.v, @target), {})"
    query = "SELECT TOP 12 c.id FROM c WHERE c.n < 12 " + clause
    target = {"name": "@target", "value": TARGET}
    written = await ask(query.format("[1, 0.5]"), parameters=[target])
    given = await ask(query.format("@weights"), parameters=[target, {"name": "@weights", "value": [1, 0.5]}])
    assert len(given) == 12
    assert names(given) == names(written)
