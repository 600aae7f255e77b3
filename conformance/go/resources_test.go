package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestDatabaseLifeCycle(t *testing.T) {
	client := newClient(t)
	id := unique("go-life")
	created, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
	must(t, err)
	equal(t, created.RawResponse.StatusCode, http.StatusCreated, "create")
	equal(t, created.DatabaseProperties.ID, id, "id")
	if created.DatabaseProperties.ResourceID == "" || created.DatabaseProperties.SelfLink == "" {
		t.Fatalf("system properties are missing: %+v", created.DatabaseProperties)
	}

	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
	fails(t, err, http.StatusConflict, "Conflict")

	database, err := client.NewDatabase(id)
	must(t, err)
	read, err := database.Read(ctx, nil)
	must(t, err)
	equal(t, read.DatabaseProperties.ResourceID, created.DatabaseProperties.ResourceID, "rid")

	deleted, err := database.Delete(ctx, nil)
	must(t, err)
	equal(t, deleted.RawResponse.StatusCode, http.StatusNoContent, "delete")
	_, err = database.Read(ctx, nil)
	fails(t, err, http.StatusNotFound, "NotFound")
}

func TestDatabaseDeleteHonoursEtag(t *testing.T) {
	database := newDatabase(t, newClient(t))
	_, err := database.Delete(ctx, &azcosmos.DeleteDatabaseOptions{IfMatchEtag: ptr(azcore.ETag(`"other"`))})
	fails(t, err, http.StatusPreconditionFailed, "PreconditionFailed")
	read, err := database.Read(ctx, nil)
	must(t, err)
	_, err = database.Delete(ctx, &azcosmos.DeleteDatabaseOptions{IfMatchEtag: read.DatabaseProperties.ETag})
	must(t, err)
}

func TestDatabasesAndContainersAreQueried(t *testing.T) {
	client := newClient(t)
	database := newDatabase(t, client)
	pager := client.NewQueryDatabasesPager("SELECT * FROM root r WHERE r.id = @id", &azcosmos.QueryDatabasesOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: database.ID()}},
	})
	n := 0
	for pager.More() {
		page, err := pager.NextPage(ctx)
		must(t, err)
		n += len(page.Databases)
	}
	equal(t, n, 1, "databases found")

	for range 3 {
		containerIn(t, database, properties("/pk"), nil)
	}
	containers := database.NewQueryContainersPager("SELECT * FROM c", nil)
	n = 0
	for containers.More() {
		page, err := containers.NextPage(ctx)
		must(t, err)
		n += len(page.Containers)
	}
	equal(t, n, 3, "containers found")
}

func TestConcurrentCreatesOfOneDatabaseGiveOne201(t *testing.T) {
	id := unique("go-race")
	var lock sync.Mutex
	statuses := map[int]int{}
	var group sync.WaitGroup
	for range 12 {
		group.Add(1)
		go func() {
			defer group.Done()
			_, err := newClient(t).CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
			status := http.StatusCreated
			if err != nil {
				status = fails(t, err, http.StatusConflict, "Conflict").StatusCode
			}
			lock.Lock()
			defer lock.Unlock()
			statuses[status]++
		}()
	}
	group.Wait()
	equal(t, statuses[http.StatusCreated], 1, "201 answers")
	equal(t, statuses[http.StatusConflict], 11, "409 answers")
	database, err := newClient(t).NewDatabase(id)
	must(t, err)
	_, err = database.Delete(ctx, nil)
	must(t, err)
}

