import type { Static } from 'typebox';
import type { AdminRequestRow, RequestRow } from '../../contract/request-log.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { RequestCursor } from './request-list-sort-and-cursor-store.ts';
import type { ListedRequest } from './request-store.ts';
import type { GroupFigures } from './statistics-store.ts';

/** Rows as they are shown. */
export type Present<R> = (rows: readonly ListedRequest[]) => Promise<readonly R[]>;

/** @param ref the name its owner knows: for videos the public id */
export const toRequest = (row: ListedRequest, ref: string): Static<typeof RequestRow> => ({
  ref,
  time: toSeconds(row.created_at),
  kind: row.kind,
  model: row.model,
  token_id: row.token_id,
  token_name: row.token_name ?? '',
  status: row.status,
  error_code: row.error_code,
  input_tokens: row.input_tokens,
  cached_tokens: row.cached_tokens,
  output_tokens: row.output_tokens,
  seconds: row.seconds,
  quota: row.quota,
  duration_ms: row.duration_ms,
  first_token_ms: row.first_token_ms,
  stream: row.stream === 1,
  client: row.client,
});

export const toAdminRequest = (row: ListedRequest, ref: string): Static<typeof AdminRequestRow> => ({
  ...toRequest(row, ref),
  user_id: row.user_id,
  channel_id: row.channel_id,
  served_model: row.served_model,
});

/** `1732300000000.17`, as `next` carries it back. */
export function parseCursor(text: string | undefined): RequestCursor | undefined {
  if (text === undefined) return undefined;
  const [createdAt, seq] = text.split('.');
  return { createdAt: Number(createdAt), seq: Number(seq) };
}
export const formatCursor = ({ created_at, seq }: Pick<ListedRequest, 'created_at' | 'seq'>): string =>
  `${created_at}.${seq}`;

export function toStatistics(group: GroupFigures) {
  const { requests, succeeded, cancelled } = group;
  const decided = requests - cancelled;
  return {
    key: String(group.key),
    name: group.name ?? '',
    requests,
    succeeded,
    success_rate: decided === 0 ? 1 : Math.round((succeeded / decided) * 10_000) / 10_000,
    p50_ms: group.p50,
    p95_ms: group.p95,
    first_token_p50_ms: group.firstP50,
    first_token_p95_ms: group.firstP95,
    quota: group.quota,
  };
}
