package conformance

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestBatchCommitsTogether(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	create(t, container, pk("a"), object{"id": "old", "pk": "a", "n": 1})
	create(t, container, pk("a"), object{"id": "gone", "pk": "a"})
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem(encode(t, object{"id": "new", "pk": "a"}), nil)
	batch.UpsertItem(encode(t, object{"id": "up", "pk": "a"}), nil)
	batch.ReplaceItem("old", encode(t, object{"id": "old", "pk": "a", "n": 2}), nil)
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 5)
	batch.PatchItem("old", patch, nil)
	batch.ReadItem("old", nil)
	batch.DeleteItem("gone", nil)
	response, err := container.ExecuteTransactionalBatch(ctx, batch, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
	must(t, err)
	equal(t, response.Success, true, "success")
	statuses := ""
	for _, result := range response.OperationResults {
		statuses += fmt.Sprint(result.StatusCode, " ")
	}
	equal(t, statuses, "201 201 200 200 200 204 ", "statuses")
	equal(t, decode(t, response.OperationResults[4].ResourceBody)["n"], any(7.0), "n seen inside the batch")
	if response.SessionToken == "" || response.RequestCharge <= 0 {
		t.Fatalf("session %q, charge %v", response.SessionToken, response.RequestCharge)
	}
}

func TestBatchRollsBackTogether(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	existing := create(t, container, pk("a"), object{"id": "taken", "pk": "a", "n": 1})
	for name, failing := range map[string]struct {
		add    func(*azcosmos.TransactionalBatch)
		status int32
	}{
		"conflict": {func(b *azcosmos.TransactionalBatch) { b.CreateItem(encode(t, object{"id": "taken", "pk": "a"}), nil) }, 409},
		"missing":  {func(b *azcosmos.TransactionalBatch) { b.DeleteItem("nowhere", nil) }, 404},
		"stale": {func(b *azcosmos.TransactionalBatch) {
			etag := azcore.ETag(`"other"`)
			b.ReplaceItem("taken", encode(t, object{"id": "taken", "pk": "a"}), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &etag})
		}, 412},
	} {
		batch := container.NewTransactionalBatch(pk("a"))
		batch.CreateItem(encode(t, object{"id": "first", "pk": "a"}), nil)
		failing.add(&batch)
		batch.CreateItem(encode(t, object{"id": "last", "pk": "a"}), nil)
		response, err := container.ExecuteTransactionalBatch(ctx, batch, nil)
		must(t, err)
		equal(t, response.Success, false, name)
		equal(t, response.OperationResults[0].StatusCode, 424, name+" first")
		equal(t, response.OperationResults[1].StatusCode, failing.status, name+" failing")
		equal(t, response.OperationResults[2].StatusCode, 424, name+" last")
		_, err = container.ReadItem(ctx, pk("a"), "first", nil)
		fails(t, err, http.StatusNotFound, "NotFound")
	}
	read, err := container.ReadItem(ctx, pk("a"), "taken", nil)
	must(t, err)
	equal(t, read.ETag, existing.ETag, "etag of the untouched item")
}

