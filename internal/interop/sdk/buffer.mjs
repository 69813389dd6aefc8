// What is read and edited is the text in the editor, when that is not saved.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { acp, cards, methods, text, withAgent, workspace } from './connect.mjs';

const path = join(workspace, 'a.txt');
const buffers = new Map([[path, 'alpha\nunsaved\n']]);
const on = {
  [methods.client.fs.readTextFile]: ({ path }) => {
    if (!buffers.has(path)) throw acp.RequestError.resourceNotFound(path);
    return { content: buffers.get(path) };
  },
  [methods.client.fs.writeTextFile]: ({ path, content }) => {
    buffers.set(path, content);
    return {};
  },
};

await withAgent({ capabilities: { fs: { readTextFile: true, writeTextFile: true } }, on }, async (client) => {
  const session = await client.open();
  assert.match(text(await client.say(session, 'read a.txt')), /unsaved/);
  const [call] = cards(await client.say(session, 'edit {"path":"a.txt","old_text":"unsaved","new_text":"edited"}'));
  assert.equal(call.status, 'completed');
  assert.equal(buffers.get(path), 'alpha\nedited\n');
  assert.equal(readFileSync(path, 'utf8'), 'alpha\nbeta\n', 'the file on disk is the editor\'s to save');

  // A file that the editor does not have open is written to disk.
  const [made] = cards(await client.say(session, 'write {"path":"new.txt","content":"new\\n"}'));
  assert.equal(made.status, 'completed');
  assert.equal(readFileSync('new.txt', 'utf8'), 'new\n');
});
