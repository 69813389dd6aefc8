// The SDK's own session helper sees a turn with tool calls, in order.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { cards, text, withAgent, workspace } from './connect.mjs';

await withAgent({}, async ({ agent, about }) => {
  assert.equal(about.protocolVersion, 1);
  assert.equal(about.agentInfo.name, 'nimlet');
  assert.equal(about.agentCapabilities.loadSession, true);
  await agent.buildSession(workspace).withSession(async (session) => {
    assert.equal(session.modes.currentModeId, 'act');
    const answer = session.prompt('read a.txt\ngrep beta\nedit {"path":"a.txt","old_text":"beta","new_text":"gamma"}');
    const updates = [];
    for (;;) {
      const message = await session.nextUpdate();
      if (message.kind === 'stop') {
        assert.equal(message.stopReason, 'end_turn');
        break;
      }
      updates.push(message.update);
    }
    assert.equal((await answer).stopReason, 'end_turn');
    const calls = cards(updates);
    assert.deepEqual(calls.map((c) => [c.name, c.kind, c.status]), [
      ['read', 'read', 'completed'],
      ['grep', 'search', 'completed'],
      ['edit', 'edit', 'completed'],
    ]);
    const diff = calls[2].content.find((c) => c.type === 'diff');
    assert.equal(diff.oldText, 'alpha\nbeta\n');
    assert.equal(diff.newText, 'alpha\ngamma\n');
    assert.match(text(updates), /beta/);
    assert(updates.some((u) => u.sessionUpdate === 'usage_update'));
  });
});
assert.equal(readFileSync('a.txt', 'utf8'), 'alpha\ngamma\n');
