import { type CallFacts, priceCall } from '../../contract/price-calls-and-videos.ts';
import { isChatPrice, type Price, UnpricedError } from '../../contract/pricing.ts';
import type { RequestStatus } from '../../contract/request-kinds-and-statuses.ts';
import type { CallDetail } from '../quota/ledger.ts';
import type { BilledFacts } from '../vendors/adapter.ts';
import type { Task, TaskChange } from './task-store.ts';

/** What a task costs by, as it was when it was submitted. Prices that change later do not touch it. */
export interface TaskTerms {
  readonly price: Price;
  readonly facts: CallFacts;
}

export const formatTerms = (terms: TaskTerms): string => JSON.stringify(terms);

/** Undefined for a task from before terms were stored. */
export const parseTerms = (text: string): TaskTerms | undefined =>
  text === '' ? undefined : (JSON.parse(text) as TaskTerms);

export type LoggedTask = Pick<
  Task,
  'channel_id' | 'upstream_model' | 'pricing' | 'price' | 'client' | 'created_at' | 'error_code'
>;

/** What a finished video is charged by. */
export interface TaskCharge {
  readonly quota: number;
  readonly terms: TaskTerms | undefined;
}

/**
 * The charge of a finished video: what was reserved, or by the vendor's own figures where its price says so, never more. Without
 * such figures, or where they fit no line of the price, it is what was reserved.
 *
 * @param billed reads the vendor's figures
 */
export function toTaskCharge(
  { price: reserved, pricing }: Pick<Task, 'price' | 'pricing'>,
  billed: () => BilledFacts | undefined,
): TaskCharge {
  const terms = parseTerms(pricing);
  if (terms === undefined || isChatPrice(terms.price) || terms.price.settle_by !== 'vendor')
    return { quota: reserved, terms };
  const facts = { ...terms.facts, ...billed() };
  try {
    return { quota: Math.min(reserved, priceCall(terms.price, facts).quota), terms: { price: terms.price, facts } };
  } catch (error) {
    if (error instanceof UnpricedError || error instanceof RangeError) return { quota: reserved, terms };
    throw error;
  }
}

/** What the request log keeps of a video that ends. @param terms of its charge; undefined: nothing is charged */
export function toTaskDetail(
  task: LoggedTask,
  change: TaskChange,
  terms: TaskTerms | undefined,
  now: number,
): CallDetail {
  const status: RequestStatus = change.status === 'SUCCESS' ? 'ok' : 'failed';
  const seconds = terms?.facts.seconds;
  return {
    kind: 'video',
    servedModel: task.upstream_model,
    channelId: task.channel_id ?? 0,
    status,
    errorCode: status === 'ok' ? '' : (change.failure?.cause ?? 'upstream_error'),
    cachedTokens: 0,
    seconds: typeof seconds === 'number' ? seconds : 0,
    durationMs: Math.max(0, now - task.created_at),
    firstTokenMs: null,
    stream: false,
    client: task.client,
    price: terms === undefined ? '' : JSON.stringify(terms.price),
    facts: terms === undefined ? '' : JSON.stringify(terms.facts),
  };
}
