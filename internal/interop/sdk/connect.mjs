// Starts the agent that $AGENT names and connects the official SDK, $ACP_SDK, to it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

export const acp = await import(pathToFileURL(process.env.ACP_SDK).href);
export const { methods } = acp;
export const workspace = process.cwd();

// withAgent hands op a Client and, when op is over, closes the agent's input: it must then end well.
export async function withAgent({ capabilities = {}, on = {} }, op) {
  const [program, ...args] = JSON.parse(process.env.AGENT);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const seen = new EventEmitter().setMaxListeners(0);
  const updates = [];
  const app = acp.client({ name: 'nimlet-interop' });
  for (const [method, answer] of Object.entries(on)) app.onRequest(method, ({ params }) => answer(params));
  app.onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params);
    seen.emit('update');
  });
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
    const about = await agent.request(methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: capabilities,
      clientInfo: { name: 'nimlet-interop', version: '1' },
    });
    await op(new Client(agent, about, updates, seen));
  });
  child.stdin.end();
  assert.deepEqual(await ended, [0, null]);
}

class Client {
  constructor(agent, about, updates, seen) {
    Object.assign(this, { agent, about, updates, seen });
  }

  request(method, params) {
    return this.agent.request(method, params);
  }

  async open() {
    const { sessionId } = await this.request(methods.agent.session.new, { cwd: workspace, mcpServers: [] });
    return sessionId;
  }

  prompt(sessionId, text) {
    return this.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  }

  // say prompts and returns the updates of that turn, which must end with end_turn.
  async say(sessionId, text) {
    const before = this.of(sessionId).length;
    assert.equal((await this.prompt(sessionId, text)).stopReason, 'end_turn');
    return this.of(sessionId).slice(before);
  }

  cancel(sessionId) {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  of(sessionId) {
    return this.updates.filter((u) => u.sessionId === sessionId).map((u) => u.update);
  }

  // until waits for an update of the session that satisfies ok.
  async until(sessionId, ok) {
    while (!this.of(sessionId).some(ok)) await once(this.seen, 'update');
  }
}

// text joins what the agent said.
export function text(updates) {
  return updates.filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('');
}

// cards puts the updates of each tool call together.
export function cards(updates) {
  const byId = new Map();
  for (const u of updates) {
    if (u.sessionUpdate === 'tool_call') assert(!byId.has(u.toolCallId), 'a second tool_call of one id');
    if (u.sessionUpdate === 'tool_call' || u.sessionUpdate === 'tool_call_update') byId.set(u.toolCallId, { ...byId.get(u.toolCallId), ...u });
  }
  return [...byId.values()];
}

export function selected(optionId) {
  return { outcome: { outcome: 'selected', optionId } };
}
