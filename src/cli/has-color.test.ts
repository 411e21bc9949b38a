import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasColor } from './output.ts';

test('colours: FORCE_COLOR takes precedence over NO_COLOR, and both over the terminal', () => {
  const terminal = { isTTY: true, hasColors: () => true } as const;
  assert.equal(hasColor(terminal, {}), true);
  assert.equal(hasColor({}, {}), false);
  assert.equal(hasColor({ isTTY: true, hasColors: () => false }, {}), false, 'TERM=dumb');
  assert.equal(hasColor(terminal, { NO_COLOR: '1' }), false);
  assert.equal(hasColor(terminal, { NO_COLOR: '' }), true, 'no-color.org: empty counts as absent');
  assert.equal(hasColor({}, { FORCE_COLOR: '1', NO_COLOR: '1' }), true);
  assert.equal(hasColor(terminal, { FORCE_COLOR: '0' }), false);
});
