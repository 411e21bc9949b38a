import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'quickstart.ts');
const folder = mkdtempSync(join(tmpdir(), 'rg-quickstart-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The running script and its output so far. */
class Quickstart {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  output = '';

  constructor(...args: string[]) {
    const env = { ...process.env, PORT: '34070' };
    this.#child = spawn(process.execPath, [SCRIPT, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.output += chunk;
      });
  }

  /** Resolves with the first capture group of the pattern once the output matches. */
  async waitFor(pattern: RegExp): Promise<string> {
    for (;;) {
      const [, group] = pattern.exec(this.output) ?? [];
      if (group !== undefined) return group;
      assert.equal(this.#child.exitCode, null, this.output);
      await Promise.race([delay(50), this.#exited]);
    }
  }

  async end(signal?: 'SIGINT'): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    await this.#exited;
    return this.#child.exitCode;
  }
}

it('the quickstart generates a video, opens a mailbox, and restarts after root has changed the password', async () => {
  const first = new Quickstart();
  await first.waitFor(/(The service is running)/);
  assert.ok(statSync(join(folder, 'data', 'first-video.mp4')).size > 1000);
  const url = await first.waitFor(/Console +(\S+)/);
  const password = await first.waitFor(/Sign in +root \/ (\S+)/);
  const login = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'root', password }),
  });
  const { data } = (await login.json()) as { data: { id: number } };
  const cookie = login.headers.getSetCookie().map((each) => each.split(';', 1)[0]);
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { cookie: cookie.join('; '), 'service-api-user': `${data.id}`, 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
    const result = (await response.json()) as { success: boolean; data: { email: string } };
    assert.equal(result.success, true, JSON.stringify(result));
    return result.data;
  };
  const phone = '+15550001234';
  await call('POST', '/api/user/bindings/phone/code', { phone });
  const code = await first.waitFor(/Text message to \+15550001234: your code is (\d+)/);
  await call('POST', '/api/user/bindings/phone', { phone, code });
  assert.match((await call('POST', '/api/user/mailbox/apply')).email, /^\S+@\S+$/);
  await call('PUT', '/api/user/self', { password: 'a-new-root-pass-1', original_password: password });
  await first.end('SIGINT');

  const second = new Quickstart('--exit');
  assert.equal(await second.end(), 0, second.output);
  assert.match(second.output, /Saved .*first-video\.mp4/);
});
