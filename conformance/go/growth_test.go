package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// What the growth tests share: a container's ranges moved over the management API, and work that keeps a ledger.
//
// Every worker checks what it sees as it goes. A worker that gets an error ends the test: the SDK's own retries
// are all the help an application has while its container grows.

const (
	rangesMax  = 16
	rangesMin  = 2
	keys       = 48
	fixedItems = 240
)

// described is the part of a range that the tests look at.
type described struct {
	ID  string `json:"id"`
	Min string `json:"min"`
}

// ranges are the ranges of one container, as an operator sees and moves them.
type ranges struct {
	endpoint, key, path string
}

// ids are in the order of the hash space.
func (r *ranges) ids() ([]string, error) {
	var found struct {
		Ranges []described `json:"ranges"`
	}
	if err := r.call(http.MethodGet, "", object{}, &found); err != nil {
		return nil, err
	}
	sort.Slice(found.Ranges, func(a, b int) bool { return found.Ranges[a].Min < found.Ranges[b].Min })
	ids := make([]string, len(found.Ranges))
	for n, it := range found.Ranges {
		ids[n] = it.ID
	}
	return ids, nil
}

// grow splits ranges, all at once, so that there are twice as many, up to the maximum.
func (r *ranges) grow() error {
	ids, err := r.ids()
	if err != nil {
		return err
	}
	var commands []func() error
	for _, id := range ids[:min(len(ids), rangesMax-len(ids))] {
		commands = append(commands, func() error { return r.relocate("/"+id+"/split", object{"wait": true}) })
	}
	return together(commands)
}

// shrink merges neighbours, all pairs at once, so that there are half as many, down to the minimum.
func (r *ranges) shrink() error {
	ids, err := r.ids()
	if err != nil {
		return err
	}
	var commands []func() error
	for n := 0; n+1 < len(ids) && len(commands) < len(ids)-rangesMin; n += 2 {
		pair := []string{ids[n], ids[n+1]}
		commands = append(commands, func() error { return r.relocate("/merge", object{"ranges": pair, "wait": true}) })
	}
	return together(commands)
}

func (r *ranges) relocate(path string, body object) error {
	var ended struct {
		End string `json:"end"`
	}
	if err := r.call(http.MethodPost, path, body, &ended); err != nil {
		return err
	}
	if ended.End != "done" {
		return fmt.Errorf("%s ended %q", path, ended.End)
	}
	return nil
}

