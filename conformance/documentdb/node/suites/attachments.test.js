// Attachments of documents, and the media that the server keeps for them.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { profile, withEveryVersion } from "../support.js";

const link = (id, more) => ({ id, contentType: "text/html", media: "http://elsewhere.invalid/", ...more });

const all = (iterator) =>
  new Promise((resolve, reject) => {
    iterator.toArray((error, rows) => (error ? reject(error) : resolve(rows)));
  });

withEveryVersion("attachments link to media", async (world) => {
  const [container] = await world.containers(1);
  const document = await world.call("createDocument", container, profile(1));
  const first = await world.call("createAttachment", document._self, link("first", { pages: 7 }));
  await world.call("createAttachment", document._self, link("second"));
  await assert.rejects(world.call("createAttachment", document._self, link("first")), { code: 409 });
  const replaced = await world.call("replaceAttachment", first._self, { ...first, pages: 8 });
  assert.equal(replaced._rid, first._rid);
  const upserted = await world.call("upsertAttachment", document._self, link("first", { pages: 9 }));
  assert.equal(upserted._rid, first._rid);
  assert.equal((await world.call("readAttachment", first._self)).pages, 9);
  const { client } = world;
  const listed = await all(client.readAttachments(document._self, { maxItemCount: 1 }));
  assert.deepEqual(listed.map((attachment) => attachment.id), ["first", "second"]);
  const query = { query: "SELECT VALUE a.id FROM a WHERE a.pages = @pages", parameters: [{ name: "@pages", value: 9 }] };
  assert.deepEqual(await all(client.queryAttachments(document._self, query)), ["first"]);
  await world.call("deleteAttachment", first._self);
  await assert.rejects(world.call("readAttachment", first._self), { code: 404 });
  await world.call("deleteDocument", document._self);
  await assert.rejects(all(client.readAttachments(document._self)), { code: 404 });
});

withEveryVersion("the server keeps media of attachments", async (world) => {
  const [container] = await world.containers(1);
  const document = await world.call("createDocument", container, profile(1));
  const bytes = (count, seed) => Buffer.from(Array.from({ length: count }, (_, n) => (n * 31 + seed) % 128));
  const send = (method, owner, content, options) =>
    world.call(method, owner, Readable.from([content.subarray(0, 1), content.subarray(1)]), options);
  const options = { slug: "cover", contentType: "image/jpeg" };
  const cover = await send("createAttachmentAndUploadMedia", document._self, bytes(200_000, 1), options);
  assert.equal(cover.id, "cover");
  assert.equal(await world.call("readMedia", cover.media), bytes(200_000, 1).toString());
  await send("updateMedia", cover.media, bytes(10, 2), { contentType: "text/plain" });
  assert.equal(await world.call("readMedia", cover.media), bytes(10, 2).toString());
  const again = await send("upsertAttachmentAndUploadMedia", document._self, bytes(20, 3), options);
  assert.equal(again._rid, cover._rid);
  assert.equal(await world.call("readMedia", again.media), bytes(20, 3).toString());
  const unknown = { slug: "other", contentType: "junt/test" };
  const refused = send("createAttachmentAndUploadMedia", document._self, bytes(1, 1), unknown);
  await assert.rejects(refused, { code: 400 });
  await world.call("deleteDocument", document._self);
  await assert.rejects(world.call("readMedia", cover.media), { code: 404 });
});
