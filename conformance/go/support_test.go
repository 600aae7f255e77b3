// Package conformance drives a running Orrery server with the unmodified Go SDK.
//
// The server is named by ORRERY_ENDPOINT, ORRERY_KEY, ORRERY_READ_ONLY_KEY and ORRERY_MIN_PARTITIONS;
// `cargo xtask conformance go` sets them.
package conformance

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var ctx = context.Background()

// A server with a self-signed certificate needs a transport that does not verify it.
var transport = &http.Client{
	Timeout: 60 * time.Second,
	Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
	},
}

func setting(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `cargo xtask conformance go`", name)
	}
	return value
}

func minPartitions(t testing.TB) int {
	n, err := strconv.Atoi(setting(t, "ORRERY_MIN_PARTITIONS"))
	must(t, err)
	return n
}

func clientOptions() *azcosmos.ClientOptions {
	return &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: transport}}
}

func clientWithKey(t testing.TB, key string) *azcosmos.Client {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(key)
	must(t, err)
	client, err := azcosmos.NewClientWithKey(setting(t, "ORRERY_ENDPOINT"), credential, clientOptions())
	must(t, err)
	return client
}

func newClient(t testing.TB) *azcosmos.Client {
	t.Helper()
	return clientWithKey(t, setting(t, "ORRERY_KEY"))
}

// unique makes a name that no other test or run has.
func unique(prefix string) string {
	var bytes [6]byte
	_, _ = rand.Read(bytes[:])
	return prefix + "-" + hex.EncodeToString(bytes[:])
}

// newDatabase makes a database that goes with the test.
func newDatabase(t testing.TB, client *azcosmos.Client) *azcosmos.DatabaseClient {
	t.Helper()
	id := unique("go")
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
	must(t, err)
	database, err := client.NewDatabase(id)
	must(t, err)
	t.Cleanup(func() { _, _ = database.Delete(ctx, nil) })
	return database
}

func properties(paths ...string) azcosmos.ContainerProperties {
	return azcosmos.ContainerProperties{
		ID:                     unique("items"),
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: paths, Version: 2},
	}
}

// newContainer makes a container with these properties in a database of its own.
func newContainer(t testing.TB, props azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	t.Helper()
	return containerIn(t, newDatabase(t, newClient(t)), props, nil)
}

func containerIn(
	t testing.TB,
	database *azcosmos.DatabaseClient,
	props azcosmos.ContainerProperties,
	options *azcosmos.CreateContainerOptions,
) *azcosmos.ContainerClient {
	t.Helper()
	_, err := database.CreateContainer(ctx, props, options)
	must(t, err)
	container, err := database.NewContainer(props.ID)
	must(t, err)
	return container
}

type object = map[string]any

func encode(t testing.TB, value any) []byte {
	t.Helper()
	bytes, err := json.Marshal(value)
	must(t, err)
	return bytes
}

func decode(t testing.TB, bytes []byte) object {
	t.Helper()
	var value object
	if err := json.Unmarshal(bytes, &value); err != nil {
		t.Fatalf("not a JSON object: %v: %q", err, bytes)
	}
	return value
}

func pk(value string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(value) }

// withBody asks the service to send written items back; without it the SDK asks for none.
var withBody = &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}

func create(t testing.TB, container *azcosmos.ContainerClient, key azcosmos.PartitionKey, item object) azcosmos.ItemResponse {
	t.Helper()
	response, err := container.CreateItem(ctx, key, encode(t, item), withBody)
	must(t, err)
	return response
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, got, want T, what string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// fails checks status and code of an error answer and returns it.
func fails(t testing.TB, err error, status int, code string) *azcore.ResponseError {
	t.Helper()
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		t.Fatalf("want an error answer %d, got %v", status, err)
	}
	equal(t, response.StatusCode, status, "status")
	// The SDK puts the status line into ErrorCode; what the service said stands in the text.
	if !strings.Contains(err.Error(), code) {
		t.Fatalf("%q is missing in %v", code, err)
	}
	return response
}

func substatus(response *azcore.ResponseError) string {
	return response.RawResponse.Header.Get("x-ms-substatus")
}

func ptr[T any](value T) *T { return &value }
