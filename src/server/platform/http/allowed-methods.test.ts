import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AllowedMethods } from './server.ts';

describe('allowed methods of a path', () => {
  const methods = new AllowedMethods();
  methods.add('GET', '/api/tokens');
  methods.add(['POST', 'HEAD'], '/api/tokens');
  methods.add('DELETE', '/api/tokens/:id');
  methods.add('PUT', '/api/tokens/:id');
  methods.add('GET', '/api/tokens/all');
  methods.add('GET', '/assets/*');
  methods.add('GET', '/v1/a.b');
  methods.add('POST', '/v1beta/models/:model:generate');
  methods.add('GET', '/*');
  methods.add('GET', '*');

  for (const [path, expected] of [
    ['/api/tokens', ['GET', 'HEAD', 'POST']],
    ['/api/tokens/7', ['DELETE', 'PUT']],
    ['/api/tokens/all', ['DELETE', 'GET', 'PUT']],
    ['/api/tokens/', []],
    ['/api/tokens/7/x', []],
    ['/x/api/tokens/7', []],
    ['/assets/a/b.js', ['GET']],
    ['/assets', []],
    ['/v1/a.b', ['GET']],
    ['/v1/aXb', []],
    ['/', []],
    ['/anything', []],
  ] as const)
    it(`${path}: ${expected.join(', ') || 'none'}`, () => assert.deepEqual(methods.of(path), expected));
});
