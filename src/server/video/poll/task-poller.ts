import { isTerminal } from '../../../contract/task-states.ts';
import type { CallOutcome, ChannelDirectory } from '../../channels/channel-directory-types.ts';
import type { Clock } from '../../platform/clock.ts';
import { DatabaseUnavailableError } from '../../platform/db/database-errors.ts';
import type { Database } from '../../platform/db/database-interface-and-options.ts';
import type { Log } from '../../platform/log.ts';
import { OutboundError } from '../../platform/outbound/outbound-types.ts';
import type { Tracing } from '../../platform/tracing/tracing-types.ts';
import type { Tables } from '../../tables.ts';
import { toChannelAndCredentialIds } from '../../upstreams/to-channel-and-credential-ids.ts';
import { PollFailed } from '../../upstreams/vendor-errors.ts';
import type { QueryOutcome } from '../../vendors/adapter-types.ts';
import { progressOf } from '../states.ts';
import type { TaskCompletion } from '../task-completion.ts';
import type { Task, TaskChange, TaskStore } from '../task-store.ts';
import { truncateBase64 } from '../truncate-base64.ts';
import { toFailure } from '../vendor-error-to-task-failure.ts';
import { videoSpanOptions } from '../video-span-options.ts';
import type { VideoUpstream, VideoUpstreams } from '../video-upstream-types.ts';

export interface TaskPollerDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly channels: Pick<ChannelDirectory, 'report'>;
  readonly upstreams: VideoUpstreams;
  readonly completion: TaskCompletion;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly syncPeriodMs: number;
  readonly ambiguousTtlMs: number;
  readonly taskTimeoutMs: number;
}

/** `changed`: something was written. `same`: nothing new. `failed`: the vendor could not be polled. `ended`: no more polls. */
export type PollResult = 'changed' | 'same' | 'failed' | 'ended';

/** Polls the vendor of one task, once, and applies the result. */
export class TaskPoller {
  readonly #dependencies: TaskPollerDependencies;
  constructor(dependencies: TaskPollerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * When a task ends whatever its vendor says, Unix milliseconds: `ambiguousTtlMs` after its creation while the vendor has not
   * confirmed it, `taskTimeoutMs` otherwise.
   */
  deadlineOf(task: Pick<Task, 'created_at' | 'handle'>): number {
    const { ambiguousTtlMs, taskTimeoutMs } = this.#dependencies;
    return task.created_at + (task.handle === null ? ambiguousTtlMs : taskTimeoutMs);
  }

  async poll(task: Task, signal: AbortSignal): Promise<PollResult> {
    const { upstreams, completion, clock, log } = this.#dependencies;
    if (isTerminal(task.status)) return 'ended';
    const isOverdue = clock.now() >= this.deadlineOf(task);
    const upstream = await upstreams.find(task);
    if (upstream === undefined) {
      await completion.fail(task, {
        cause: 'channel_removed',
        message: 'the channel that held this task was removed',
        code: 'channel_removed',
      });
      return 'ended';
    }
    if (!upstream.isConfirmed) return this.#recoverLostSubmit(task, upstream, isOverdue, signal);
    const result = await this.#query(task, upstream, signal).catch((error: unknown) => {
      // A result that can never be stored must not keep the reserved quota beyond the deadline.
      if (!isOverdue || error instanceof DatabaseUnavailableError) throw error;
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      return 'failed' as const;
    });
    // The vendor has just been polled once more, so a video that finished in time is never lost to the deadline.
    if (result !== 'ended' && isOverdue) {
      await completion.fail(task, { cause: 'timeout', message: 'the task did not finish in time', code: 'timeout' });
      return 'ended';
    }
    return result;
  }

  async #query(task: Task, upstream: VideoUpstream, signal: AbortSignal): Promise<PollResult> {
    const { channels, log, tracing } = this.#dependencies;
    let outcome: QueryOutcome;
    const startedAt = performance.now();
    const durationMs = (): number => performance.now() - startedAt;
    try {
      outcome = await tracing.trace(videoSpanOptions('poll', task), () =>
        upstream.call(signal, (adapter, handle, context) => adapter.query(handle, context)),
      );
    } catch (error) {
      if (!(error instanceof PollFailed) && !(error instanceof OutboundError))
        log.error({ err: error, taskId: task.id }, 'a poll failed by a fault of the adapter');
      else if (!signal.aborted)
        channels.report({
          ...toChannelAndCredentialIds(upstream.account),
          ...toOutcome(task.model, error),
          durationMs: durationMs(),
        });
      return 'failed';
    }
    channels.report({
      ...toChannelAndCredentialIds(upstream.account),
      model: task.model,
      outcome: 'ok',
      operation: 'poll',
      durationMs: durationMs(),
    });
    if (outcome.state === 'UNKNOWN')
      log.warn({ taskId: task.id, vendor: task.vendor }, 'the vendor reported an unknown state');
    return this.applyOutcome(task, outcome);
  }

  /** Writes the result of a poll; writes nothing where nothing changed. */
  async applyOutcome(task: Task, outcome: QueryOutcome): Promise<PollResult> {
    const progress = progressOf(outcome.state, outcome.progress);
    const ended = isTerminal(outcome.state);
    if (!ended && outcome.state === task.status && progress === task.progress && outcome.handle === undefined)
      return 'same';
    const change: TaskChange = {
      status: outcome.state,
      progress: Math.max(progress, ended ? 100 : Math.min(task.progress, 99)),
      data: JSON.stringify(truncateBase64(outcome.raw)),
      handle: outcome.handle === undefined ? undefined : JSON.stringify(outcome.handle),
      artifact: outcome.artifact === undefined ? undefined : JSON.stringify(outcome.artifact),
      ...(outcome.state === 'FAILURE' && { failure: toFailure(outcome.error) }),
    };
    const applied = await this.#dependencies.completion.apply(task, change);
    return ended ? 'ended' : applied ? 'changed' : 'same';
  }

  /** A submit whose response was lost: searched by our own id where the vendor can, failed after the deadline otherwise. */
  async #recoverLostSubmit(
    task: Task,
    upstream: VideoUpstream,
    isOverdue: boolean,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const { store, database, clock, completion, syncPeriodMs, log } = this.#dependencies;
    const hint = JSON.parse(task.find_task_hint ?? 'null');
    try {
      const handle = await upstream.call(signal, async (adapter, _, context) =>
        adapter.findTask?.({ taskId: task.id, hint }, context),
      );
      if (handle !== undefined) {
        const now = clock.now();
        await store.markAccepted(database.kysely, {
          id: task.id,
          attempt: task.attempt,
          public_id: task.public_id,
          handle: JSON.stringify(handle),
          data: task.data,
          now,
          next: now + syncPeriodMs,
        });
        return 'changed';
      }
    } catch (error) {
      log.warn({ err: error, taskId: task.id }, 'a lost submit could not be searched at its vendor');
      if (!isOverdue) return 'failed';
    }
    if (!isOverdue) return 'same';
    await completion.fail(task, {
      cause: 'unconfirmed',
      message: 'the vendor never confirmed this task',
      code: 'unconfirmed',
    });
    return 'ended';
  }
}

function toOutcome(model: string, error: PollFailed | OutboundError): Omit<CallOutcome, 'channelId' | 'credentialId'> {
  if (error instanceof OutboundError || error.error === undefined)
    return { model, outcome: 'unreachable', message: error.message, operation: 'poll' };
  const { reason, message, code, retryAfterMs } = error.error;
  return { model, outcome: reason, message, code, operation: 'poll', retryAfterMs };
}
