// Users and permissions as resources.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, ids, unique, useDatabase } from "../support.js";

const owner = useDatabase();
const things = () => `dbs/${owner.database.id}/colls/things`;
const newUser = async () => (await owner.database.users.create({ id: unique("user") })).user;

test("a user is created, read, listed, renamed and deleted", async () => {
  const { user, resource, statusCode } = await owner.database.users.create({ id: unique("user") });
  assert.equal(statusCode, 201);
  assert.equal(resource._permissions, "permissions/");
  assert.match(resource._self, /^dbs\/.+\/users\/.+\/$/);
  assert.equal((await user.read()).resource._rid, resource._rid);
  await fails(owner.database.users.create({ id: user.id }), 409);

  const name = unique("renamed");
  const { resource: renamed } = await user.replace({ id: name });
  assert.equal(renamed._rid, resource._rid);
  const { resources } = await owner.database.users.readAll().fetchAll();
  assert.ok(ids(resources).includes(name) && !ids(resources).includes(user.id));
  assert.equal((await owner.database.user(name).delete()).statusCode, 204);
  await fails(owner.database.user(name).read(), 404);
});

test("upsert creates then replaces a user", async () => {
  const id = unique("user");
  assert.equal((await owner.database.users.upsert({ id })).statusCode, 201);
  assert.equal((await owner.database.users.upsert({ id })).statusCode, 200);
});

test("a permission is created, read, listed, replaced and deleted", async () => {
  const user = await newUser();
  const body = { id: "p1", permissionMode: "read", resource: things() };
  const { permission, resource, statusCode } = await user.permissions.create(body);
  assert.equal(statusCode, 201);
  assert.match(resource._token, /^type=resource&ver=1/);
  assert.equal(resource.permissionMode.toLowerCase(), "read");
  assert.equal(resource.resource, things());
  assert.match(resource._self, /\/permissions\//);
  await fails(user.permissions.create(body), 409);

  assert.equal((await permission.replace({ ...body, permissionMode: "all" })).resource.permissionMode.toLowerCase(), "all");
  assert.equal((await user.permissions.upsert({ ...body, id: "p2", resource: `${things()}2` })).statusCode, 201);
  assert.deepEqual(ids((await user.permissions.readAll().fetchAll()).resources), ["p1", "p2"]);
  assert.equal((await permission.delete()).statusCode, 204);
  await fails(permission.read(), 404);
});

test("a permission can be limited to a partition key", async () => {
  const user = await newUser();
  const body = { id: "p1", permissionMode: "All", resource: things(), resourcePartitionKey: ["a"] };
  const { permission } = await user.permissions.create(body);
  assert.deepEqual((await permission.read()).resource.resourcePartitionKey, ["a"]);
  await user.permissions.create({ ...body, id: "p2", resourcePartitionKey: ["b"] });
  await fails(user.permissions.create({ ...body, id: "p3" }), 409);
});

test("invalid permissions are refused", async () => {
  const user = await newUser();
  const body = { id: "p1", permissionMode: "Read", resource: things() };
  await fails(user.permissions.create({ ...body, permissionMode: "Write" }), 400);
  await fails(user.permissions.create({ id: "p1", permissionMode: "Read" }), 400);
  await fails(user.permissions.create(body, { resourceTokenExpirySeconds: 86401 }), 400);
  await fails(user.permissions.create(body, { resourceTokenExpirySeconds: 5 }), 400);
  assert.deepEqual((await user.permissions.readAll().fetchAll()).resources, []);
});

test("a user takes its permissions along", async () => {
  const user = await newUser();
  await user.permissions.create({ id: "p1", permissionMode: "Read", resource: things() });
  await user.delete();
  await owner.database.users.create({ id: user.id });
  assert.deepEqual((await user.permissions.readAll().fetchAll()).resources, []);
});
