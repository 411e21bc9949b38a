import assert from 'node:assert/strict';
import type { Endpoint } from '../../src/contract/endpoint.ts';

/** A failure says what is wrong, in the form of its address, and nothing of our insides. */
export function assertFailure({ envelope, method, path }: Endpoint, status: number, text: string, sent: string): void {
  const where = `${method} ${path} after ${sent}: ${status} ${text.slice(0, 300)}`;
  assert.ok(status < 500, where);
  assert.doesNotMatch(
    text,
    /\bat .*\.(ts|js):\d+|node_modules|SQLITE_|sqlite3|syntax error at or near|TypeError/,
    where,
  );
  if (status < 400 || envelope === 'page') return;
  const body = JSON.parse(text) as Record<string, unknown>;
  const said = {
    api: () => body.success === false && typeof body.message === 'string' && body.message !== '',
    device: () => body.success === false && typeof body.error === 'string',
    oauth: () => typeof body.error === 'string',
    video: () => typeof body.code === 'string' && typeof body.message === 'string',
    // A task that is not there has the short form at these addresses.
    'openai-video': () => typeof body.code === 'string' && (typeof body.error === 'object' || body.data === null),
    model: () => typeof (body.error as { message?: unknown } | undefined)?.message === 'string',
  }[envelope];
  assert.ok(said(), where);
}
