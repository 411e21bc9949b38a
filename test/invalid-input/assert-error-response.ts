import assert from 'node:assert/strict';
import type { Endpoint } from '../../src/contract/endpoint.ts';

/** Asserts that an error response states the problem in the format of its endpoint and reveals no internals. */
export function assertErrorResponse(
  { envelope, method, path }: Endpoint,
  status: number,
  text: string,
  sent: string,
): void {
  const where = `${method} ${path} after ${sent}: ${status} ${text.slice(0, 300)}`;
  assert.ok(status < 500, where);
  // Pages and lists of a megabyte are not error messages.
  assert.doesNotMatch(
    text.slice(0, 20_000),
    /\bat .*\.(ts|js):\d+|node_modules|SQLITE_|sqlite3|syntax error at or near|TypeError/,
    where,
  );
  if (status < 400 || envelope === 'page') return;
  assert.doesNotMatch(text.slice(0, 20), /^\s*</, where);
  const body = JSON.parse(text) as Record<string, unknown>;
  const said = {
    api: () => body.success === false && typeof body.message === 'string' && body.message !== '',
    device: () => body.success === false && typeof body.error === 'string',
    oauth: () => typeof body.error === 'string',
    'claude-code-oauth': () => typeof body.error === 'string',
    mcp: () => body.jsonrpc === '2.0' && typeof (body.error as { code?: unknown } | undefined)?.code === 'number',
    video: () => typeof body.code === 'string' && typeof body.message === 'string',
    // These endpoints use the short form for a task that does not exist.
    'openai-video': () => typeof body.code === 'string' && (typeof body.error === 'object' || body.data === null),
    kling: () => typeof body.code === 'number' && typeof body.message === 'string' && body.data === null,
    jimeng: () => typeof body.code === 'number' || typeof body.ResponseMetadata === 'object',
    anthropic: () => isAnthropicError(body),
    'claude-code': () => isAnthropicError(body),
    // On /v1 a path that names none of Google's methods is answered in the format of its prefix.
    gemini: () =>
      typeof (body.error as { status?: unknown } | undefined)?.status === 'string' ||
      (path.startsWith('/v1/') && status === 404 && isModelError(body)),
    model: () => isModelError(body),
  }[envelope];
  assert.ok(said(), where);
}

const isAnthropicError = ({ type, error }: Record<string, unknown>): boolean =>
  type === 'error' && typeof (error as { message?: unknown } | undefined)?.message === 'string';

const isModelError = ({ error }: Record<string, unknown>): boolean =>
  typeof (error as { message?: unknown } | undefined)?.message === 'string';
