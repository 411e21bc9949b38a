import assert from 'node:assert/strict';
import { it } from 'node:test';
import { toConfiguredTarget, toUntrustedHeaders, toUntrustedTarget } from './client.ts';

const policy = { allowedPrivateHosts: ['10.0.0.7:8080'], ports: new Set(['80', '443']) };

it('T49: a redirect never leads from https to http', () => {
  const from = new URL('https://files.example/a');
  for (const location of [
    'http://files.example/a',
    'http://other.example/',
    'HTTP://files.example/',
    'http:/a',
    'http:\\\\files.example',
  ])
    assert.throws(() => toUntrustedTarget(location, policy, from), { phase: 'blocked' }, location);
  for (const location of ['/b', '//other.example/b', 'https://other.example/'])
    assert.match(toUntrustedTarget(location, policy, from).origin, /^https:/, location);
  assert.equal(
    toUntrustedTarget('https://files.example/', policy, new URL('http://files.example/')).origin,
    from.origin,
  );
});

it('permits plain http only for private channels, and credentials in no URL', () => {
  assert.throws(() => toConfiguredTarget('http://api.example/', false), { phase: 'blocked' });
  assert.equal(toConfiguredTarget('http://api.example/x?y=1', true).path, '/x?y=1');
  for (const url of [
    'https://u:p@api.example/',
    'ftp://api.example/',
    'not a url',
    `https://a.example/${'x'.repeat(9_000)}`,
  ])
    assert.throws(() => toConfiguredTarget(url, true), { phase: 'blocked' }, url);
});

it('permits the allowed ports in untrusted URLs, and any port of a host that a private channel permits', () => {
  const target = (url: string) => {
    const { origin, path, isAllowedPrivateHost } = toUntrustedTarget(url, policy);
    return [origin, path, isAllowedPrivateHost];
  };
  assert.deepEqual(target('http://files.example/a?b=1#c'), ['http://files.example', '/a?b=1', false]);
  assert.deepEqual(target('https://files.example:80/'), ['https://files.example:80', '/', false]);
  assert.deepEqual(target('http://10.0.0.7:8080/x'), ['http://10.0.0.7:8080', '/x', true]);
  for (const url of [
    'http://files.example:8080/',
    'http://10.0.0.7:8081/',
    'https://u@files.example/',
    'https://:p@files.example/',
  ])
    assert.throws(() => target(url), { phase: 'blocked' }, url);
  const listed = { allowedPrivateHosts: ['inside.example:443'], ports: new Set<string>() };
  assert.equal(toUntrustedTarget('https://inside.example/', listed).isAllowedPrivateHost, true);
  assert.throws(() => toUntrustedTarget('http://inside.example/', listed), { phase: 'blocked' });
});

it('accepts URLs of up to 8,192 characters', () => {
  const url = (length: number) => `https://a.example/${'x'.repeat(length - 'https://a.example/'.length)}`;
  assert.equal(toConfiguredTarget(url(8_192), false).origin, 'https://a.example');
  assert.throws(() => toConfiguredTarget(url(8_193), false), /too long/);
});

it('sends untrusted hosts no header that could be a credential', () => {
  const own = { 'accept-encoding': 'identity', 'user-agent': 'reelgate' };
  assert.deepEqual(toUntrustedHeaders(), own);
  assert.deepEqual(
    toUntrustedHeaders({
      Range: 'bytes=0-',
      authorization: 'x',
      cookie: 'y',
      'user-agent': 'z',
      'accept-encoding': 'gzip',
    }),
    { Range: 'bytes=0-', ...own },
  );
});
