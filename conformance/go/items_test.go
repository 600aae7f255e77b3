package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestItemLifeCycle(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	key := pk("red")
	created := create(t, container, key, object{"id": "1", "pk": "red", "n": 1})
	equal(t, created.RawResponse.StatusCode, http.StatusCreated, "create")
	if created.RequestCharge <= 0 || created.SessionToken == nil || created.ETag == "" {
		t.Fatalf("charge %v, session %v, etag %q", created.RequestCharge, created.SessionToken, created.ETag)
	}
	body := decode(t, created.Value)
	for _, name := range []string{"_rid", "_self", "_etag", "_ts", "_attachments"} {
		if body[name] == nil {
			t.Fatalf("%s is missing in %v", name, body)
		}
	}
	_, err := container.CreateItem(ctx, key, encode(t, object{"id": "1", "pk": "red"}), nil)
	fails(t, err, http.StatusConflict, "Conflict")

	read, err := container.ReadItem(ctx, key, "1", nil)
	must(t, err)
	equal(t, decode(t, read.Value)["n"], any(1.0), "n")
	equal(t, read.ETag, created.ETag, "etag")

	replaced, err := container.ReplaceItem(ctx, key, "1", encode(t, object{"id": "1", "pk": "red", "n": 2}), withBody)
	must(t, err)
	equal(t, decode(t, replaced.Value)["_rid"], body["_rid"], "rid after replace")
	if replaced.ETag == created.ETag {
		t.Fatal("the etag did not change")
	}

	upserted, err := container.UpsertItem(ctx, key, encode(t, object{"id": "2", "pk": "red"}), nil)
	must(t, err)
	equal(t, upserted.RawResponse.StatusCode, http.StatusCreated, "upsert of a new item")
	equal(t, len(upserted.Value), 0, "minimal answer")
	upserted, err = container.UpsertItem(ctx, key, encode(t, object{"id": "2", "pk": "red", "n": 5}), nil)
	must(t, err)
	equal(t, upserted.RawResponse.StatusCode, http.StatusOK, "upsert of an old item")

	deleted, err := container.DeleteItem(ctx, key, "1", nil)
	must(t, err)
	equal(t, deleted.RawResponse.StatusCode, http.StatusNoContent, "delete")
	_, err = container.ReadItem(ctx, key, "1", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	_, err = container.DeleteItem(ctx, key, "1", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	_, err = container.ReplaceItem(ctx, key, "1", encode(t, object{"id": "1", "pk": "red"}), nil)
	fails(t, err, http.StatusNotFound, "NotFound")
}

func TestItemPreconditions(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	key := pk("a")
	created := create(t, container, key, object{"id": "1", "pk": "a"})
	stale := &azcosmos.ItemOptions{IfMatchEtag: ptr(azcore.ETag(`"00000000-0000-0000-0000-000000000000"`))}
	fresh := &azcosmos.ItemOptions{IfMatchEtag: &created.ETag}
	item := encode(t, object{"id": "1", "pk": "a", "n": 1})

	_, err := container.ReplaceItem(ctx, key, "1", item, stale)
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")
	_, err = container.DeleteItem(ctx, key, "1", stale)
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")
	_, err = container.UpsertItem(ctx, key, item, stale)
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")
	var patch azcosmos.PatchOperations
	patch.AppendSet("/n", 3)
	_, err = container.PatchItem(ctx, key, "1", patch, stale)
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")

	replaced, err := container.ReplaceItem(ctx, key, "1", item, fresh)
	must(t, err)
	_, err = container.DeleteItem(ctx, key, "1", &azcosmos.ItemOptions{IfMatchEtag: &replaced.ETag})
	must(t, err)
}

func TestIdsOfManyKinds(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	for _, id := range []string{"plain", "with space", "percent%20", "é-ü-漢字", "(a)[b]{c}", "a+b=c&d", "😀", strings.Repeat("x", 1023)} {
		create(t, container, pk("ids"), object{"id": id, "pk": "ids"})
		read, err := container.ReadItem(ctx, pk("ids"), id, nil)
		must(t, err)
		equal(t, decode(t, read.Value)["id"], any(id), "id")
	}
	_, err := container.CreateItem(ctx, pk("ids"), encode(t, object{"id": strings.Repeat("x", 1024), "pk": "ids"}), nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
	_, err = container.CreateItem(ctx, pk("ids"), encode(t, object{"pk": "ids"}), nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func TestPartitionKeysOfAllTypes(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	for name, row := range map[string]struct {
		key   azcosmos.PartitionKey
		value any
	}{
		"string": {pk("é"), "é"},
		"number": {azcosmos.NewPartitionKeyNumber(12.5), 12.5},
		"bool":   {azcosmos.NewPartitionKeyBool(true), true},
		"null":   {azcosmos.NullPartitionKey, nil},
	} {
		create(t, container, row.key, object{"id": name, "pk": row.value})
		_, err := container.ReadItem(ctx, row.key, name, nil)
		must(t, err)
		_, err = container.ReadItem(ctx, pk("elsewhere"), name, nil)
		fails(t, err, http.StatusNotFound, "NotFound")
	}
	_, err := container.CreateItem(ctx, pk("a"), encode(t, object{"id": "1", "pk": "b"}), nil)
	response := fails(t, err, http.StatusBadRequest, "BadRequest")
	equal(t, substatus(response), "1001", "substatus")
}

func TestHierarchicalKeys(t *testing.T) {
	container := newContainer(t, properties("/tenant", "/user", "/session"))
	key := azcosmos.NewPartitionKey().AppendString("t1").AppendString("u1").AppendNumber(7)
	create(t, container, key, object{"id": "1", "tenant": "t1", "user": "u1", "session": 7})
	read, err := container.ReadItem(ctx, key, "1", nil)
	must(t, err)
	equal(t, decode(t, read.Value)["user"], any("u1"), "user")
	_, err = container.ReadItem(ctx, azcosmos.NewPartitionKey().AppendString("t1").AppendString("u1"), "1", nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
	props, err := container.Read(ctx, nil)
	must(t, err)
	equal(t, props.ContainerProperties.PartitionKeyDefinition.Kind, azcosmos.PartitionKeyKindMultiHash, "kind")
}

func TestIdAsPartitionKey(t *testing.T) {
	container := newContainer(t, properties("/id"))
	create(t, container, pk("one"), object{"id": "one"})
	_, err := container.ReadItem(ctx, pk("one"), "one", nil)
	must(t, err)
}

func TestPatch(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	key := pk("a")
	create(t, container, key, object{"id": "1", "pk": "a", "n": 1, "list": []int{1, 3}, "old": true, "name": "x"})
	var patch azcosmos.PatchOperations
	patch.AppendAdd("/list/1", 2)
	patch.AppendSet("/new", object{"deep": 1})
	patch.AppendReplace("/name", "y")
	patch.AppendRemove("/old")
	patch.AppendIncrement("/n", 41)
	patched, err := container.PatchItem(ctx, key, "1", patch, withBody)
	must(t, err)
	body := decode(t, patched.Value)
	equal(t, body["n"], any(42.0), "n")
	equal(t, body["name"], any("y"), "name")
	equal(t, fmt.Sprint(body["list"]), "[1 2 3]", "list")
	if body["old"] != nil || body["new"] == nil {
		t.Fatalf("remove or set had no effect: %v", body)
	}

	conditional := azcosmos.PatchOperations{}
	conditional.SetCondition("from c where c.n > 100")
	conditional.AppendSet("/name", "z")
	_, err = container.PatchItem(ctx, key, "1", conditional, nil)
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")
	conditional.SetCondition("from c where c.n = 42")
	_, err = container.PatchItem(ctx, key, "1", conditional, nil)
	must(t, err)

	bad := azcosmos.PatchOperations{}
	bad.AppendReplace("/missing", 1)
	_, err = container.PatchItem(ctx, key, "1", bad, nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
	many := azcosmos.PatchOperations{}
	for range 11 {
		many.AppendIncrement("/n", 1)
	}
	_, err = container.PatchItem(ctx, key, "1", many, nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func TestNumbersKeepTheirText(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	text := `{"id":"1","pk":"a","numbers":[1.0,1e2,0.1,123456789012345678901234567890,-0,1.7976931348623157e308]}`
	_, err := container.CreateItem(ctx, pk("a"), []byte(text), nil)
	must(t, err)
	read, err := container.ReadItem(ctx, pk("a"), "1", nil)
	must(t, err)
	part := `[1.0,1e2,0.1,123456789012345678901234567890,-0,1.7976931348623157e308]`
	if !bytes.Contains(read.Value, []byte(part)) {
		t.Fatalf("numbers changed: %s", read.Value)
	}
}

func TestUniqueKeys(t *testing.T) {
	props := properties("/pk")
	props.UniqueKeyPolicy = &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}}
	container := newContainer(t, props)
	create(t, container, pk("a"), object{"id": "1", "pk": "a", "email": "x@y"})
	_, err := container.CreateItem(ctx, pk("a"), encode(t, object{"id": "2", "pk": "a", "email": "x@y"}), nil)
	fails(t, err, http.StatusConflict, "Conflict")
	create(t, container, pk("b"), object{"id": "2", "pk": "b", "email": "x@y"})
}

func TestTimeToLive(t *testing.T) {
	props := properties("/pk")
	props.DefaultTimeToLive = ptr(int32(-1))
	container := newContainer(t, props)
	create(t, container, pk("a"), object{"id": "short", "pk": "a", "ttl": 1})
	create(t, container, pk("a"), object{"id": "long", "pk": "a"})
	time.Sleep(2200 * time.Millisecond)
	_, err := container.ReadItem(ctx, pk("a"), "short", nil)
	fails(t, err, http.StatusNotFound, "NotFound")
	_, err = container.ReadItem(ctx, pk("a"), "long", nil)
	must(t, err)
	_, err = container.CreateItem(ctx, pk("a"), encode(t, object{"id": "bad", "pk": "a", "ttl": 0}), nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func TestLargeItems(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	create(t, container, pk("a"), object{"id": "fits", "pk": "a", "text": strings.Repeat("x", 2_000_000)})
	_, err := container.CreateItem(ctx, pk("a"), encode(t, object{"id": "not", "pk": "a", "text": strings.Repeat("x", 2<<20)}), nil)
	fails(t, err, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
}

func TestSessionTokens(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	created := create(t, container, pk("a"), object{"id": "1", "pk": "a"})
	session := azcosmos.ConsistencyLevelSession
	_, err := container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{SessionToken: created.SessionToken, ConsistencyLevel: &session})
	must(t, err)
	eventual := azcosmos.ConsistencyLevelEventual
	_, err = container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: &eventual})
	must(t, err)
	strong := azcosmos.ConsistencyLevelStrong
	_, err = container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: &strong})
	fails(t, err, http.StatusBadRequest, "BadRequest")
	_, err = container.ReadItem(ctx, pk("a"), "1", &azcosmos.ItemOptions{SessionToken: ptr("nonsense")})
	fails(t, err, http.StatusBadRequest, "BadRequest")
}
