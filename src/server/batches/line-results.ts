import { asObject, defined } from '../../contract/objects.ts';
import { toWellFormedText } from '../platform/text.ts';
import type { LineEnd, LineUsage } from './batch-store.ts';

/** A response to the request of a line. */
export interface LineResponse {
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
}

/** Why a line was not sent, or its response is not known. */
export const LINE_ERRORS = {
  budget_reached: 'The budget of the batch does not cover this line. It was not sent.',
  batch_expired: 'The completion window ended before this line was sent.',
  batch_cancelled: 'The batch was cancelled before this line was sent.',
  interrupted: 'The service stopped while it waited for the response. The line was refunded and not sent again.',
  input_file_not_found: 'The input file was deleted before this line was sent.',
} as const;
/** A line that has no response. */
export type LineErrorCode = keyof typeof LINE_ERRORS;

interface LineIdentity {
  readonly batch_id: string;
  readonly line: number;
  readonly custom_id: string;
}

/** The line of an output or error file, as in OpenAI's Batch API. */
function toResult(
  { batch_id, line, custom_id }: LineIdentity,
  response: LineResponse | undefined,
  error: { readonly code: string; readonly message: string } | null,
): string {
  return toWellFormedText(
    JSON.stringify({
      id: `batch_req_${batch_id.slice('batch_'.length)}_${line}`,
      custom_id,
      response: response ? { status_code: response.status, request_id: response.requestId, body: response.body } : null,
      error,
    }),
  );
}

/** Result of a line without a response. */
export const toLineError = (line: LineIdentity, code: LineErrorCode): LineEnd => ({
  state: 'failed',
  result: toResult(line, undefined, { code, message: LINE_ERRORS[code] }),
});

/** Result of a line with a response; a failed video has status 200 and its reason in `error`. */
export function toLineEnd(
  line: LineIdentity,
  response: LineResponse,
  error: { readonly code: string; readonly message: string } | null = null,
): LineEnd {
  const isSuccess = response.status < 400 && error === null;
  return defined({
    state: isSuccess ? ('completed' as const) : ('failed' as const),
    result: toResult(line, response, error),
    usage: isSuccess ? usageOf(response.body) : undefined,
  });
}

const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;

/** The tokens of a response, by either of OpenAI's names. */
function usageOf(body: unknown): LineUsage | undefined {
  const usage = asObject(asObject(body)?.usage);
  if (usage === undefined) return undefined;
  const input = asObject(usage.input_tokens_details ?? usage.prompt_tokens_details);
  const output = asObject(usage.output_tokens_details ?? usage.completion_tokens_details);
  return {
    input_tokens: count(usage.input_tokens ?? usage.prompt_tokens),
    cached_tokens: count(input?.cached_tokens),
    output_tokens: count(usage.output_tokens ?? usage.completion_tokens),
    reasoning_tokens: count(output?.reasoning_tokens),
  };
}
