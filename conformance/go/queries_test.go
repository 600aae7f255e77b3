package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Ordering, grouping, aggregates, search and paging through the SDK, against answers worked out here.

// row is an item of these tests as they work with it.
type row struct {
	ID   string `json:"id"`
	PK   string `json:"pk"`
	N    int    `json:"n"`
	Team string `json:"team"`
	A    int    `json:"a"`
	B    int    `json:"b"`
}

func richRows() []row {
	rows := make([]row, 60)
	for n := range rows {
		rows[n] = row{fmt.Sprintf("%03d", n), fmt.Sprintf("key%d", n%7), n, fmt.Sprintf("t%d", n%4), n % 5, n * 17 % 60}
	}
	return rows
}

func policy() *azcosmos.IndexingPolicy {
	return &azcosmos.IndexingPolicy{
		Automatic:     true,
		IndexingMode:  azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
		ExcludedPaths: []azcosmos.ExcludedPath{{Path: `/"_etag"/?`}},
	}
}

func newRich(t *testing.T) *azcosmos.ContainerClient {
	props := properties("/pk")
	props.IndexingPolicy = policy()
	props.IndexingPolicy.CompositeIndexes = [][]azcosmos.CompositeIndex{{
		{Path: "/a", Order: azcosmos.CompositeIndexAscending},
		{Path: "/b", Order: azcosmos.CompositeIndexDescending},
	}}
	container := newContainer(t, props)
	for _, item := range richRows() {
		_, err := container.CreateItem(ctx, pk(item.PK), encode(t, item), nil)
		must(t, err)
	}
	return container
}

// scope is a part of the data: one partition, or all of them.
type scope struct {
	name string
	key  azcosmos.PartitionKey
	rows []row
}

func scopes() []scope {
	all := richRows()
	var three []row
	for _, item := range all {
		if item.PK == "key3" {
			three = append(three, item)
		}
	}
	return []scope{{"one partition", pk("key3"), three}, {"all partitions", azcosmos.NewPartitionKey(), all}}
}

// ask runs a query to its end. Across partitions the SDK merges nothing: what the gateway refuses is skipped, and said.
func ask(t *testing.T, container *azcosmos.ContainerClient, key azcosmos.PartitionKey, text string, size int32) []json.RawMessage {
	t.Helper()
	pager := container.NewQueryItemsPager(text, key, &azcosmos.QueryOptions{PageSizeHint: size})
	var rows []json.RawMessage
	for pager.More() {
		page, err := pager.NextPage(ctx)
		var refused *azcore.ResponseError
		if errors.As(err, &refused) && strings.Contains(err.Error(), "can not be directly served by the gateway") {
			equal(t, refused.StatusCode, http.StatusBadRequest, "status of a refusal")
			t.Skipf("the Go SDK merges nothing across partitions, so the gateway refuses %q", text)
		}
		must(t, err)
		for _, item := range page.Items {
			rows = append(rows, item)
		}
	}
	return rows
}

