import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { toSafeRedirectPath } from './safe-redirect-path.ts';

const known = Object.getOwnPropertyDescriptor(globalThis, 'location');
before(() =>
  Object.defineProperty(globalThis, 'location', {
    value: { origin: 'https://console.example' },
    configurable: true,
  }),
);
after(() => {
  if (known === undefined) Reflect.deleteProperty(globalThis, 'location');
  else Object.defineProperty(globalThis, 'location', known);
});

it('T86: returns to own paths only', () => {
  for (const path of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/.\\/evil.example',
    'javascript:alert(1)',
    'studio',
    '',
    undefined,
    5,
  ])
    assert.equal(toSafeRedirectPath(path), '/studio', String(path));
  for (const path of ['/', '/videos?page=2#top', '/a//b', '/x?back=//evil.example'])
    assert.equal(toSafeRedirectPath(path), path);
});
