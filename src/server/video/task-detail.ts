import type { CallFacts } from '../../contract/call-facts.ts';
import type { Price } from '../../contract/pricing.ts';
import type { RequestStatus } from '../../contract/requests.ts';
import type { CallDetail } from '../quota/ledger.ts';
import type { Task, TaskChange } from './store.ts';

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
  'channel_id' | 'upstream_model' | 'pricing' | 'client' | 'created_at' | 'error_code'
>;

/** What the request log keeps of a video that ends. */
export function toTaskDetail(task: LoggedTask, change: TaskChange, now: number): CallDetail {
  const terms = change.status === 'SUCCESS' ? parseTerms(task.pricing) : undefined;
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
    startedAt: task.created_at,
    price: terms === undefined ? '' : JSON.stringify(terms.price),
    facts: terms === undefined ? '' : JSON.stringify(terms.facts),
  };
}
