import type { AspectRatio, MediaFile } from './media.ts';

/** Phase of a job in vendor-independent terms; each simulator translates it to its own states. */
export type JobPhase = 'queued' | 'running' | 'succeeded' | 'failed' | 'filtered' | 'expired' | 'cancelled' | 'unknown';

/**
 * Outcome of a job, fixed when it starts.
 * - `succeed`; `fail`: the vendor's machines break down; `filtered`: the vendor's moderation rejects the result
 * - `expire`, `cancel`: the vendor gives up; `vanish`: the id becomes unknown
 * - `empty`: succeeds without an artifact; `strange`: an undocumented status; `stuck`: never ends
 */
export type JobOutcome =
  | 'succeed'
  | 'fail'
  | 'filtered'
  | 'expire'
  | 'cancel'
  | 'vanish'
  | 'empty'
  | 'strange'
  | 'stuck';

/** Durations of the phases, in milliseconds. */
export interface JobTiming {
  readonly queuedMs: number;
  readonly runningMs: number;
}

export const JOB_TIMINGS = {
  /** For manual use: long enough to see each state, short enough not to wait. */
  interactive: { queuedMs: 800, runningMs: 2_200 },
  /** For tests with a real clock. */
  fast: { queuedMs: 20, runningMs: 40 },
  /** For benchmarks: the first poll finds the job finished. */
  instant: { queuedMs: 0, runningMs: 0 },
} as const satisfies Record<string, JobTiming>;

/** A job to start. */
export interface NewJob {
  readonly prompt: string;
  /** The vendor's model name. */
  readonly model: string;
  /** The request as parsed by the vendor, for assertions and for simulators that echo it. */
  readonly input: unknown;
  /** The client's own id, if the vendor accepts one. */
  readonly externalId?: string;
  readonly shape?: AspectRatio;
  readonly audio?: boolean;
  readonly seconds?: number;
  /** Id in the vendor's format; default: a serial number. */
  readonly id?: string;
}

/** A job of a simulated vendor. */
export interface Job extends Required<Omit<NewJob, 'externalId'>> {
  readonly externalId: string | undefined;
  readonly createdAtMs: number;
  outcome: JobOutcome;
  /** Factor for the store's delays. */
  delayFactor: number;
  /** Number of earlier jobs of the same prompt. */
  readonly take: number;
  /** Number of polls of this job. */
  polls: number;
  /** The caller's image, which is shown first, once it was read. */
  image?: Buffer;
  /** The clip with that image in front. */
  film?: MediaFile;
}

/** A job's state at one moment. */
export interface JobSnapshot {
  readonly phase: JobPhase;
  /** Percent. */
  readonly progress: number;
  /** Whether the succeeded job has a file. */
  readonly hasArtifact: boolean;
}

const FINAL_PHASE: Readonly<Record<JobOutcome, JobPhase | undefined>> = {
  succeed: 'succeeded',
  empty: 'succeeded',
  fail: 'failed',
  filtered: 'filtered',
  expire: 'expired',
  cancel: 'cancelled',
  strange: 'unknown',
  vanish: undefined,
  stuck: 'running',
};

/** The jobs of one simulated vendor. States are computed from the clock; nothing runs in the background. */
export class JobStore {
  readonly #clock: SandboxClock;
  readonly #speed: JobTiming;
  readonly #byId = new Map<string, Job>();
  readonly #byExternalId = new Map<string, Job>();
  readonly #takes = new Map<string, number>();
  #count = 0;

  constructor(clock: SandboxClock, speed: JobTiming) {
    this.#clock = clock;
    this.#speed = speed;
  }

  create(job: NewJob, outcome: JobOutcome, slowness: number): Job {
    this.#count += 1;
    const take = this.#takes.get(job.prompt) ?? 0;
    this.#takes.set(job.prompt, take + 1);
    const made: Job = {
      shape: '16:9',
      audio: false,
      seconds: 5,
      ...job,
      id: job.id ?? String(1_000_000_000 + this.#count),
      externalId: job.externalId,
      createdAtMs: this.#clock.now(),
      outcome,
      delayFactor: slowness,
      take,
      polls: 0,
    };
    this.#byId.set(made.id, made);
    if (made.externalId !== undefined) this.#byExternalId.set(made.externalId, made);
    return made;
  }

  /** Undefined for an unknown id and for a vanished job. */
  find(id: string): Job | undefined {
    return this.#present(this.#byId.get(id));
  }

  findByExternalId(externalId: string): Job | undefined {
    return this.#present(this.#byExternalId.get(externalId));
  }

  snapshot(job: Job): JobSnapshot {
    const { queuedMs, runningMs } = this.#speed;
    const age = this.#clock.now() - job.createdAtMs;
    const queued = queuedMs * job.delayFactor;
    const running = runningMs * job.delayFactor;
    if (age < queued) return { phase: 'queued', progress: 0, hasArtifact: false };
    if (job.outcome === 'stuck') return { phase: 'running', progress: 50, hasArtifact: false };
    if (age < queued + running) {
      return { phase: 'running', progress: Math.floor((100 * (age - queued)) / running), hasArtifact: false };
    }
    return { phase: FINAL_PHASE[job.outcome] ?? 'failed', progress: 100, hasArtifact: job.outcome === 'succeed' };
  }

  /** End of a finished job, in Unix milliseconds. */
  finishedAtMs(job: Job): number {
    return job.createdAtMs + (this.#speed.queuedMs + this.#speed.runningMs) * job.delayFactor;
  }

  remove(id: string): boolean {
    const job = this.#byId.get(id);
    if (job?.externalId !== undefined) this.#byExternalId.delete(job.externalId);
    return this.#byId.delete(id);
  }

  all(): readonly Job[] {
    return [...this.#byId.values()];
  }

  #present(job: Job | undefined): Job | undefined {
    if (job?.outcome !== 'vanish') return job;
    const age = this.#clock.now() - job.createdAtMs;
    return age < this.#speed.queuedMs * job.delayFactor ? job : undefined;
  }
}

/** Unix milliseconds. */
export interface SandboxClock {
  now(): number;
}

/** A clock that only moves when advanced, so that a test decides when a job is finished. */
export interface ManualClock extends SandboxClock {
  advance(ms: number): void;
}

/** The system's clock. */
export const systemClock: SandboxClock = { now: () => Date.now() };

/**
 * @param startMs initial time in Unix milliseconds; default: the current time, so that token lifetimes are realistic
 */
export function manualClock(startMs: number = Date.now()): ManualClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
