import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  CredentialLineError,
  fitsOnLines,
  newRequestFormValues,
  parseCredentialLines,
  toUpstreamRequestBody,
} from './channel-form-values.ts';

it('one pair per line is parsed, and only changes are sent', () => {
  const draft = {
    modelMapping: 'gpt-4o = vendor/gpt-4o\n\n chat=chat-v2 ',
    extraHeaders: 'X-Key: a:b\nx-empty:',
    proxy: 'http://proxy:3128 ',
    shownProxy: '',
  };
  assert.deepEqual(toUpstreamRequestBody(draft), {
    model_mapping: { 'gpt-4o': 'vendor/gpt-4o', chat: 'chat-v2' },
    extra_headers: { 'X-Key': 'a:b', 'x-empty': '' },
    proxy: 'http://proxy:3128',
  });
  assert.deepEqual(toUpstreamRequestBody({ ...newRequestFormValues(), proxy: 'http://p', shownProxy: 'http://p' }), {
    model_mapping: {},
  });
});

const secret = (name: string) => ({ name, kind: 'secret' as const });
const KEY = { fields: [secret('api_key')] };
const PAIR = { fields: [secret('access_key'), secret('secret_key')] };

it('keys are pasted one per line; duplicates and empty lines are ignored', () => {
  assert.deepEqual(parseCredentialLines(' sk-1 \r\n\nsk-2\nsk-1\n', KEY), [{ api_key: 'sk-1' }, { api_key: 'sk-2' }]);
  assert.deepEqual(parseCredentialLines('a|b\nc, d\ne f', PAIR), [
    { access_key: 'a', secret_key: 'b' },
    { access_key: 'c', secret_key: 'd' },
    { access_key: 'e', secret_key: 'f' },
  ]);
  assert.deepEqual(parseCredentialLines('\n', KEY), []);
});

it('a line with too few or too many fields is reported by number', () => {
  for (const [text, scheme, line] of [
    ['sk-1\nsk-2 sk-3', KEY, 2],
    ['a|b\n\nc', PAIR, 3],
    ['a|b|c', PAIR, 1],
  ] as const)
    assert.throws(
      () => parseCredentialLines(text, scheme),
      (error) => error instanceof CredentialLineError && error.line === line,
      text,
    );
});

it('a service account cannot be written on one line', () => {
  assert.equal(fitsOnLines(KEY), true);
  assert.equal(fitsOnLines({ fields: [{ name: 'service_account', kind: 'json' }] }), false);
});
