import assert from 'node:assert/strict';
import { it } from 'node:test';
import { maskSecrets, openLog } from './log.ts';
import { CREDENTIAL_PREFIX, randomToken } from './tokens.ts';

it('masks texts that resemble secrets, and values of secret keys anywhere in a line', () => {
  const lines: string[] = [];
  const log = openLog('trace', { write: (line) => void lines.push(line) });
  const secrets = Object.values(CREDENTIAL_PREFIX).map((prefix) => randomToken(prefix, 42));
  for (const secret of secrets) {
    for (const text of [`the key ${secret} is wrong`, `Bearer ${secret}`, `https://a.example/?key=${secret}&x=1`])
      assert.ok(!maskSecrets(text).includes(secret), text);
    const cause = new Error(`refused ${secret}`);
    log.error({ err: new Error(`at /x?token=${secret}`, { cause }) }, 'failed');
    log.warn({ password: secret, body: { refresh_token: secret, deep: { api_key: secret } } }, 'masked');
    log.info({ headers: { authorization: `Bearer ${secret}`, cookie: `session=${secret}` } }, 'masked');
  }
  const text = lines.join('');
  for (const secret of secrets) assert.ok(!text.includes(secret), secret.slice(0, 6));
  assert.ok(text.includes('[masked]'));
});

it('T96: keeps one event on one line, whatever it contains', () => {
  const lines: string[] = [];
  openLog('info', { write: (line) => void lines.push(line) }).info({ path: 'a\r\n{"level":60}\u001b[2J' }, 'b\nc');
  assert.equal(lines.length, 1);
  assert.equal(lines[0]?.trimEnd().split(/[\r\n]/).length, 1);
  assert.ok(!lines[0]?.includes('\u001b'));
});
