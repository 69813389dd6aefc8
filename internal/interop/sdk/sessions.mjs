// Sessions are listed, switched, closed, found again by another process, and deleted.
import assert from 'node:assert/strict';
import { methods, text, withAgent, workspace } from './connect.mjs';

const { session } = methods.agent;
let first, second, said;

await withAgent({}, async (client) => {
  first = await client.open();
  second = await client.open();
  assert.notEqual(first, second);
  said = text(await client.say(first, 'to the first'));
  await client.say(second, 'to the second');
  assert.match(said, /to the first/);
  assert.doesNotMatch(text(client.of(second)), /to the first/);

  await client.request(session.setMode, { sessionId: first, modeId: 'plan' });
  await client.until(first, (u) => u.sessionUpdate === 'current_mode_update' && u.currentModeId === 'plan');
  const { configOptions } = await client.request(session.setConfigOption, { sessionId: second, configId: 'mode', value: 'plan' });
  assert.equal(configOptions[0].currentValue, 'plan');
  await assert.rejects(client.request(session.setMode, { sessionId: first, modeId: 'dance' }), { code: -32602 });

  const { sessions } = await client.request(session.list, { cwd: workspace });
  assert.deepEqual(sessions.map((s) => [s.sessionId, s.title]), [[second, 'to the second'], [first, 'to the first']]);
  await client.request(session.close, { sessionId: second });
  await assert.rejects(client.prompt(second, 'hello?'), { code: -32002 });
});

await withAgent({}, async (client) => {
  const open = { sessionId: first, cwd: workspace, mcpServers: [] };
  const { modes } = await client.request(session.load, open);
  assert.equal(modes.currentModeId, 'plan');
  assert.equal(text(client.of(first)), said);
  assert(client.of(first).some((u) => u.sessionUpdate === 'user_message_chunk' && u.content.text === 'to the first'));

  await client.request(session.resume, { ...open, sessionId: second });
  assert.equal(text(client.of(second)), '', 'resume shows nothing');
  await client.say(second, 'go on');

  await client.request(session.delete, { sessionId: first });
  await assert.rejects(client.request(session.load, open), { code: -32002 });
  const { sessions } = await client.request(session.list, {});
  assert.deepEqual(sessions.map((s) => s.sessionId), [second]);
});
