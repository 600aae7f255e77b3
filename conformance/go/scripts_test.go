package conformance

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// The Go SDK has no calls for scripts: these go over plain HTTP, beside items that the SDK writes.

// scripted is a container and its path on the wire.
type scripted struct {
	*azcosmos.ContainerClient
	path string
}

func newScripted(t testing.TB) scripted {
	t.Helper()
	database := newDatabase(t, newClient(t))
	container := containerIn(t, database, properties("/pk"), nil)
	return scripted{container, "dbs/" + database.ID() + "/colls/" + container.ID()}
}

func (c scripted) add(t testing.TB, kind string, script object) {
	t.Helper()
	send(t, "POST", c.path+"/"+kind, nil, script).expect(t, http.StatusCreated)
}

func (c scripted) procedure(t testing.TB, id, body string) {
	t.Helper()
	c.add(t, "sprocs", object{"id": id, "body": body})
}

var inA = map[string]string{"x-ms-documentdb-partitionkey": `["a"]`}

func (c scripted) run(t testing.TB, id string, arguments ...any) answer {
	t.Helper()
	if arguments == nil {
		arguments = []any{}
	}
	return send(t, "POST", c.path+"/sprocs/"+id, inA, arguments)
}

func TestScriptsAreCreatedReadReplacedAndDeleted(t *testing.T) {
	container := newScripted(t)
	container.procedure(t, "p", "function () {}")
	one := container.path + "/sprocs/p"
	read := send(t, "GET", one, nil, "").expect(t, http.StatusOK).value(t).(object)
	equal(t, read["body"], any("function () {}"), "body")
	replaced := object{"id": "p", "body": "function () { 1; }"}
	send(t, "PUT", one, nil, replaced).expect(t, http.StatusOK, "function () { 1; }")
	send(t, "GET", container.path+"/sprocs", nil, "").expect(t, http.StatusOK, `"_count":1`)
	send(t, "DELETE", one, nil, "").expect(t, http.StatusNoContent)
	send(t, "GET", one, nil, "").expect(t, http.StatusNotFound)
	container.add(t, "udfs", object{"id": "f", "body": "function () {}"})
	again := send(t, "POST", container.path+"/udfs", nil, object{"id": "f", "body": "function () {}"})
	again.expect(t, http.StatusConflict)
	bare := send(t, "POST", container.path+"/triggers", nil, object{"id": "t", "body": "function () {}"})
	bare.expect(t, http.StatusBadRequest, "triggerType")
}

func TestProcedureTakesAndReturnsEveryType(t *testing.T) {
	container := newScripted(t)
	container.procedure(t, "echo", "function (x) { getContext().getResponse().setBody(x); }")
	for _, value := range []any{1.0, 1.5, "ü", true, nil, []any{1.0, []any{}}, object{"a": object{"b": nil}}} {
		found := container.run(t, "echo", value).expect(t, http.StatusOK).value(t)
		if !reflect.DeepEqual(found, value) {
			t.Fatalf("sent %v, got %v", value, found)
		}
	}
	container.procedure(t, "silent", "function () {}")
	equal(t, len(container.run(t, "silent").expect(t, http.StatusOK).body), 0, "bytes of no answer")
	keyless := send(t, "POST", container.path+"/sprocs/echo", nil, "[]")
	keyless.expect(t, http.StatusBadRequest, "PartitionKey value must be supplied")
}

