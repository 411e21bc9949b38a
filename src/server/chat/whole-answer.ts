import type { Yield } from './charge.ts';
import type { Dialect } from './dialects.ts';
import { asObject, type Untrusted } from './untrusted.ts';
import { findUsage, tryParse, usageOf } from './usage.ts';

/** Longer vectors and pictures are not parsed as a whole, only searched for their usage. */
const PARSED_BYTES = 1024 * 1024;

/** What came of a call that was not streamed. `failure`: an error in an envelope of HTTP 200. */
export function readWhole(body: Buffer, dialect: Dialect): Yield | 'malformed' | 'failure' {
  const text = body.toString('utf8');
  if (body.length > PARSED_BYTES && dialect.bounds.length === 0) {
    if (!/^\s*\{/.test(text) || !text.trimEnd().endsWith('}')) return 'malformed';
    return { usage: findUsage(text), complete: true, text: () => '' };
  }
  const answer = asObject(tryParse(text));
  if (answer === undefined) return 'malformed';
  if (isFailure(answer, dialect)) return 'failure';
  return { usage: usageOf(answer), complete: true, text: () => dialect.textOfAnswer(answer) };
}

/** Some gateways wrap their failures into HTTP 200, in envelopes of all sorts. */
const isFailure = (answer: Untrusted, { yields }: Dialect): boolean =>
  (answer.error !== undefined && answer.error !== null && answer.error !== '') ||
  answer.object === 'error' ||
  !Object.hasOwn(answer, yields);
