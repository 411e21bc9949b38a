import { LRUCache } from 'lru-cache';
import type { Channel, Channels } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { VendorCalls } from './calls.ts';
import { cutBase64 } from './raw.ts';
import type { Task, TaskStore } from './store.ts';
import { CouldNotAsk } from './vendor.ts';
import type { Vendors } from './vendors.ts';

export interface RenewalParts {
  readonly store: TaskStore;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
}

/** `gone`: the vendor says it has no such video any more. `failed`: it could not be asked. */
export type Renewal = Task | 'gone' | 'failed';

/** A reader of the task waits no longer than this for a fresh address. */
const READER_WAIT_MS = 3_000;

/**
 * Signed addresses of finished videos run out while the vendor still has the video: it is asked again and the fresh
 * address kept, so that neither the task nor the next download shows the dead one. State and money never change here.
 */
export class Renewals {
  readonly #parts: RenewalParts;
  readonly #underWay = new Map<string, Promise<Renewal>>();
  /** When a task's vendor was last asked. */
  readonly #asked = new LRUCache<string, number>({ max: 10_000 });

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /** Asks the vendor now; one flight per task. */
  renew(task: Task): Promise<Renewal> {
    const present = this.#underWay.get(task.id);
    if (present !== undefined) return present;
    const flight = this.#ask(task).finally(() => this.#underWay.delete(task.id));
    this.#underWay.set(task.id, flight);
    return flight;
  }

  /** The task, with a fresh address where the vendor's are known not to live as long as this one has. */
  async unexpired(task: Task): Promise<Task> {
    const { vendors, clock } = this.#parts;
    const life = vendors.get(task.vendor).addressLifeMs;
    if (life === undefined || task.status !== 'SUCCESS') return task;
    const now = clock.now();
    if (now - Math.max(task.finish_time, this.#asked.get(task.id) ?? 0) < life) return task;
    this.#asked.set(task.id, now);
    const late = new Promise<'failed'>((resolve) => setTimeout(resolve, READER_WAIT_MS, 'failed').unref());
    const renewed = await Promise.race([this.renew(task), late]);
    return typeof renewed === 'string' ? task : renewed;
  }

  async #ask(task: Task): Promise<Renewal> {
    const { channels, log } = this.#parts;
    const channel = task.channel_id === null ? undefined : await channels.byId(task.channel_id);
    if (channel === undefined || task.handle === null) return 'gone';
    try {
      return await this.#query(task, channel, task.handle);
    } catch (error) {
      if (!(error instanceof CouldNotAsk) && !(error instanceof OutboundError)) throw error;
      log.warn({ err: error, taskId: task.id }, 'a fresh address could not be asked for');
      return 'failed';
    }
  }

  async #query(task: Task, channel: Channel, handle: string): Promise<Renewal> {
    const { vendors, calls, store, clock, stopping } = this.#parts;
    const outcome = await vendors.get(task.vendor).query(JSON.parse(handle), calls.make(channel, stopping));
    if (outcome.state !== 'SUCCESS' || outcome.artifact === undefined)
      return outcome.state === 'FAILURE' ? 'gone' : 'failed';
    const fresh = {
      artifact: JSON.stringify(outcome.artifact),
      data: JSON.stringify(cutBase64(outcome.raw)),
      handle: outcome.handle === undefined ? handle : JSON.stringify(outcome.handle),
    };
    this.#asked.set(task.id, clock.now());
    if (fresh.artifact !== task.artifact || fresh.handle !== handle) await store.renew(task.id, fresh);
    return { ...task, ...fresh };
  }
}