func TestProcedureWritesAllOrNothing(t *testing.T) {
	container := newScripted(t)
	container.procedure(t, "make", `function (items, fail) {
		items.forEach(function (item) { __.createDocument(__.getSelfLink(), item); });
		if (fail) throw new Error(fail);
		__.response.setBody(items.length);
	}`)
	items := []object{{"id": "1", "pk": "a"}, {"id": "2", "pk": "a"}}
	failed := container.run(t, "make", items, "no luck")
	failed.expect(t, http.StatusBadRequest, "Encountered exception while executing Javascript", "no luck")
	_, err := container.ReadItem(ctx, pk("a"), "1", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	equal(t, container.run(t, "make", items).expect(t, http.StatusOK).value(t), any(2.0), "items")
	container.run(t, "make", []object{{"id": "3", "pk": "a"}, {"id": "1", "pk": "a"}}).expect(t, http.StatusConflict)
	_, err = container.ReadItem(ctx, pk("a"), "3", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	container.run(t, "make", []object{{"id": "3", "pk": "elsewhere"}}).expect(t, http.StatusBadRequest)
}

func TestProcedureLogsAndFailsWithNumbers(t *testing.T) {
	container := newScripted(t)
	container.procedure(t, "log", "function () { console.log('a b'); }")
	const header = "x-ms-documentdb-script-log-results"
	wanted := map[string]string{"x-ms-documentdb-script-enable-logging": "true"}
	for name, value := range inA {
		wanted[name] = value
	}
	logged := send(t, "POST", container.path+"/sprocs/log", wanted, "").expect(t, http.StatusOK)
	equal(t, logged.headers.Get(header), "a%20b", "log")
	equal(t, container.run(t, "log").headers.Get(header), "", "log that nobody asked for")
	container.procedure(t, "number", "function () { throw new Error(42, 'mine'); }")
	numbered := container.run(t, "number").expect(t, http.StatusBadRequest, "mine")
	equal(t, numbered.headers.Get("x-ms-substatus"), "42", "number")
	container.run(t, "missing").expect(t, http.StatusNotFound)
}

func TestTriggersRunWhenTheyAreNamed(t *testing.T) {
	container := newScripted(t)
	stamp := `function () {
		var request = getContext().getRequest(), item = request.getBody();
		item.stamped = request.getOperationType();
		request.setBody(item);
	}`
	container.add(t, "triggers", object{"id": "stamp", "body": stamp, "triggerType": "Pre", "triggerOperation": "All"})
	refuse := "function () { throw new Error('refused'); }"
	container.add(t, "triggers", object{"id": "refuse", "body": refuse, "triggerType": "Post", "triggerOperation": "Create"})

	// The SDK has an option for triggers, so the writes are its own.
	options := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true, PreTriggers: []string{"stamp"}}
	made, err := container.CreateItem(ctx, pk("a"), encode(t, object{"id": "1", "pk": "a"}), options)
	must(t, err)
	equal(t, decode(t, made.Value)["stamped"], any("Create"), "stamp")
	options = &azcosmos.ItemOptions{PostTriggers: []string{"refuse"}}
	_, err = container.CreateItem(ctx, pk("a"), encode(t, object{"id": "2", "pk": "a"}), options)
	fails(t, err, http.StatusBadRequest, "refused")
	_, err = container.ReadItem(ctx, pk("a"), "2", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	_, err = container.DeleteItem(ctx, pk("a"), "1", options)
	fails(t, err, http.StatusBadRequest, "refuse")
}

func TestFunctionsAreCalledFromQueries(t *testing.T) {
	container := newScripted(t)
	container.add(t, "udfs", object{"id": "twice", "body": "function (n) { return 2 * n; }"})
	for n, id := range []string{"i0", "i1", "i2", "i3"} {
		create(t, container.ContainerClient, pk("a"), object{"id": id, "pk": "a", "n": n})
	}
	const text = "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) > 2 ORDER BY c.n"
	pager := container.NewQueryItemsPager(text, pk("a"), nil)
	var rows []string
	for pager.More() {
		page, err := pager.NextPage(ctx)
		must(t, err)
		for _, row := range page.Items {
			rows = append(rows, string(row))
		}
	}
	equal(t, strings.Join(rows, " "), "4 6", "rows")
	container.procedure(t, "sum", `function () {
		__.queryDocuments(__.getSelfLink(), 'SELECT VALUE SUM(udf.twice(c.n)) FROM c',
			function (err, rows) { if (err) throw err; __.response.setBody(rows[0]); });
	}`)
	equal(t, container.run(t, "sum").expect(t, http.StatusOK).value(t), any(12.0), "sum")
}
