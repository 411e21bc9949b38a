import assert from 'node:assert/strict';
import { createConfig, lint } from '@redocly/openapi-core';
import { BASE_URL } from './service-setup.ts';

/**
 * Redocly's recommended rules accept the service's document, except for two trailing slashes that the contract
 * requires.
 */
const config = await createConfig({ extends: ['recommended'] });
const problems = await lint({ ref: `${new URL(BASE_URL).origin}/openapi.json`, config });
const errors = problems
  .filter(({ severity }) => severity === 'error')
  .map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer ?? ''}`);
assert.deepEqual(errors.sort(), [
  'no-path-trailing-slash #/paths/~1api~1notifications~1',
  'no-path-trailing-slash #/paths/~1jimeng~1',
]);
