// A cancel ends the turn and what waits behind it, in its session alone.
import assert from 'node:assert/strict';
import { cards, methods, selected, withAgent } from './connect.mjs';

let asked = () => {};
const never = new Promise(() => {});
const on = {
  [methods.client.session.requestPermission]: ({ toolCall }) => {
    asked();
    return toolCall.title.includes('never answered') ? never : selected('allow_once');
  },
};
const running = (u) => u.status === 'in_progress';

await withAgent({ on }, async (client) => {
  const session = await client.open();
  const other = await client.open();
  const turn = client.prompt(session, 'bash sleep 60');
  const queued = client.prompt(session, 'queued');
  const elsewhere = client.prompt(other, 'bash sleep 1; echo elsewhere is done');
  await Promise.all([client.until(session, running), client.until(other, running)]);
  await client.cancel(session);
  assert.equal((await turn).stopReason, 'cancelled');
  assert.equal((await queued).stopReason, 'cancelled');
  assert.equal((await elsewhere).stopReason, 'end_turn');
  assert.deepEqual(cards(client.of(session)).map((c) => c.status), ['failed']);

  // A question that is open when the cancel comes is withdrawn.
  const open = new Promise((resolve) => (asked = resolve));
  const waiting = client.prompt(session, 'bash echo never answered');
  await open;
  await client.cancel(session);
  assert.equal((await waiting).stopReason, 'cancelled');

  await client.cancel(session); // of nothing
  await client.say(session, 'and on it goes');
});
