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

it('masks keys, signatures and passwords of URLs, and nothing else of them', () => {
  const secret = 'abc123def456';
  for (const [before, after] of [
    ['api_key', '&page=2'],
    ['X-Goog-Api-Key', ' failed'],
    ['apikey', ''],
    ['X-Amz-Signature', '&x-id=GetObject'],
    ['X-Amz-Security-Token', ''],
    ['x-oss-signature', ''],
    ['auth_key', ''],
    ['client_secret', ''],
  ])
    assert.equal(
      maskSecrets(`GET https://cdn.example/a.mp4?v=1&${before}=${secret}${after}`),
      `GET https://cdn.example/a.mp4?v=1&${before}=[masked]${after}`,
    );
  assert.equal(
    maskSecrets(`no proxy at http://me:${secret}@proxy:3128/`),
    'no proxy at http://me:[masked]@proxy:3128/',
  );
  for (const text of ['https://a.example:8080/x?status_code=400&keyword=cat', 'at //a:b and c@d.example'])
    assert.equal(maskSecrets(text), text);
});

it('masks nothing behind a URL, so that JSON and markup stay readable', () => {
  for (const text of [
    '{"proxy":"http://a.example:8080","email":"x@y.example"}',
    '{"a":"http://a.example","b":"c@d.example"}',
    'see http://a.example:8080?email=a@b.example',
    'see http://a.example:8080#a@b',
  ])
    assert.equal(maskSecrets(text), text);
  const nested = JSON.stringify({ text: JSON.stringify({ url: 'https://a.example/?api_key=abc' }) });
  assert.equal(maskSecrets(nested), nested.replace('abc', '[masked]'));
  assert.equal(
    maskSecrets("<a href='https://a.example/?sig=abc'>a</a>"),
    "<a href='https://a.example/?sig=[masked]'>a</a>",
  );
});

it('masks megabytes in linear time, since upstreams quote what callers sent', () => {
  const startedAt = performance.now();
  for (const piece of ['eyJabcdefgh-', '&a-key', '?-', '://a:', '://:@', 'Bearer ', 'sk-', 'a:'])
    maskSecrets(piece.repeat(1_000_000 / piece.length));
  const ms = performance.now() - startedAt;
  assert.ok(ms < 5_000, `${ms} ms`);
});

it('T96: keeps one event on one line, whatever it contains', () => {
  const lines: string[] = [];
  openLog('info', { write: (line) => void lines.push(line) }).info({ path: 'a\r\n{"level":60}\u001b[2J' }, 'b\nc');
  assert.equal(lines.length, 1);
  assert.equal(lines[0]?.trimEnd().split(/[\r\n]/).length, 1);
  assert.ok(!lines[0]?.includes('\u001b'));
});
