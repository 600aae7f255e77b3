"""Offers: manual, autoscale, shared by a database."""

import pytest
from azure.cosmos import ThroughputProperties

from support import BY_PK, fails, unique


def autoscale(maximum, percent=None):
    return ThroughputProperties(auto_scale_max_throughput=maximum, auto_scale_increment_percent=percent)


async def assert_no_offer(resource):
    """The SDK turns the empty answer into a 404, on which its own retry may stumble: then the 404 is the context."""
    with pytest.raises(Exception) as caught:
        await resource.get_throughput()
    error = caught.value if hasattr(caught.value, "status_code") else caught.value.__context__
    assert error.status_code == 404


async def test_container_without_throughput_gets_400(container):
    offer = await container.get_throughput()
    assert offer.offer_throughput == 400
    assert offer.auto_scale_max_throughput is None


async def test_offer_names_its_container(container):
    found = await container.read()
    offer = (await container.get_throughput()).properties
    assert offer["resource"] == found["_self"]
    assert offer["offerResourceId"] == found["_rid"]
    assert offer["offerVersion"] == "V2"
    assert offer["id"] == offer["_rid"]
    assert offer["_self"] == f"offers/{offer['_rid']}/"


async def test_manual_throughput_is_kept_and_replaced(new_container):
    container = await new_container(offer_throughput=1000)
    assert (await container.get_throughput()).offer_throughput == 1000
    replaced = await container.replace_throughput(700)
    assert replaced.offer_throughput == 700
    assert (await container.get_throughput()).offer_throughput == 700


async def test_replace_reports_the_minimum(new_container):
    container = await new_container(offer_throughput=1000)
    headers = (await container.replace_throughput(1100)).get_response_headers()
    assert headers["x-ms-cosmos-min-throughput"] == "400"
    assert headers["x-ms-offer-replace-pending"] == "false"


async def test_autoscale_throughput_is_kept_and_replaced(new_container):
    container = await new_container(offer_throughput=autoscale(4000))
    offer = await container.get_throughput()
    assert offer.auto_scale_max_throughput == 4000
    assert offer.auto_scale_increment_percent is None
    await container.replace_throughput(autoscale(6000))
    assert (await container.get_throughput()).auto_scale_max_throughput == 6000


async def test_autoscale_keeps_its_upgrade_policy(new_container):
    container = await new_container(offer_throughput=autoscale(5000, 3))
    offer = await container.get_throughput()
    assert offer.auto_scale_max_throughput == 5000
    assert offer.auto_scale_increment_percent == 3
    await container.replace_throughput(autoscale(7000, 20))
    offer = await container.get_throughput()
    assert (offer.auto_scale_max_throughput, offer.auto_scale_increment_percent) == (7000, 20)


async def test_throughput_of_a_database_is_shared(new_database):
    database = await new_database(offer_throughput=1000)
    assert (await database.get_throughput()).offer_throughput == 1000
    sharing = await database.create_container("sharing", BY_PK)
    await assert_no_offer(sharing)
    own = await database.create_container("own", BY_PK, offer_throughput=500)
    assert (await own.get_throughput()).offer_throughput == 500
    assert (await database.replace_throughput(1200)).offer_throughput == 1200
    assert (await database.get_throughput()).offer_throughput == 1200


async def test_autoscale_throughput_of_a_database_is_kept(new_database):
    database = await new_database(offer_throughput=autoscale(4000))
    assert (await database.get_throughput()).auto_scale_max_throughput == 4000


async def test_database_without_throughput_has_no_offer(new_database):
    await assert_no_offer(await new_database())


async def test_throughput_has_a_minimum(database, container):
    with fails(400, "throughput"):
        await database.create_container(unique("refused"), BY_PK, offer_throughput=100)
    with fails(400, "throughput"):
        await database.create_container(unique("refused"), BY_PK, offer_throughput=autoscale(500))
    with fails(400, "throughput"):
        await container.replace_throughput(300)
    assert (await container.get_throughput()).offer_throughput == 400


async def test_throughput_has_increments(database):
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, offer_throughput=450)
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, offer_throughput=autoscale(1500))


async def test_manual_and_autoscale_exclude_each_other(database):
    both = ThroughputProperties(offer_throughput=400, auto_scale_max_throughput=4000)
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, offer_throughput=both)
