import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { Quickstart } from '../quickstart-process.ts';

const PORT = 34_070;
const folder = mkdtempSync(join(tmpdir(), 'rg-quickstart-'));
after(() => rmSync(folder, { recursive: true, force: true }));

it('the quickstart generates a video, opens a mailbox, and restarts after root has changed the password', async () => {
  const first = new Quickstart(folder, PORT);
  await first.waitFor(/(The service is running)/);
  assert.ok(statSync(join(folder, 'data', 'first-video.mp4')).size > 1000);
  const url = await first.waitFor(/Console +(\S+)/);
  const status = (await (await fetch(`${url}/api/status`)).json()) as {
    data: { prompt_model: string; default_video_model: string };
  };
  assert.equal(status.data.prompt_model, 'sandbox-chat', 'the studio offers to improve prompts');
  assert.equal(status.data.default_video_model, 'kling-v3', "the studio starts with the README's model");
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

  const second = new Quickstart(folder, PORT, '--exit');
  assert.equal(await second.end(), 0, second.output);
  assert.match(second.output, /Saved .*first-video\.mp4/);
});
