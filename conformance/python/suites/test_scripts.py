"""Stored procedures, triggers and functions: kept, run, and failing as the service fails."""

from driver import Bridge
from support import Wire, collect, fails, ids


async def add_procedure(container, name, body):
    return await container.scripts.create_stored_procedure({"id": name, "body": body})


async def run(container, name, *arguments, **options):
    # The asynchronous client calls the arguments `parameters`, the synchronous one `params`.
    word = "params" if isinstance(container, Bridge) else "parameters"
    return await container.scripts.execute_stored_procedure(
        name, partition_key="a", **{word: list(arguments)}, **options
    )


async def test_scripts_are_created_read_listed_replaced_and_deleted(container):
    scripts = container.scripts
    made = await add_procedure(container, "p", "function () {}")
    assert made["body"] == "function () {}"
    assert (await scripts.get_stored_procedure("p"))["_rid"] == made["_rid"]
    replaced = await scripts.replace_stored_procedure("p", {"id": "p", "body": "function () { 1; }"})
    assert replaced["body"] == "function () { 1; }"
    assert ids(await collect(scripts.list_stored_procedures())) == ["p"]
    await scripts.delete_stored_procedure("p")
    with fails(404):
        await scripts.get_stored_procedure("p")
    trigger = {"id": "t", "body": "function () {}", "triggerType": "Pre", "triggerOperation": "All"}
    assert (await scripts.create_trigger(trigger))["triggerOperation"] == "All"
    assert ids(await collect(scripts.list_triggers())) == ["t"]
    await scripts.create_user_defined_function({"id": "f", "body": "function (x) { return x; }"})
    assert ids(await collect(scripts.list_user_defined_functions())) == ["f"]
    with fails(409):
        await scripts.create_user_defined_function({"id": "f", "body": "function () {}"})


async def test_procedure_takes_and_returns_every_type(container):
    await add_procedure(container, "echo", "function (x) { getContext().getResponse().setBody(x); }")
    for value in [1, 1.5, "text", "ü", True, None, [1, [2]], {"a": {"b": None}}]:
        assert await run(container, "echo", value) == value
    await add_procedure(container, "count", "function () { __.response.setBody(arguments.length); }")
    assert await container.scripts.execute_stored_procedure("count", partition_key="a") == 0
    assert await run(container, "count", 1, 2, 3) == 3
    await add_procedure(container, "silent", "function () {}")
    assert not await run(container, "silent")


async def test_procedure_writes_all_or_nothing(container):
    body = """function (items, fail) {
        items.forEach(function (item) { __.createDocument(__.getSelfLink(), item); });
        if (fail) throw new Error(fail);
        __.response.setBody(items.length);
    }"""
    await add_procedure(container, "make", body)
    items = [{"id": str(n), "pk": "a"} for n in range(5)]
    with fails(400, "Encountered exception while executing Javascript", "no luck"):
        await run(container, "make", items, "no luck")
    assert await collect(container.read_all_items()) == []
    assert await run(container, "make", items) == 5
    assert ids(await collect(container.read_all_items())) == ["0", "1", "2", "3", "4"]
    with fails(409):
        await run(container, "make", [{"id": "new", "pk": "a"}, {"id": "0", "pk": "a"}])
    with fails(404):
        await container.read_item("new", "a")
    with fails(400):
        await run(container, "make", [{"id": "new", "pk": "elsewhere"}])


async def test_what_a_procedure_shows_is_what_is_stored(container):
    body = """function (item) {
        __.createDocument(__.getSelfLink(), item, function (err, made) {
            if (err) throw err;
            __.response.setBody(made);
        });
    }"""
    await add_procedure(container, "make", body)
    made = await run(container, "make", {"id": "1", "pk": "a", "n": 1})
    assert await container.read_item("1", "a") == made


async def test_log_and_charge_are_in_the_headers(container):
    await add_procedure(container, "log", "function () { console.log('hello %s', 'ü'); }")
    wire = Wire()
    await run(container, "log", enable_script_logging=True, raw_response_hook=wire)
    assert wire.headers["x-ms-documentdb-script-log-results"] == "hello%20%C3%BC"
    assert float(wire.headers["x-ms-request-charge"]) > 0
    wire = Wire()
    await run(container, "log", raw_response_hook=wire)
    assert "x-ms-documentdb-script-log-results" not in wire.headers


async def test_failures_carry_the_words_of_the_service(container):
    await add_procedure(container, "typo", "function (")
    with fails(400, "Encountered exception while compiling Javascript.", sub=65535):
        await run(container, "typo")
    await add_procedure(container, "number", "function () { throw new Error(42, 'mine'); }")
    with fails(400, "mine", sub=42):
        await run(container, "number")
    with fails(404):
        await run(container, "missing")


async def test_triggers_run_when_they_are_named(container):
    scripts = container.scripts
    stamp = """function () {
        var request = getContext().getRequest(), item = request.getBody();
        item.stamped = request.getOperationType();
        request.setBody(item);
    }"""
    refuse = "function () { throw new Error('refused'); }"
    await scripts.create_trigger({"id": "stamp", "body": stamp, "triggerType": "Pre", "triggerOperation": "All"})
    await scripts.create_trigger({"id": "refuse", "body": refuse, "triggerType": "Post", "triggerOperation": "Create"})
    made = await container.create_item({"id": "1", "pk": "a"}, pre_trigger_include="stamp")
    assert made["stamped"] == "Create"
    assert "stamped" not in await container.create_item({"id": "2", "pk": "a"})
    replaced = await container.replace_item("2", {"id": "2", "pk": "a"}, pre_trigger_include="stamp")
    assert replaced["stamped"] == "Replace"
    with fails(400, "refused"):
        await container.create_item({"id": "3", "pk": "a"}, post_trigger_include="refuse")
    with fails(404):
        await container.read_item("3", "a")
    with fails(400):
        await container.delete_item("1", "a", post_trigger_include="refuse")


async def test_functions_are_called_from_queries(container):
    # The asynchronous client asks for it by itself.
    across = {"enable_cross_partition_query": True} if isinstance(container, Bridge) else {}
    await container.scripts.create_user_defined_function(
        {"id": "tax", "body": "function (income) { return income === undefined ? null : income * 0.2; }"}
    )
    for n in range(4):
        await container.create_item({"id": str(n), "pk": f"p{n}", "income": n * 100})
    await container.create_item({"id": "none", "pk": "a"})
    query = "SELECT VALUE c.id FROM c WHERE udf.tax(c.income) >= 40"
    rows = await collect(container.query_items(query, **across))
    assert sorted(rows) == ["2", "3"]
    with fails(400, "nope"):
        await collect(container.query_items("SELECT udf.nope(c) FROM c", **across))