func (r *ranges) call(verb, path string, body object, answer any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(verb, r.endpoint+r.path+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	response, err := transport.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", verb, path, response.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// together runs all and returns the first error.
func together(commands []func() error) error {
	failures := make(chan error, len(commands))
	for _, command := range commands {
		go func() { failures <- command() }()
	}
	var first error
	for range commands {
		if err := <-failures; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// acknowledged is what the service said of an item that must exist.
type acknowledged struct {
	id, key, token string
	version        int
}

// version is the part of an item that the workers look at.
type version struct {
	ID      string `json:"id"`
	PK      string `json:"pk"`
	Version int    `json:"version"`
	Fixed   bool   `json:"fixed"`
	Rank    int    `json:"rank"`
}

// work is everything that goes on while the ranges move.
type work struct {
	container *azcosmos.ContainerClient
	isOver    atomic.Bool
	reads     atomic.Int64
	pages     atomic.Int64

	mutex   sync.Mutex
	live    map[string]acknowledged
	recent  []string
	written int

	// Only the follower of the change feed touches these.
	seen    map[string]int
	changes int
}

func (w *work) fill(t *testing.T) {
	var creates []func() error
	for rank := range fixedItems {
		key := fmt.Sprint("k", rank%keys)
		item := encode(t, object{"id": fmt.Sprint("f", rank), "pk": key, "fixed": true, "rank": rank})
		creates = append(creates, func() error {
			_, err := w.container.CreateItem(ctx, pk(key), item, nil)
			return err
		})
	}
	must(t, together(creates))
}

func (w *work) put(id, key string, version int, token *string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.written++
	w.live[id] = acknowledged{id: id, key: key, version: version, token: *token}
	w.recent = append(w.recent, id)
	if len(w.recent) > 20 {
		w.recent = w.recent[1:]
	}
}

// forget comes before a delete: readers stop looking before the item goes.
func (w *work) forget(id string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.live, id)
}

func (w *work) find(id string) (acknowledged, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found, ok := w.live[id]
	return found, ok
}

// pick chooses an item that was just acknowledged.
func (w *work) pick(n int) (acknowledged, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.recent) == 0 {
		return acknowledged{}, false
	}
	found, ok := w.live[w.recent[n%len(w.recent)]]
	return found, ok
}

// write is one writer's life: every kind of write, on items that are its own.
func (w *work) write(writer int) error {
	for n := 0; !w.isOver.Load(); n++ {
		id, key := fmt.Sprintf("w%d-%d", writer, n), fmt.Sprint("k", (n*31+writer*7)%keys)
		if err := w.lifeOfAnItem(id, key, n%3 != 0); err != nil {
			return err
		}
		if err := w.batch(id, key); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) lifeOfAnItem(id, key string, isKept bool) error {
	body := func(version int) []byte {
		return fmt.Appendf(nil, `{"id":%q,"pk":%q,"version":%d}`, id, key, version)
	}
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/version", 1)
	steps := []func() (azcosmos.ItemResponse, error){
		func() (azcosmos.ItemResponse, error) { return w.container.CreateItem(ctx, pk(key), body(1), nil) },
		func() (azcosmos.ItemResponse, error) { return w.container.UpsertItem(ctx, pk(key), body(2), nil) },
		func() (azcosmos.ItemResponse, error) { return w.container.ReplaceItem(ctx, pk(key), id, body(3), nil) },
		func() (azcosmos.ItemResponse, error) { return w.container.PatchItem(ctx, pk(key), id, patch, withBody) },
	}
	for n, step := range steps {
		response, err := step()
		if err != nil {
			return fmt.Errorf("step %d of %s: %w", n, id, err)
		}
		if n == 3 && !strings.Contains(string(response.Value), `"version":4`) {
			return fmt.Errorf("%s was patched from another version: %s", id, response.Value)
		}
		w.put(id, key, n+1, response.SessionToken)
	}
	if isKept {
		return nil
	}
	w.forget(id)
	_, err := w.container.DeleteItem(ctx, pk(key), id, nil)
	return err
}

func (w *work) batch(id, key string) error {
	body := func(name string, version int) []byte {
		return fmt.Appendf(nil, `{"id":%q,"pk":%q,"version":%d}`, name, key, version)
	}
	batch := w.container.NewTransactionalBatch(pk(key))
	names := []string{id + "-b0", id + "-b1", id + "-b2"}
	for _, name := range names {
		batch.CreateItem(body(name, 1), nil)
	}
	batch.UpsertItem(body(names[0], 2), nil)
	response, err := w.container.ExecuteTransactionalBatch(ctx, batch, nil)
	if err != nil {
		return fmt.Errorf("batch of %s: %w", id, err)
	}
	if !response.Success {
		return fmt.Errorf("batch of %s: %+v", id, response.OperationResults)
	}
	token := response.SessionToken
	w.put(names[0], key, 2, &token)
	w.put(names[1], key, 1, &token)
	w.put(names[2], key, 1, &token)
	return nil
}

// read asks for what was just acknowledged, with the token of its writer.
func (w *work) read() error {
	for n := 0; !w.isOver.Load(); n++ {
		item, ok := w.pick(n)
		if !ok {
			time.Sleep(time.Millisecond)
			continue
		}
		response, err := w.container.ReadItem(ctx, pk(item.key), item.id, &azcosmos.ItemOptions{SessionToken: &item.token})
		if err != nil {
			// It may have been deleted meanwhile, and only then be missing.
			if _, isLive := w.find(item.id); !isLive && strings.Contains(err.Error(), "404") {
				continue
			}
			return fmt.Errorf("read of %s: %w", item.id, err)
		}
		var found version
		if err := json.Unmarshal(response.Value, &found); err != nil {
			return err
		}
		if found.Version < item.version {
			return fmt.Errorf("%s: %d after %d", item.id, found.Version, item.version)
		}
		w.reads.Add(1)
	}
	return nil
}

// queryAll asks for the fixed items over all ranges, page by page, each through a new pager, so that only the token
// carries over: all of them, once. The SDK merges nothing across ranges, so there is no order to ask for.
func (w *work) queryAll() error {
	for !w.isOver.Load() {
		ranks, err := w.pagesOf("SELECT c.id, c.rank FROM c WHERE c.fixed = true", azcosmos.NewPartitionKey(), 25)
		if err != nil {
			return err
		}
		sort.Ints(ranks)
		if err := hasRanks(ranks, 0, 1); err != nil {
			return fmt.Errorf("all ranges: %w", err)
		}
	}
	return nil
}

// queryOneKey asks for one logical partition, in order.
func (w *work) queryOneKey() error {
	for n := 0; !w.isOver.Load(); n++ {
		key := n * 17 % keys
		text := "SELECT c.id, c.rank FROM c WHERE c.fixed = true ORDER BY c.rank"
		ranks, err := w.pagesOf(text, pk(fmt.Sprint("k", key)), 2)
		if err != nil {
			return err
		}
		if err := hasRanks(ranks, key, keys); err != nil {
			return fmt.Errorf("k%d: %w", key, err)
		}
	}
	return nil
}

func (w *work) pagesOf(text string, key azcosmos.PartitionKey, size int32) ([]int, error) {
	var ranks []int
	var token *string
	for {
		pager := w.container.NewQueryItemsPager(text, key, &azcosmos.QueryOptions{PageSizeHint: size, ContinuationToken: token})
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		for _, item := range page.Items {
			var found version
			if err := json.Unmarshal(item, &found); err != nil {
				return nil, err
			}
			ranks = append(ranks, found.Rank)
		}
		w.pages.Add(1)
		token = page.ContinuationToken
		if token == nil || *token == "" {
			return ranks, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// hasRanks checks for first, first + step, … below the number of fixed items.
func hasRanks(ranks []int, first, step int) error {
	for n, rank := range ranks {
		if rank != first+n*step {
			return fmt.Errorf("row %d has rank %d instead of %d", n, rank, first+n*step)
		}
	}
	if want := (fixedItems - first + step - 1) / step; len(ranks) != want {
		return fmt.Errorf("%d rows instead of %d", len(ranks), want)
	}
	return nil
}

// follow reads the change feed from the beginning; it stops when the writers have and nothing is new.
func (w *work) follow() error {
	everything := azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	options := azcosmos.ChangeFeedOptions{FeedRange: &everything, MaxItemCount: 50}
	nIdle := 0
	for {
		isOver := w.isOver.Load()
		response, err := w.container.ReadChangeFeed(ctx, &options)
		if err != nil {
			return fmt.Errorf("change feed: %w", err)
		}
		for _, item := range response.Items {
			if err := w.see(item); err != nil {
				return err
			}
		}
		token := response.ContinuationToken
		options.Continuation = &token
		if len(response.Items) > 0 {
			nIdle = 0
			continue
		}
		// One call may read one range only, so that all must have been asked after the end.
		if isOver {
			if nIdle++; nIdle > 2*rangesMax {
				return nil
			}
			continue
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *work) see(item []byte) error {
	var found version
	if err := json.Unmarshal(item, &found); err != nil {
		return err
	}
	w.changes++
	// The SDK names a range, never a part of one, and asks a merged range once with the position of each parent. These
	// name the parts that they are for, so that nothing comes twice.
	if before, ok := w.seen[found.ID]; ok && found.Version <= before {
		return fmt.Errorf("%s: version %d in the feed after %d", found.ID, found.Version, before)
	}
	w.seen[found.ID] = found.Version
	return nil
}

// check compares the container, the change feed and the ledger at the end.
func (w *work) check(t *testing.T) {
	t.Helper()
	stored := map[string]version{}
	pager := w.container.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), nil)
	for pager.More() {
		page, err := pager.NextPage(ctx)
		must(t, err)
		for _, item := range page.Items {
			var found version
			must(t, json.Unmarshal(item, &found))
			if _, isTwice := stored[found.ID]; isTwice {
				t.Fatalf("%s is stored twice", found.ID)
			}
			stored[found.ID] = found
		}
	}
	equal(t, len(stored), len(w.live)+fixedItems, "items")
	for id, expected := range w.live {
		equal(t, stored[id].Version, expected.version, id+" in the container")
		equal(t, stored[id].PK, expected.key, "key of "+id)
		equal(t, w.seen[id], expected.version, id+" in the change feed")
	}
}
