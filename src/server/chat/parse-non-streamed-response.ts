import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import type { CallResult } from './call-charge-reservation-and-settlement.ts';
import type { Dialect } from './dialect.ts';
import { findUsageInText, UsageTotals } from './find-and-merge-usage.ts';
import { parseUsage } from './parse-usage.ts';
import { tryParse } from './try-parse-json.ts';

/** Longer vectors and pictures are not parsed as a whole, only searched for their usage. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** What came of a call that was not streamed. `failure`: an error in an envelope of HTTP 200; `empty`: neither content nor figures. */
export function parseNonStreamedResponse(
  body: Buffer,
  dialect: Dialect,
): CallResult | 'malformed' | 'failure' | 'empty' {
  const text = body.toString('utf8');
  if (body.length > MAX_PARSED_BYTES && dialect.maxTokensKeys.length === 0) {
    if (!/^\s*\{/.test(text) || !text.trimEnd().endsWith('}')) return 'malformed';
    return { usage: findUsageInText(text), complete: true, text: () => '' };
  }
  const value = tryParse(text);
  if (Array.isArray(value) && dialect.refusalKey !== undefined) return parseChunks(value.map(asObject), dialect);
  const response = asObject(value);
  if (response === undefined) return 'malformed';
  if (isErrorBody(response, dialect)) return 'failure';
  if (dialect.isEmptyResponse?.(response) === true) return isTold(response) ? 'failure' : 'empty';
  return {
    usage: parseUsage(dialect.findUsage(response)),
    complete: true,
    text: () => dialect.extractResponseText(response),
  };
}

/** Google's streams of another form than events: a list of chunks, one of which may be an error. */
function parseChunks(
  chunks: readonly (UntrustedObject | undefined)[],
  dialect: Dialect,
): ReturnType<typeof parseNonStreamedResponse> {
  const told = chunks.filter((chunk) => chunk !== undefined);
  if (told.length < chunks.length || told.some((chunk) => isErrorBody(chunk, dialect))) return 'failure';
  if (told.every((chunk) => dialect.isPreamble?.(chunk) === true)) return 'empty';
  const usage = new UsageTotals();
  for (const chunk of told) usage.add(dialect.findUsage(chunk));
  return {
    usage: usage.usage,
    complete: true,
    text: () => told.map((chunk) => dialect.extractResponseText(chunk)).join(''),
  };
}

/** Whether a response without content gives an error in one of the forms that also stand beside content. */
function isTold({ base_resp: status, code, error_code: errorCode }: UntrustedObject): boolean {
  const { status_code: told } = asObject(status) ?? {};
  return [told, code, errorCode].some((each) => each !== undefined && each !== null && each !== 0 && each !== '');
}

/** Some gateways wrap their failures into HTTP 200, in envelopes of all sorts. */
const isErrorBody = (answer: UntrustedObject, { resultKey, refusalKey, failureMarker }: Dialect): boolean =>
  (failureMarker !== undefined && answer.status === failureMarker) ||
  (answer.error !== undefined && answer.error !== null && answer.error !== '') ||
  answer.object === 'error' ||
  !(Object.hasOwn(answer, resultKey) || (refusalKey !== undefined && Object.hasOwn(answer, refusalKey)));