func decoded[T any](t *testing.T, rows []json.RawMessage) []T {
	t.Helper()
	values := make([]T, len(rows))
	for n, text := range rows {
		must(t, json.Unmarshal(text, &values[n]))
	}
	return values
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func sortedBy(rows []row, less func(a, b row) bool) []row {
	sorted := append([]row(nil), rows...)
	sort.Slice(sorted, func(i, j int) bool { return less(sorted[i], sorted[j]) })
	return sorted
}

func TestQueryOrder(t *testing.T) {
	container := newRich(t)
	orders := map[string]func(a, b row) bool{
		"c.b":               func(a, b row) bool { return a.B < b.B },
		"c.b DESC":          func(a, b row) bool { return a.B > b.B },
		"c.a ASC, c.b DESC": func(a, b row) bool { return a.A < b.A || a.A == b.A && a.B > b.B },
		"c.a DESC, c.b ASC": func(a, b row) bool { return a.A > b.A || a.A == b.A && a.B < b.B },
	}
	for _, scope := range scopes() {
		for clause, less := range orders {
			t.Run(scope.name+" "+clause, func(t *testing.T) {
				for _, size := range []int32{0, 3} {
					found := decoded[row](t, ask(t, container, scope.key, "SELECT * FROM c ORDER BY "+clause, size))
					same(t, found, sortedBy(scope.rows, less))
				}
			})
		}
	}
	_, err := container.NewQueryItemsPager("SELECT * FROM c ORDER BY c.n, c.b", pk("key3"), nil).NextPage(ctx)
	fails(t, err, http.StatusBadRequest, "composite index")
}

func TestQueryOrderOfMixedTypes(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	// In the order they must come in; nothing at all comes first.
	values := []any{nil, false, true, -3.5, 2, 10, "", "A", "a", "ä"}
	for n := len(values) - 1; n >= 0; n-- {
		create(t, container, pk("k"), object{"id": fmt.Sprint(n), "pk": "k", "v": values[n]})
	}
	create(t, container, pk("k"), object{"id": "none", "pk": "k"})
	want := []string{"none"}
	for n := range values {
		want = append(want, fmt.Sprint(n))
	}
	same(t, decoded[string](t, ask(t, container, pk("k"), "SELECT VALUE c.id FROM c ORDER BY c.v", 4)), want)
}

func TestQueryPagesResumeFromTheirToken(t *testing.T) {
	container := newRich(t)
	three := scopes()[0].rows
	want := sortedBy(three, func(a, b row) bool { return a.B < b.B })
	var found []row
	var token *string
	for {
		options := &azcosmos.QueryOptions{PageSizeHint: 2, ContinuationToken: token}
		// Every page by a pager of its own.
		page, err := container.NewQueryItemsPager("SELECT * FROM c ORDER BY c.b", pk("key3"), options).NextPage(ctx)
		must(t, err)
		for _, text := range page.Items {
			var item row
			must(t, json.Unmarshal(text, &item))
			found = append(found, item)
		}
		if token = page.ContinuationToken; token == nil || *token == "" {
			break
		}
	}
	same(t, found, want)
}

func TestQueryAcrossPartitionsFiltersAndPages(t *testing.T) {
	container := newRich(t)
	for _, size := range []int32{0, 4} {
		found := decoded[row](t, ask(t, container, azcosmos.NewPartitionKey(), "SELECT * FROM c WHERE c.n >= 20 AND c.team = 't1'", size))
		var want []row
		for _, item := range richRows() {
			if item.N >= 20 && item.Team == "t1" {
				want = append(want, item)
			}
		}
		same(t, sortedBy(found, func(a, b row) bool { return a.N < b.N }), want)
	}
}

func TestQueryCutsAndDistinct(t *testing.T) {
	container := newRich(t)
	for _, scope := range scopes() {
		t.Run(scope.name, func(t *testing.T) {
			down := sortedBy(scope.rows, func(a, b row) bool { return a.N > b.N })
			numbers := func(rows []row) (numbers []int) {
				for _, item := range rows {
					numbers = append(numbers, item.N)
				}
				return numbers
			}
			cut := ask(t, container, scope.key, "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 4", 0)
			same(t, decoded[int](t, cut), numbers(down[2:6]))
			top := ask(t, container, scope.key, "SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC", 0)
			same(t, decoded[int](t, top), numbers(down[:5]))
			seen := map[string]bool{}
			for _, item := range scope.rows {
				seen[item.Team] = true
			}
			teams := decoded[string](t, ask(t, container, scope.key, "SELECT DISTINCT VALUE c.team FROM c", 0))
			equal(t, len(teams), len(seen), "teams")
		})
	}
}

func TestQueryAggregatesAndGroups(t *testing.T) {
	container := newRich(t)
	for _, scope := range scopes() {
		t.Run(scope.name, func(t *testing.T) {
			sum, low, high := 0, math.MaxInt, math.MinInt
			groups := map[string][2]int{}
			for _, item := range scope.rows {
				sum += item.N
				low, high = min(low, item.N), max(high, item.N)
				group := groups[item.Team]
				groups[item.Team] = [2]int{group[0] + 1, group[1] + item.N}
			}
			for text, want := range map[string]float64{
				"COUNT(1)": float64(len(scope.rows)),
				"SUM(c.n)": float64(sum),
				"AVG(c.n)": float64(sum) / float64(len(scope.rows)),
				"MIN(c.n)": float64(low),
				"MAX(c.n)": float64(high),
			} {
				same(t, decoded[float64](t, ask(t, container, scope.key, "SELECT VALUE "+text+" FROM c", 0)), []float64{want})
			}
			found := map[string][2]int{}
			text := "SELECT c.team, COUNT(1) AS n, SUM(c.n) AS a FROM c GROUP BY c.team"
			for _, group := range decoded[row](t, ask(t, container, scope.key, text, 0)) {
				found[group.Team] = [2]int{group.N, group.A}
			}
			same(t, found, groups)
		})
	}
}

func TestQueryPrefixOfAHierarchicalKey(t *testing.T) {
	props := properties("/tenant", "/user")
	props.PartitionKeyDefinition.Kind = azcosmos.PartitionKeyKindMultiHash
	container := newContainer(t, props)
	for n := range 12 {
		tenant, user := fmt.Sprintf("t%d", n%2), fmt.Sprintf("u%d", n%3)
		key := azcosmos.NewPartitionKeyString(tenant).AppendString(user)
		create(t, container, key, object{"id": fmt.Sprintf("%02d", n), "tenant": tenant, "user": user})
	}
	inside := decoded[string](t, ask(t, container, pk("t1"), "SELECT VALUE c.id FROM c", 0))
	sort.Strings(inside)
	same(t, inside, []string{"01", "03", "05", "07", "09", "11"})
	whole := azcosmos.NewPartitionKeyString("t1").AppendString("u2")
	same(t, decoded[string](t, ask(t, container, whole, "SELECT VALUE c.id FROM c ORDER BY c.id", 0)), []string{"05", "11"})
}

func TestQueryReadMany(t *testing.T) {
	container := newRich(t)
	var wanted []azcosmos.ItemIdentity
	var want []row
	for n, item := range richRows() {
		if n%2 == 0 {
			wanted = append(wanted, azcosmos.ItemIdentity{ID: item.ID, PartitionKey: pk(item.PK)})
			want = append(want, item)
		}
	}
	response, err := container.ReadManyItems(ctx, wanted, nil)
	must(t, err)
	found := make([]row, len(response.Items))
	for n, text := range response.Items {
		must(t, json.Unmarshal(text, &found[n]))
	}
	same(t, sortedBy(found, func(a, b row) bool { return a.N < b.N }), want)
}

// document is an item to search.
type document struct {
	ID   string    `json:"id"`
	PK   string    `json:"pk"`
	N    int       `json:"n"`
	V    []float64 `json:"v"`
	Text string    `json:"text"`
	Said int       `json:"said"`
}

var target = []float64{0.5, -0.25, 1, 0.125}

// documents have a vector, and a text of constant length that says "comet" once more each time.
func documents() []document {
	all := make([]document, 12)
	for n := range all {
		vector := make([]float64, len(target))
		for axis := range vector {
			vector[axis] = math.Sin(float64(n)*0.7+float64(axis)) * float64(1+n%3)
		}
		words := make([]string, 24)
		for k := range words {
			if words[k] = "comet"; k > n {
				words[k] = fmt.Sprintf("filler%d", k-n)
			}
		}
		all[n] = document{fmt.Sprintf("%02d", n), "k", n, vector, strings.Join(words, " "), n + 1}
	}
	return all
}

func distance(item document) float64 {
	sum := 0.0
	for axis, value := range item.V {
		sum += (value - target[axis]) * (value - target[axis])
	}
	return math.Sqrt(sum)
}

func idsBy(items []document, key func(document) float64) (ids []string) {
	sort.Slice(items, func(i, j int) bool { return key(items[i]) < key(items[j]) })
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

func TestQuerySearch(t *testing.T) {
	props := properties("/pk")
	props.IndexingPolicy = policy()
	props.IndexingPolicy.VectorIndexes = []azcosmos.VectorIndex{{Path: "/v", Type: azcosmos.VectorIndexTypeFlat}}
	props.IndexingPolicy.FullTextIndexes = []azcosmos.FullTextIndex{{Path: "/text"}}
	props.VectorEmbeddingPolicy = &azcosmos.VectorEmbeddingPolicy{VectorEmbeddings: []azcosmos.VectorEmbedding{{
		Path: "/v", DataType: azcosmos.VectorDataTypeFloat32, Dimensions: 4, DistanceFunction: azcosmos.VectorDistanceFunctionEuclidean,
	}}}
	props.FullTextPolicy = &azcosmos.FullTextPolicy{
		DefaultLanguage: "en-US", FullTextPaths: []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}},
	}
	container := newContainer(t, props)
	for _, item := range documents() {
		_, err := container.CreateItem(ctx, pk(item.PK), encode(t, item), nil)
		must(t, err)
	}
	nearest := idsBy(documents(), distance)
	loudest := idsBy(documents(), func(item document) float64 { return -float64(item.Said) })
	const near = "VectorDistance(c.v, [0.5, -0.25, 1, 0.125])"
	ranked := func(t *testing.T, key azcosmos.PartitionKey, text string) []string {
		return decoded[string](t, ask(t, container, key, text, 0))
	}
	for name, key := range map[string]azcosmos.PartitionKey{"one partition": pk("k"), "all partitions": azcosmos.NewPartitionKey()} {
		t.Run("vectors "+name, func(t *testing.T) {
			same(t, ranked(t, key, "SELECT TOP 5 VALUE c.id FROM c ORDER BY "+near), nearest[:5])
		})
		t.Run("words "+name, func(t *testing.T) {
			found := ranked(t, key, "SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'filler14')")
			sort.Strings(found)
			same(t, found, []string{"00", "01", "02", "03", "04", "05", "06", "07", "08", "09"})
		})
		t.Run("texts "+name, func(t *testing.T) {
			same(t, ranked(t, key, "SELECT TOP 5 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.text, 'comet')"), loudest[:5])
		})
		t.Run("both "+name, func(t *testing.T) {
			found := ranked(t, key, "SELECT TOP 12 VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), "+near+")")
			equal(t, len(found), 12, "rows")
			place := func(order []string, id string) float64 {
				for n, other := range order {
					if other == id {
						return float64(n + 1)
					}
				}
				return math.Inf(1)
			}
			last := math.Inf(1)
			for _, id := range found {
				score := 1/(60+place(nearest, id)) + 1/(60+place(loudest, id))
				if score > last+1e-9 {
					t.Fatalf("%s with %v comes after %v in %v", id, score, last, found)
				}
				last = score
			}
		})
	}
}