func TestBatchLimits(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	full := container.NewTransactionalBatch(pk("a"))
	for n := range 100 {
		full.UpsertItem(encode(t, object{"id": fmt.Sprint(n), "pk": "a"}), nil)
	}
	response, err := container.ExecuteTransactionalBatch(ctx, full, nil)
	must(t, err)
	equal(t, response.Success, true, "100 operations")
	full.UpsertItem(encode(t, object{"id": "101", "pk": "a"}), nil)
	_, err = container.ExecuteTransactionalBatch(ctx, full, nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func fill(t *testing.T, container *azcosmos.ContainerClient, n int) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for index := range n {
		id, key := fmt.Sprint("i", index), fmt.Sprint("k", index%10)
		create(t, container, pk(key), object{"id": id, "pk": key, "n": index})
		ids[id] = true
	}
	return ids
}

func TestQueriesOverOneAndAllPartitions(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	fill(t, container, 40)
	count := func(query string, key azcosmos.PartitionKey, options *azcosmos.QueryOptions) (items, pages int) {
		pager := container.NewQueryItemsPager(query, key, options)
		for pager.More() {
			page, err := pager.NextPage(ctx)
			must(t, err)
			items += len(page.Items)
			pages++
		}
		return items, pages
	}
	items, _ := count("SELECT * FROM c", pk("k3"), nil)
	equal(t, items, 4, "items of one logical partition")
	items, pages := count("SELECT * FROM c", pk("k3"), &azcosmos.QueryOptions{PageSizeHint: 1})
	equal(t, items, 4, "items in small pages")
	if pages < 4 {
		t.Fatalf("%d pages of one item", pages)
	}
	items, _ = count("SELECT * FROM c", azcosmos.NewPartitionKey(), nil)
	equal(t, items, 40, "items of all partitions")
	items, _ = count("SELECT c.id FROM c WHERE c.n >= @n", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@n", Value: 30}},
	})
	equal(t, items, 10, "filtered items")
	_, err := container.NewQueryItemsPager("SELECT FROM WHERE", pk("k3"), nil).NextPage(ctx)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func TestReadMany(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	fill(t, container, 30)
	var identities []azcosmos.ItemIdentity
	for index := 0; index < 30; index += 3 {
		identities = append(identities, azcosmos.ItemIdentity{ID: fmt.Sprint("i", index), PartitionKey: pk(fmt.Sprint("k", index%10))})
	}
	identities = append(identities, azcosmos.ItemIdentity{ID: "missing", PartitionKey: pk("k1")})
	response, err := container.ReadManyItems(ctx, identities, nil)
	must(t, err)
	equal(t, len(response.Items), 10, "items")
}

// changes reads a feed range from `options` until the service has nothing more for now.
func changes(t *testing.T, container *azcosmos.ContainerClient, options azcosmos.ChangeFeedOptions) ([]object, string) {
	t.Helper()
	var items []object
	token := ""
	for range 100 {
		response, err := container.ReadChangeFeed(ctx, &options)
		must(t, err)
		for _, item := range response.Items {
			items = append(items, decode(t, item))
		}
		token = response.ContinuationToken
		if len(response.Items) == 0 {
			return items, token
		}
		options.Continuation = &token
	}
	t.Fatal("the change feed does not end")
	return nil, ""
}

func TestChangeFeedOfAllRanges(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	ids := fill(t, container, 40)
	ranges, err := container.ReadFeedRanges(ctx, nil)
	must(t, err)
	tokens := make([]string, len(ranges))
	seen := map[string]bool{}
	for index, feedRange := range ranges {
		items, token := changes(t, container, azcosmos.ChangeFeedOptions{FeedRange: &feedRange, MaxItemCount: 3})
		for _, item := range items {
			id := item["id"].(string)
			if seen[id] {
				t.Fatalf("%s came twice", id)
			}
			if item["_lsn"] == nil {
				t.Fatalf("no _lsn in %v", item)
			}
			seen[id] = true
		}
		tokens[index] = token
	}
	equal(t, len(seen), len(ids), "changes")

	_, err = container.ReplaceItem(ctx, pk("k5"), "i5", encode(t, object{"id": "i5", "pk": "k5", "n": -1}), nil)
	must(t, err)
	n := 0
	for index, feedRange := range ranges {
		items, _ := changes(t, container, azcosmos.ChangeFeedOptions{FeedRange: &feedRange, Continuation: &tokens[index]})
		for _, item := range items {
			equal(t, item["id"], any("i5"), "changed item")
			n++
		}
	}
	equal(t, n, 1, "new changes")
}

func TestChangeFeedOfOneLogicalPartition(t *testing.T) {
	if minPartitions(t) > 1 {
		t.Skip("the SDK sends the key to every range of the feed range")
	}
	container := newContainer(t, properties("/pk"))
	fill(t, container, 20)
	everything := azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	key := pk("k2")
	items, _ := changes(t, container, azcosmos.ChangeFeedOptions{FeedRange: &everything, PartitionKey: &key})
	equal(t, len(items), 2, "changes of one logical partition")
}

func TestChangeFeedFromATime(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	fill(t, container, 20)
	ranges, err := container.ReadFeedRanges(ctx, nil)
	must(t, err)
	count := func(start time.Time) (n int) {
		for _, feedRange := range ranges {
			items, _ := changes(t, container, azcosmos.ChangeFeedOptions{FeedRange: &feedRange, StartFrom: &start})
			n += len(items)
		}
		return n
	}
	equal(t, count(time.Now().Add(time.Hour)), 0, "changes after a time to come")
	equal(t, count(time.Now().Add(-time.Hour)), 20, "changes after an earlier time")
}
