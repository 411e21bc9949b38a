import type { Insertable } from 'kysely';
import type { CallDetail, ClosedCall } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';

export type NewRequestRow = Required<Omit<Insertable<Tables['requests']>, 'seq'>>;

/** Prefix of video references; all others are model calls. */
const TASK_PREFIX = 'task_';

/** The row of a call that ended `now` (Unix milliseconds), by what its reservation and its end say of it. */
export const callToRequestRow = (closed: ClosedCall, now: number): NewRequestRow => {
  const { detail = abandonedDetail(closed, now), usage } = closed;
  return {
    ref: closed.ref,
    user_id: closed.userId,
    token_id: closed.tokenId ?? 0,
    channel_id: detail.channelId,
    kind: detail.kind,
    model: closed.model,
    served_model: detail.servedModel,
    status: detail.status,
    error_code: detail.errorCode,
    input_tokens: usage.promptTokens,
    cached_tokens: detail.cachedTokens,
    output_tokens: usage.completionTokens,
    seconds: detail.seconds,
    quota: closed.charged,
    reserved: closed.reserved,
    duration_ms: Math.round(detail.durationMs),
    first_token_ms: detail.firstTokenMs === null ? null : Math.round(detail.firstTokenMs),
    stream: detail.stream ? 1 : 0,
    client: detail.client,
    price: detail.price,
    facts: detail.facts,
    created_at: now,
  };
};

/** Its process died, and only the reservation is left of it. */
const abandonedDetail = ({ ref, model, isSettled, reservedAt }: ClosedCall, now: number): CallDetail => ({
  kind: ref.startsWith(TASK_PREFIX) ? 'video' : 'chat',
  servedModel: model,
  channelId: 0,
  status: isSettled ? 'ok' : 'failed',
  errorCode: isSettled ? '' : 'interrupted',
  cachedTokens: 0,
  seconds: 0,
  durationMs: Math.max(0, now - reservedAt),
  firstTokenMs: null,
  stream: false,
  client: '',
  price: '',
  facts: '',
});