func TestContainerLifeCycle(t *testing.T) {
	database := newDatabase(t, newClient(t))
	props := properties("/pk")
	props.DefaultTimeToLive = ptr(int32(3600))
	props.IndexingPolicy = &azcosmos.IndexingPolicy{
		Automatic:     true,
		IndexingMode:  azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
		ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/blob/*"}},
		CompositeIndexes: [][]azcosmos.CompositeIndex{{
			{Path: "/a", Order: azcosmos.CompositeIndexAscending},
			{Path: "/b", Order: azcosmos.CompositeIndexDescending},
		}},
		SpatialIndexes: []azcosmos.SpatialIndex{{
			Path:         "/place/*",
			SpatialTypes: []azcosmos.SpatialType{azcosmos.SpatialTypePoint, azcosmos.SpatialTypePolygon},
		}},
	}
	props.UniqueKeyPolicy = &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}}
	created, err := database.CreateContainer(ctx, props, nil)
	must(t, err)
	equal(t, created.RawResponse.StatusCode, http.StatusCreated, "create")

	container, err := database.NewContainer(props.ID)
	must(t, err)
	read, err := container.Read(ctx, &azcosmos.ReadContainerOptions{PopulateQuotaInfo: true})
	must(t, err)
	got := read.ContainerProperties
	equal(t, *got.DefaultTimeToLive, 3600, "default ttl")
	equal(t, got.PartitionKeyDefinition.Paths[0], "/pk", "partition key path")
	equal(t, got.PartitionKeyDefinition.Version, 2, "partition key version")
	equal(t, len(got.IndexingPolicy.CompositeIndexes), 1, "composite indexes")
	equal(t, got.IndexingPolicy.CompositeIndexes[0][1].Order, azcosmos.CompositeIndexDescending, "order")
	equal(t, len(got.IndexingPolicy.SpatialIndexes), 1, "spatial indexes")
	equal(t, got.UniqueKeyPolicy.UniqueKeys[0].Paths[0], "/email", "unique key")
	equal(t, got.ConflictResolutionPolicy.Mode, azcosmos.ConflictResolutionModeLastWriteWins, "conflict mode")
	if read.RawResponse.Header.Get("x-ms-resource-usage") == "" {
		t.Fatal("no usage header")
	}

	got.DefaultTimeToLive = nil
	got.IndexingPolicy.ExcludedPaths = append(got.IndexingPolicy.ExcludedPaths, azcosmos.ExcludedPath{Path: "/more/?"})
	replaced, err := container.Replace(ctx, *got, nil)
	must(t, err)
	if replaced.ContainerProperties.DefaultTimeToLive != nil {
		t.Fatal("the default ttl is still there")
	}
	equal(t, replaced.ContainerProperties.ResourceID, got.ResourceID, "rid after replace")

	changed := *got
	changed.PartitionKeyDefinition.Paths = []string{"/other"}
	_, err = container.Replace(ctx, changed, nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")

	_, err = database.CreateContainer(ctx, props, nil)
	fails(t, err, http.StatusConflict, "Conflict")
	_, err = container.Delete(ctx, nil)
	must(t, err)
	_, err = container.Read(ctx, nil)
	fails(t, err, http.StatusNotFound, "NotFound")
}

func TestContainerPolicies(t *testing.T) {
	database := newDatabase(t, newClient(t))
	props := properties("/pk")
	props.VectorEmbeddingPolicy = &azcosmos.VectorEmbeddingPolicy{VectorEmbeddings: []azcosmos.VectorEmbedding{{
		Path:             "/vector",
		DataType:         azcosmos.VectorDataTypeFloat32,
		DistanceFunction: azcosmos.VectorDistanceFunctionCosine,
		Dimensions:       8,
	}}}
	props.FullTextPolicy = &azcosmos.FullTextPolicy{
		DefaultLanguage: "en-US",
		FullTextPaths:   []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}},
	}
	props.IndexingPolicy = &azcosmos.IndexingPolicy{
		Automatic:       true,
		IndexingMode:    azcosmos.IndexingModeConsistent,
		IncludedPaths:   []azcosmos.IncludedPath{{Path: "/*"}},
		ExcludedPaths:   []azcosmos.ExcludedPath{{Path: "/vector/*"}},
		VectorIndexes:   []azcosmos.VectorIndex{{Path: "/vector", Type: azcosmos.VectorIndexTypeFlat}},
		FullTextIndexes: []azcosmos.FullTextIndex{{Path: "/text"}},
	}
	container := containerIn(t, database, props, nil)
	read, err := container.Read(ctx, nil)
	must(t, err)
	equal(t, read.ContainerProperties.VectorEmbeddingPolicy.VectorEmbeddings[0].Dimensions, 8, "dimensions")
	equal(t, read.ContainerProperties.FullTextPolicy.FullTextPaths[0].Path, "/text", "full-text path")
	equal(t, len(read.ContainerProperties.IndexingPolicy.VectorIndexes), 1, "vector indexes")

	bad := properties("/pk")
	bad.IndexingPolicy = &azcosmos.IndexingPolicy{
		Automatic:     true,
		IndexingMode:  azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
		VectorIndexes: []azcosmos.VectorIndex{{Path: "/nowhere", Type: azcosmos.VectorIndexTypeFlat}},
	}
	_, err = database.CreateContainer(ctx, bad, nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")
}

func TestContainerInMissingDatabase(t *testing.T) {
	database, err := newClient(t).NewDatabase(unique("nowhere"))
	must(t, err)
	_, err = database.CreateContainer(ctx, properties("/pk"), nil)
	response := fails(t, err, http.StatusNotFound, "NotFound")
	equal(t, substatus(response), "1003", "substatus")
}

func TestBadNamesAreRefused(t *testing.T) {
	client := newClient(t)
	// No backslash: the SDK does not escape it, and sends another name.
	for _, id := range []string{"a/b", "a?b", "a#b", "a ", strings.Repeat("x", 256)} {
		_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
		if err == nil {
			t.Fatalf("%q was accepted", id)
		}
		fails(t, err, http.StatusBadRequest, "")
	}
}

func TestThroughput(t *testing.T) {
	client := newClient(t)
	database := newDatabase(t, client)
	manual := azcosmos.NewManualThroughputProperties(500)
	container := containerIn(t, database, properties("/pk"), &azcosmos.CreateContainerOptions{ThroughputProperties: &manual})
	read, err := container.ReadThroughput(ctx, nil)
	must(t, err)
	got, isManual := read.ThroughputProperties.ManualThroughput()
	equal(t, isManual, true, "manual")
	equal(t, got, 500, "throughput")
	if read.MinThroughput == nil || *read.MinThroughput < 400 {
		t.Fatalf("minimum throughput: %v", read.MinThroughput)
	}
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(700), nil)
	must(t, err)
	read, err = container.ReadThroughput(ctx, nil)
	must(t, err)
	got, _ = read.ThroughputProperties.ManualThroughput()
	equal(t, got, 700, "throughput after replace")
	_, err = container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(100), nil)
	fails(t, err, http.StatusBadRequest, "BadRequest")

	autoscale := azcosmos.NewAutoscaleThroughputProperties(5000)
	scaled := containerIn(t, database, properties("/pk"), &azcosmos.CreateContainerOptions{ThroughputProperties: &autoscale})
	read, err = scaled.ReadThroughput(ctx, nil)
	must(t, err)
	maximum, isAutoscale := read.ThroughputProperties.AutoscaleMaxThroughput()
	equal(t, isAutoscale, true, "autoscale")
	equal(t, maximum, 5000, "autoscale maximum")
}

func TestSharedThroughput(t *testing.T) {
	client := newClient(t)
	id := unique("go-shared")
	manual := azcosmos.NewManualThroughputProperties(400)
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, &azcosmos.CreateDatabaseOptions{ThroughputProperties: &manual})
	must(t, err)
	database, err := client.NewDatabase(id)
	must(t, err)
	defer func() { _, _ = database.Delete(ctx, nil) }()
	read, err := database.ReadThroughput(ctx, nil)
	must(t, err)
	got, _ := read.ThroughputProperties.ManualThroughput()
	equal(t, got, 400, "throughput of the database")
	container := containerIn(t, database, properties("/pk"), nil)
	_, err = container.ReadThroughput(ctx, nil)
	if err == nil {
		t.Fatal("a container that shares throughput has none of its own")
	}
	_, err = database.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(900), nil)
	must(t, err)
}

func TestFeedRangesFollowTheMinimum(t *testing.T) {
	container := newContainer(t, properties("/pk"))
	ranges, err := container.ReadFeedRanges(ctx, nil)
	must(t, err)
	equal(t, len(ranges), minPartitions(t), "ranges")
	equal(t, ranges[0].MinInclusive, "", "first range starts at the bottom")
	equal(t, ranges[len(ranges)-1].MaxExclusive, "FF", "last range ends at the top")
}

func TestKeys(t *testing.T) {
	endpoint := setting(t, "ORRERY_ENDPOINT")
	database := newDatabase(t, newClient(t))

	wrong := clientWithKey(t, "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3I=")
	other, err := wrong.NewDatabase(database.ID())
	must(t, err)
	_, err = other.Read(ctx, nil)
	if err == nil {
		t.Fatal("a wrong key was accepted")
	}

	reader := clientWithKey(t, setting(t, "ORRERY_READ_ONLY_KEY"))
	readable, err := reader.NewDatabase(database.ID())
	must(t, err)
	_, err = readable.Read(ctx, nil)
	must(t, err)
	_, err = reader.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: unique("go-forbidden")}, nil)
	fails(t, err, http.StatusForbidden, "Forbidden")

	text := fmt.Sprintf("AccountEndpoint=%s;AccountKey=%s;", endpoint, setting(t, "ORRERY_KEY"))
	connected, err := azcosmos.NewClientFromConnectionString(text, clientOptions())
	must(t, err)
	again, err := connected.NewDatabase(database.ID())
	must(t, err)
	_, err = again.Read(ctx, nil)
	must(t, err)
}
