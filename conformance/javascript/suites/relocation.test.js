// The container goes from its first ranges to 16 and back to 2 while everything goes on.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect, sleep, useDatabase } from "../support.js";
import { Ranges, Work, rangesMax, rangesMin } from "../growth.js";

const owner = useDatabase();
const anotherClient = connect();
after(() => anotherClient.dispose());

// Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache.
const restMs = 1000;

async function moveRanges(ranges, work) {
  const steps = [];
  await sleep(restMs);
  for (const [move, goal] of [["grow", rangesMax], ["shrink", rangesMin]]) {
    while (!work.isOver && (await ranges.ids()).length !== goal) {
      await ranges[move]();
      steps.push((await ranges.ids()).length);
      await sleep(restMs);
    }
  }
  work.isOver = true;
  return steps;
}

const skip = process.env.ORRERY_GROWTH ? false : "takes half a minute: ORRERY_GROWTH=1 runs it";

test("nothing is lost, doubled or out of order while ranges split and merge", { skip }, async () => {
  const container = await owner.container();
  const other = anotherClient.database(owner.database.id).container(container.id);
  const work = new Work(container, other);
  await work.fill();
  const [steps] = await work.run(
    moveRanges(new Ranges(container), work),
    ...[0, 1, 2, 3].map((writer) => work.write(writer)),
    work.read(true),
    work.read(false),
    work.queryInOrder(),
    work.count(),
    work.queryOneKey(),
    work.follow(),
  );
  assert.equal(Math.max(...steps), rangesMax);
  assert.equal(steps.at(-1), rangesMin);
  await work.check();
  assert.ok(work.written > 100, `${work.written} writes`);
  console.log(steps, work.written, work.rounds);
  const { givenUp, repeated, ...rounds } = work.rounds;
  for (const [what, n] of Object.entries(rounds)) assert.ok(n > 0, what);
  assert.ok(repeated < rounds.changes / 2, `${repeated} of ${rounds.changes} changes came again`);
});
