import { defined } from '../../contract/omit-undefined.ts';
import type { AccountCaller } from '../platform/http/request-context.ts';
import type { RequestFilter } from './request-store.ts';

/** Filters as they arrive. */
export type FilterQuery = Pick<RequestFilter, 'model' | 'status' | 'kind'> & {
  readonly [Name in 'from' | 'to' | 'token_id' | 'user_id' | 'channel_id']?: string;
};

const toNumber = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const toMs = (seconds: string | undefined): number | undefined =>
  seconds === undefined ? undefined : Number(seconds) * 1_000;

export const toFilter = ({ model, status, kind, ...numbers }: FilterQuery): RequestFilter =>
  defined({
    model,
    status,
    kind,
    tokenId: toNumber(numbers.token_id),
    userId: toNumber(numbers.user_id),
    channelId: toNumber(numbers.channel_id),
    from: toMs(numbers.from),
    to: toMs(numbers.to),
  });

export const ownFilter = (query: FilterQuery, { userId }: AccountCaller): RequestFilter => ({
  ...toFilter(query),
  userId,
});
