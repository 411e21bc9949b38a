import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashToken } from '../platform/tokens.ts';
import { findAuthenticated, isRedirectUri, isRegisteredUri } from './clients.ts';

describe('the secret of a client', () => {
  const row = (secret: string, enabled: 0 | 1 = 1) =>
    ({ secret_hash: hashToken(secret), enabled, type: 'confidential' }) as const;

  it('may be any of its active ones, while the client is enabled', () => {
    const rows = [row('one'), row('two')];
    assert.equal(findAuthenticated({ clientSecret: 'one' }, rows), rows[0]);
    assert.equal(findAuthenticated({ clientSecret: 'two' }, rows), rows[1]);
    assert.equal(findAuthenticated({ clientSecret: 'three' }, rows), undefined);
    assert.equal(findAuthenticated({ clientSecret: 'one' }, []), undefined);
    assert.equal(findAuthenticated({ clientSecret: 'one' }, [row('one', 0)]), undefined);
    for (const clientSecret of [undefined, '']) {
      assert.equal(findAuthenticated({ clientSecret }, rows), undefined);
      assert.equal(findAuthenticated({ clientSecret }, [{ ...row('one'), secret_hash: null }]), undefined);
    }
  });

  it('is absent from a public client', () => {
    const rows = [{ secret_hash: null, enabled: 1, type: 'public' }] as const;
    assert.equal(findAuthenticated({ clientSecret: undefined }, rows), rows[0]);
    assert.equal(findAuthenticated({ clientSecret: 'one' }, rows), undefined);
    assert.equal(findAuthenticated({ clientSecret: undefined }, [{ ...rows[0], enabled: 0 }]), undefined);
  });
});

describe('redirect URIs', () => {
  it('may be registered with https, on loopback, and with the scheme of an app', () => {
    for (const uri of [
      'https://app.example/cb',
      'https://app.example:8443/cb?tenant=1',
      'http://127.0.0.1/cb',
      'http://[::1]:3000',
      'http://localhost/',
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'com.example.app:/cb',
    ])
      assert.equal(isRedirectUri(uri), true, uri);
    for (const uri of [
      '',
      'app.example/cb',
      '/cb',
      '//app.example/cb',
      'http://app.example/cb',
      'http://127.0.0.1.evil.example/cb',
      'http://127.0.0.1@evil.example/cb',
      'http://localhost:0/cb',
      'https://user@app.example/cb',
      'https://app.example/cb#part',
      'https://*.app.example/cb',
      'https://app.example\\@evil.example/cb',
      'https://app.example/c b',
      'https://app.example/cb\n',
      'https://äpp.example/cb',
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
    ])
      assert.equal(isRedirectUri(uri), false, uri);
  });

  it('match character by character, except for the port of a loopback address', () => {
    const registered = ['https://app.example/cb', 'http://127.0.0.1/cb', 'http://localhost:1/cb', 'http://[::1]'];
    for (const uri of [
      ...registered,
      'http://127.0.0.1:49152/cb',
      'http://localhost/cb',
      'http://localhost:65535/cb',
      'http://[::1]:8080',
    ])
      assert.equal(isRegisteredUri(registered, uri), true, uri);
    for (const uri of [
      '',
      'https://app.example/cb/',
      'https://app.example/CB',
      'https://APP.example/cb',
      'https://app.example:443/cb',
      'https://app.example/cb?x',
      'https://app.example/cb#x',
      'https://app.example/cb/../evil',
      'https://app.example/%63b',
      'https://app.example.evil.example/cb',
      'https://app.example@evil.example/cb',
      'https://evil.example/https://app.example/cb',
      'http://app.example/cb',
      'http://127.0.0.1:80/cb/',
      'http://127.0.0.1:80/cb?x',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:0/cb',
      'http://127.0.0.1:80@evil.example/cb',
      'http://127.0.0.2/cb',
      'http://127.1/cb',
      'http://0x7f000001/cb',
      'http://[::1]:8080/cb',
      'http://[0:0:0:0:0:0:0:1]',
      'http://LOCALHOST/cb',
      'https://localhost:1/cb',
      'http://localhost.evil.example/cb',
    ])
      assert.equal(isRegisteredUri(registered, uri), false, uri);
    assert.equal(isRegisteredUri([], 'http://127.0.0.1/cb'), false);
  });
});
