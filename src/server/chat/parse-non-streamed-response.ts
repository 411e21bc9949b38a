import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import type { CallResult } from './call-charge-reservation-and-settlement.ts';
import type { Dialect } from './dialect.ts';
import { findUsageInText } from './find-and-merge-usage.ts';
import { parseUsage } from './parse-usage.ts';
import { tryParse } from './try-parse-json.ts';

/** Longer vectors and pictures are not parsed as a whole, only searched for their usage. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** What came of a call that was not streamed. `failure`: an error in an envelope of HTTP 200. */
export function parseNonStreamedResponse(body: Buffer, dialect: Dialect): CallResult | 'malformed' | 'failure' {
  const text = body.toString('utf8');
  if (body.length > MAX_PARSED_BYTES && dialect.maxTokensKeys.length === 0) {
    if (!/^\s*\{/.test(text) || !text.trimEnd().endsWith('}')) return 'malformed';
    return { usage: findUsageInText(text), complete: true, text: () => '' };
  }
  const response = asObject(tryParse(text));
  if (response === undefined) return 'malformed';
  if (isErrorBody(response, dialect)) return 'failure';
  return {
    usage: parseUsage(dialect.findUsage(response)),
    complete: true,
    text: () => dialect.extractResponseText(response),
  };
}

/** Some gateways wrap their failures into HTTP 200, in envelopes of all sorts. */
const isErrorBody = (answer: UntrustedObject, { resultKey, refusalKey }: Dialect): boolean =>
  (answer.error !== undefined && answer.error !== null && answer.error !== '') ||
  answer.object === 'error' ||
  !(Object.hasOwn(answer, resultKey) || (refusalKey !== undefined && Object.hasOwn(answer, refusalKey)));
