import { isTerminal } from '../../contract/states.ts';
import type { Channel, Channels } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseUnavailable } from '../platform/db/errors.ts';
import type { Log } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { Tables } from '../tables.ts';
import type { VendorCalls } from './calls.ts';
import type { Endings } from './endings.ts';
import { cutBase64 } from './raw.ts';
import { progressOf } from './states.ts';
import type { Task, TaskChange, TaskStore } from './store.ts';
import { CouldNotAsk, type Json, type QueryOutcome, type VendorError } from './vendor.ts';
import type { Vendors } from './vendors.ts';

export interface LookParts {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly endings: Endings;
  readonly clock: Clock;
  readonly log: Log;
  readonly syncPeriodMs: number;
  readonly ambiguousTtlMs: number;
  readonly taskTimeoutMs: number;
}

/** `changed`: something was written. `same`: nothing new. `failed`: the vendor could not be asked. `ended`: no more looks. */
export type LookResult = 'changed' | 'same' | 'failed' | 'ended';

/** Looks at one task at its vendor, once, and applies what it finds. */
export class Looks {
  readonly #parts: LookParts;
  constructor(parts: LookParts) {
    this.#parts = parts;
  }

  /** When a task ends whatever its vendor says, Unix milliseconds: one that was never confirmed soon, others late. */
  endsBy(task: Pick<Task, 'created_at' | 'handle'>): number {
    return task.created_at + (task.handle === null ? this.#parts.ambiguousTtlMs : this.#parts.taskTimeoutMs);
  }

  async look(task: Task, signal: AbortSignal): Promise<LookResult> {
    const { channels, endings, clock, log } = this.#parts;
    if (isTerminal(task.status)) return 'ended';
    const isLate = clock.now() >= this.endsBy(task);
    const channel = task.channel_id === null ? undefined : await channels.byId(task.channel_id);
    if (channel === undefined) {
      await endings.fail(task, 'the channel that held this task was removed', 'channel_removed');
      return 'ended';
    }
    if (task.handle === null) return this.#resolveLost(task, channel, isLate, signal);
    const result = await this.#ask(task, channel, task.handle, signal).catch((error: unknown) => {
      // An answer that cannot be kept, now or ever, holds nobody's money beyond the deadline.
      if (!isLate || error instanceof DatabaseUnavailable) throw error;
      log.error({ err: error, taskId: task.id }, 'a look could not be applied');
      return 'failed' as const;
    });
    // The vendor has just been asked once more, so the deadline never throws away a finished video.
    if (result !== 'ended' && isLate) {
      await endings.fail(task, 'the task did not finish in time', 'timeout');
      return 'ended';
    }
    return result;
  }

  async #ask(task: Task, channel: Channel, handle: string, signal: AbortSignal): Promise<LookResult> {
    const { vendors, calls, channels, log } = this.#parts;
    let outcome: QueryOutcome;
    try {
      outcome = await vendors.get(task.vendor).query(JSON.parse(handle), calls.make(channel, signal));
    } catch (error) {
      if (!(error instanceof CouldNotAsk) && !(error instanceof OutboundError))
        log.error({ err: error, taskId: task.id }, 'a look failed by our own fault');
      else if (!signal.aborted) channels.report(newsOf(channel.id, task.model, error));
      return 'failed';
    }
    channels.report({ channelId: channel.id, model: task.model, outcome: 'ok', during: 'look' });
    if (outcome.state === 'UNKNOWN')
      log.warn({ taskId: task.id, vendor: task.vendor }, 'the vendor answered with an unknown state');
    return this.apply(task, outcome);
  }

  /** Writes what a look found; nothing is written where nothing changed. */
  async apply(task: Task, outcome: QueryOutcome): Promise<LookResult> {
    const { endings } = this.#parts;
    const progress = progressOf(outcome.state, outcome.progress);
    const ended = isTerminal(outcome.state);
    if (!ended && outcome.state === task.status && progress === task.progress && outcome.handle === undefined)
      return 'same';
    const change: TaskChange = {
      status: outcome.state,
      progress: Math.max(progress, ended ? 100 : Math.min(task.progress, 99)),
      data: JSON.stringify(cutBase64(outcome.raw)),
      ...(outcome.handle === undefined ? {} : { handle: JSON.stringify(outcome.handle) }),
      ...(outcome.artifact === undefined ? {} : { artifact: JSON.stringify(outcome.artifact) }),
      ...(outcome.state === 'FAILURE' ? reasonOf(outcome.error) : {}),
    };
    const applied = await endings.apply(task, change);
    return ended ? 'ended' : applied ? 'changed' : 'same';
  }

  /** A submit whose answer was lost: looked up by our own id where the vendor can, else given up after a while. */
  async #resolveLost(task: Task, channel: Channel, isLate: boolean, signal: AbortSignal): Promise<LookResult> {
    const { vendors, calls, store, database, clock, endings, syncPeriodMs, log } = this.#parts;
    const vendor = vendors.get(task.vendor);
    let found: Json | undefined;
    let asked = vendor.lookup === undefined;
    if (vendor.lookup !== undefined) {
      try {
        found = await vendor.lookup(
          { taskId: task.id, hint: task.hint === null ? null : JSON.parse(task.hint) },
          calls.make(channel, signal),
        );
        asked = true;
      } catch (error) {
        log.warn({ err: error, taskId: task.id }, 'a lost submit could not be looked up');
      }
    }
    if (found !== undefined) {
      const now = clock.now();
      await store.accept(database.kysely, {
        id: task.id,
        attempt: task.attempt,
        public_id: task.public_id,
        handle: JSON.stringify(found),
        data: task.data,
        now,
        next: now + syncPeriodMs,
      });
      return 'changed';
    }
    if (!isLate) return asked ? 'same' : 'failed';
    await endings.fail(task, 'the vendor never confirmed this task', 'unconfirmed');
    return 'ended';
  }
}

const reasonOf = (error: VendorError | undefined): Pick<TaskChange, 'failReason' | 'errorCode'> => ({
  failReason:
    error === undefined || error.message === '' ? (error?.code ?? '') || 'the vendor gave no reason' : error.message,
  errorCode: error?.code ?? '',
});

function newsOf(channelId: number, model: string, error: CouldNotAsk | OutboundError) {
  if (error instanceof OutboundError || error.error === undefined)
    return { channelId, model, outcome: 'unreachable', message: error.message, during: 'look' } as const;
  const { reason, message, code, retryAfterMs } = error.error;
  return {
    channelId,
    model,
    outcome: reason,
    message,
    code,
    during: 'look',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  } as const;
}
