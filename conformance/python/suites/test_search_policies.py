"""Vector and full-text policies of a container."""

import copy

import pytest

from support import BY_PK, fails, unique

VECTORS = {
    "vectorEmbeddings": [
        {"path": "/v1", "dataType": "float32", "dimensions": 8, "distanceFunction": "cosine"},
        {"path": "/v2", "dataType": "int8", "dimensions": 200, "distanceFunction": "dotproduct"},
        {"path": "/v3", "dataType": "uint8", "dimensions": 400, "distanceFunction": "euclidean"},
    ]
}
VECTOR_INDEXES = [
    {"path": "/v1", "type": "flat"},
    {"path": "/v2", "type": "quantizedFlat"},
    {"path": "/v3", "type": "diskANN"},
]
FULL_TEXT = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "en-US"}]}


def indexing(**indexes):
    return {"includedPaths": [{"path": "/*"}], **indexes}


async def test_vector_policy_is_kept(new_container):
    container = await new_container(
        vector_embedding_policy=VECTORS, indexing_policy=indexing(vectorIndexes=VECTOR_INDEXES)
    )
    found = await container.read()
    assert found["vectorEmbeddingPolicy"] == VECTORS
    kept = [{"path": index["path"], "type": index["type"]} for index in found["indexingPolicy"]["vectorIndexes"]]
    assert kept == VECTOR_INDEXES


@pytest.mark.parametrize(
    "change, text",
    [
        ({"distanceFunction": "taxi"}, "has an invalid DistanceFunction:taxi"),
        ({"dimensions": 0}, "The Vector Embedding Policy has Dimensions:0"),
        ({"dataType": "float8"}, "Vector Embedding Policy has an invalid DataType"),
    ],
)
async def test_invalid_vector_policy_is_refused(database, change, text):
    policy = copy.deepcopy(VECTORS)
    policy["vectorEmbeddings"][0].update(change)
    with fails(400, text):
        await database.create_container(unique("refused"), BY_PK, vector_embedding_policy=policy)


@pytest.mark.parametrize(
    "index, text",
    [
        ({"path": "/v1", "type": "bush"}, "Index Type::bush is invalid"),
        ({"path": "/other", "type": "flat"}, "not matching in Embedding's path"),
    ],
)
async def test_invalid_vector_index_is_refused(database, index, text):
    with fails(400, text):
        await database.create_container(
            unique("refused"),
            BY_PK,
            vector_embedding_policy=VECTORS,
            indexing_policy=indexing(vectorIndexes=[index]),
        )


async def test_full_text_policy_is_kept(new_container):
    container = await new_container(
        full_text_policy=FULL_TEXT, indexing_policy=indexing(fullTextIndexes=[{"path": "/text"}])
    )
    found = await container.read()
    assert found["fullTextPolicy"] == FULL_TEXT
    assert found["indexingPolicy"]["fullTextIndexes"] == [{"path": "/text"}]


async def test_full_text_policy_can_be_replaced(database, new_container):
    container = await new_container(full_text_policy=FULL_TEXT)
    policy = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/abstract", "language": "en-US"}]}
    await database.replace_container(container.id, BY_PK, full_text_policy=policy)
    assert (await container.read())["fullTextPolicy"] == policy
