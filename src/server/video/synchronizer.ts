import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Looks } from './looks.ts';
import type { NextLook, Task, TaskStore } from './store.ts';

export interface SynchronizerParts {
  readonly store: Pick<TaskStore, 'claimDue' | 'schedule' | 'hasten'>;
  readonly looks: Pick<Looks, 'look' | 'endsBy'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** Looks under way at once per channel; default `LOOKS_AT_ONCE`. */
  readonly perChannel?: number;
}

interface Lane {
  readonly waiting: Task[];
  running: number;
  /** Failed looks in a row of this channel. */
  failures: number;
  restsUntil: number;
}

/** Per channel; the others wait for their turn. */
export const LOOKS_AT_ONCE = 96;
const CLAIM = 500;
/** Claimed and not yet looked at; more is not claimed, so that other processes can. */
const MAX_WAITING = 2_000;
const TICK_MS = 250;
/** A process that died with claimed tasks holds them up for two periods, and never for less than this. */
const LEAST_LEASE_MS = 5_000;
const MAX_REST_MS = 5 * 60_000;
/** Nothing is put off for longer than this and a few periods. */
const LONGEST_WAIT_MS = 2 * MAX_REST_MS;

/**
 * Looks at unfinished tasks about once a period each. Due tasks are claimed in batches, spread over one lane per channel
 * with a bound each, so that a slow or failing channel delays nobody but itself; a failing one backs off by itself.
 */
export class Synchronizer {
  readonly #parts: SynchronizerParts;
  readonly #lanes = new Map<number, Lane>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  #waiting = 0;
  /** Claimed here and not finished: until when, by `seq`. */
  readonly #leases = new Map<number, number>();
  /** Results waiting to be written together. */
  #results = new NextLooks();

  constructor(parts: SynchronizerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.tick(), TICK_MS);
  }

  /** Claims what is due and starts looks; safe to call at any time. */
  async tick(): Promise<void> {
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#claiming = true;
    try {
      await this.#writeBack();
      const { store, clock, periodMs } = this.#parts;
      while (this.#waiting < MAX_WAITING) {
        const due = await store.claimDue(clock.now(), Math.max(2 * periodMs, LEAST_LEASE_MS), CLAIM);
        for (const task of due) this.#enqueue(task);
        if (due.length < CLAIM) break;
      }
    } catch (error) {
      this.#parts.log.error({ err: error }, 'the synchronizer could not claim tasks');
    } finally {
      this.#claiming = false;
    }
  }

  /** Finds tasks that wait for a time far away, as after a clock was set back; called now and then. */
  async sweep(): Promise<void> {
    const { store, clock, periodMs } = this.#parts;
    const now = clock.now();
    await store.hasten(now, now + LONGEST_WAIT_MS + 4 * periodMs);
  }

  /** Resolves when nothing is waiting or under way; for tests and an orderly stop. */
  async idle(): Promise<void> {
    while (this.#waiting > 0 || [...this.#lanes.values()].some((lane) => lane.running > 0))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#writeBack();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    // What was claimed and not looked at is due again at once for whoever comes next.
    const unseen = [...this.#lanes.values()].flatMap((lane) => lane.waiting.splice(0));
    this.#waiting = 0;
    for (const { seq } of unseen) this.#finish(seq, { at: this.#parts.clock.now(), rested: false });
    await this.idle();
  }

  #enqueue(task: Task): void {
    // What outlasts its lease is due again while it still waits or runs; claimed again, it goes on under the new lease.
    const isUnderWay = this.#leases.has(task.seq);
    this.#leases.set(task.seq, task.next_poll_at ?? 0);
    if (isUnderWay) return;
    const lane = this.#laneOf(task);
    lane.waiting.push(task);
    this.#waiting += 1;
    this.#drain(lane);
  }

  #laneOf(task: Task): Lane {
    const key = task.channel_id ?? 0;
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane: Lane = { waiting: [], running: 0, failures: 0, restsUntil: 0 };
    this.#lanes.set(key, lane);
    return lane;
  }

  #drain(lane: Lane): void {
    const { clock, looks, perChannel = LOOKS_AT_ONCE } = this.#parts;
    while (lane.running < perChannel) {
      const task = lane.waiting.shift();
      if (task === undefined) return;
      this.#waiting -= 1;
      const now = clock.now();
      // A process that stood still must not look at what others have taken over meanwhile.
      if (now >= (this.#leases.get(task.seq) ?? 0)) {
        this.#leases.delete(task.seq);
        continue;
      }
      // A channel's rest puts nobody's deadline off: what is set aside for the task would stay so as long.
      const endsBy = looks.endsBy(task);
      if (now < Math.min(lane.restsUntil, endsBy)) {
        this.#finish(task.seq, { at: Math.min(lane.restsUntil, endsBy), rested: true });
        continue;
      }
      lane.running += 1;
      void this.#look(lane, task, now);
    }
  }

  async #look(lane: Lane, task: Task, startedAt: number): Promise<void> {
    const { looks, log, periodMs, clock } = this.#parts;
    const next = { at: startedAt + periodMs, rested: false };
    try {
      const result = await looks.look(task, this.#stopping.signal);
      if (result === 'failed') {
        lane.failures += 1;
        // A single failed look waits a period like any other; a channel that keeps failing rests longer and longer.
        if (lane.failures >= 5)
          lane.restsUntil =
            clock.now() + Math.min(MAX_REST_MS, periodMs * 2 ** Math.min(10, Math.floor(lane.failures / 5) - 1));
      } else {
        lane.failures = 0;
        lane.restsUntil = 0;
      }
      if (result === 'ended') this.#leases.delete(task.seq);
      else this.#finish(task.seq, next);
    } catch (error) {
      log.error({ err: error, taskId: task.id }, 'a look could not be applied');
      this.#finish(task.seq, next);
    } finally {
      lane.running -= 1;
      this.#drain(lane);
    }
  }

  #finish(seq: number, next: { readonly at: number; readonly rested: boolean }): void {
    const lease = this.#leases.get(seq);
    this.#leases.delete(seq);
    if (lease !== undefined) this.#results.add(seq, { ...next, lease });
  }

  async #writeBack(): Promise<void> {
    const results = this.#results;
    this.#results = new NextLooks();
    for (const [next, seqs] of results.all()) await this.#parts.store.schedule(seqs, next);
  }
}

/** Next looks are rounded to a tick and kept by what they have in common, so that thousands of them make few writes. */
class NextLooks {
  readonly #byNext = new Map<string, readonly [NextLook, number[]]>();

  add(seq: number, { at, lease, rested }: NextLook): void {
    const next = { at: Math.ceil(at / TICK_MS) * TICK_MS, lease, rested };
    const key = `${next.at} ${lease} ${rested}`;
    const known = this.#byNext.get(key);
    if (known === undefined) this.#byNext.set(key, [next, [seq]]);
    else known[1].push(seq);
  }

  all(): Iterable<readonly [NextLook, readonly number[]]> {
    return this.#byNext.values();
  }
}
