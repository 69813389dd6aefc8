// Each option of a permission request means what it says, and no more.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cards, methods, selected, withAgent } from './connect.mjs';

let answer; // to the next question
const asked = [];
const on = {
  [methods.client.session.requestPermission]: (params) => {
    asked.push(params);
    return answer;
  },
};

await withAgent({ on }, async (client) => {
  const first = await client.open();
  const second = await client.open();
  // run has a command run; it was asked about, and ended so.
  const run = async (session, command, question, status) => {
    const before = asked.length;
    const [call] = cards(await client.say(session, `bash ${command}`));
    assert.equal(asked.length - before, question ? 1 : 0, `${command}: asked ${asked.length - before} times`);
    assert.equal(call.status, status, command);
    return asked.at(-1);
  };

  answer = selected('reject_once');
  const question = await run(first, 'touch rejected.txt', true, 'failed');
  assert.deepEqual(question.options.map((o) => [o.optionId, o.kind]), [
    ['allow_once', 'allow_once'],
    ['allow_session', 'allow_always'],
    ['allow_project', 'allow_always'],
    ['reject_once', 'reject_once'],
  ]);
  assert.equal(question.sessionId, first);
  assert.match(question.toolCall.title, /touch rejected\.txt/);

  answer = { outcome: { outcome: 'cancelled' } };
  await run(first, 'touch dismissed.txt', true, 'failed');
  answer = selected('no such option');
  await run(first, 'touch unknown.txt', true, 'failed');
  for (const name of ['rejected', 'dismissed', 'unknown']) assert(!existsSync(`${name}.txt`), name);

  answer = selected('allow_once');
  await run(first, 'touch once.txt', true, 'completed');
  await run(first, 'touch once.txt', true, 'completed');
  assert(existsSync('once.txt'));

  answer = selected('allow_session');
  await run(first, 'touch session.txt', true, 'completed');
  await run(first, 'touch session.txt', false, 'completed');
  await run(second, 'touch session.txt', true, 'completed');

  answer = selected('allow_project');
  await run(first, 'touch project.txt', true, 'completed');
  await run(second, 'touch project.txt', false, 'completed');

  // What deletes is asked about every time, so nothing that lasts is offered.
  answer = selected('allow_once');
  for (let i = 0; i < 2; i++) {
    const dangerous = await run(first, 'rm -f once.txt', true, 'completed');
    assert.deepEqual(dangerous.options.map((o) => o.optionId), ['allow_once', 'reject_once']);
  }
  assert(!existsSync('once.txt'));
});
