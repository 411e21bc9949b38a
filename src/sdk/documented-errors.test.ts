import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Endpoint } from '../contract/endpoint.ts';
import { ERRORS, type ErrorDefinition } from '../contract/error-codes.ts';
import { parseErrorResponse } from './errors.ts';

const contract = join(import.meta.dirname, '../contract');
const METHOD = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(?:async )?\*?(\w+)\([\s\S]*?\n {2}}\n/g;

async function loadEndpoints(): Promise<ReadonlyMap<string, Endpoint>> {
  const found = new Map<string, Endpoint>();
  for (const file of globSync('*.ts', { cwd: contract }).filter((name) => !name.includes('.test.')))
    for (const [name, value] of Object.entries((await import(join(contract, file))) as Record<string, unknown>))
      if (typeof value === 'object' && value !== null && 'envelope' in value) found.set(name, value as Endpoint);
  return found;
}

/** The code that a client reads from an error in the `api` envelope, whose older bodies have none. */
const codeInEnvelope = (code: keyof typeof ERRORS): string | undefined => {
  const { apiStatus, isCoded }: ErrorDefinition = ERRORS[code];
  const body = { success: false, message: 'Refused.', ...(isCoded === true && { code }) };
  return parseErrorResponse(apiStatus, new Headers(), body)?.code;
};

test('methods document only codes that their responses have', async () => {
  const endpoints = await loadEndpoints();
  let checked = 0;
  for (const file of globSync('*.ts', { cwd: import.meta.dirname }))
    for (const [method, comment = '', name] of readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(METHOD)) {
      const called = [...method.matchAll(/\w+/g)].flatMap(([word]) => endpoints.get(word) ?? []);
      if (!called.some(({ envelope }) => envelope === 'api')) continue;
      const [, promised = ''] = comment.split('@throws');
      for (const [, code = ''] of promised.matchAll(/`(\w+)`/g))
        if (Object.hasOwn(ERRORS, code)) {
          checked += 1;
          assert.equal(codeInEnvelope(code as keyof typeof ERRORS), code, `${file}: ${name}`);
        }
    }
  assert.ok(checked > 40, `${checked} codes`);
});
