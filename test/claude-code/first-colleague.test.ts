import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { AdminClient } from '../admin-client.ts';
import { freePort } from '../device-auth/device-auth-fixture.ts';
import { Quickstart } from '../quickstart-process.ts';
import { ClaudeComputer, whyUnavailable } from './claude-computer.ts';

const MODEL = 'sandbox-claude';
const COLLEAGUE = { username: 'colleague', password: 'correct horse battery' };

/** The steps of docs/claude-code.md on a new server; nothing is typed twice and no key is copied. */
it('a new server, and a colleague at work in Claude Code', { skip: whyUnavailable() ?? false }, async (t) => {
  const startedAt = performance.now();
  const passed = (step: string) => t.diagnostic(`${step}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  const folder = mkdtempSync(join(tmpdir(), 'rg-first-colleague-'));
  const quickstart = new Quickstart(folder, await freePort());
  let computer: ClaudeComputer | undefined;
  try {
    const password = await quickstart.waitFor(/Sign in +root \/ (\S+)/);
    const url = await quickstart.waitFor(/Starting Reelgate at (\S+)/);
    passed('the server runs');
    const root = await new AdminClient(url).signIn({ username: 'root', password });
    await root.requestData('PUT', '/api/admin/settings/CLAUDE_CODE_MANAGED_SETTINGS', { value: { model: MODEL } });
    await root.requestData('POST', '/api/admin/users', { ...COLLEAGUE, quota: 100_000_000 });
    passed('the colleague has an account with credits');
    computer = new ClaudeComputer(`${url}/claude-code`);
    const colleague = await new AdminClient(url).signIn(COLLEAGUE);
    await computer.signIn((user_code) => colleague.requestData('POST', '/api/auth/device/approve', { user_code }));
    passed('the colleague is signed in');
    const { result } = await computer.ask('[call=Read] [chunks=3]');
    assert.equal(result, 'the light of');
    passed('Claude Code has used a tool and answered');
    const [logged] = await colleague.requestData<{ model: string; token_name: string }[]>('GET', '/api/requests');
    assert.deepEqual([logged?.model, logged?.token_name], [MODEL, 'Claude Code']);
  } finally {
    await computer?.remove();
    await quickstart.end('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  }
});
