// Prompts that come while a turn runs are answered after it, in order.
import assert from 'node:assert/strict';
import { methods, selected, text, withAgent } from './connect.mjs';

const on = { [methods.client.session.requestPermission]: () => selected('allow_once') };

await withAgent({ on }, async (client) => {
  const session = await client.open();
  const order = [];
  const ask = async (prompt) => {
    assert.equal((await client.prompt(session, prompt)).stopReason, 'end_turn');
    order.push(prompt);
  };
  const prompts = ['bash sleep 1; echo one', 'two', 'three'];
  await Promise.all(prompts.map(ask));
  assert.deepEqual(order, prompts);
  const all = text(client.of(session));
  assert(all.indexOf('one') < all.indexOf('two') && all.indexOf('two') < all.indexOf('three'), all);
});
