import type { ChannelCondition } from '../../contract/channels.ts';
import { accountKey, type ChannelAccount, isOfChannel } from '../upstreams/channel-account-key.ts';
import type { CallOutcome } from './channel-directory-types.ts';
import { SingleCallerFailureDetector } from './single-caller-failure-detector.ts';

/** How one kind of outcome counts. Kinds without a row say nothing about the channel, such as the caller's own errors. */
interface FailurePolicy {
  /** `account`: the whole channel. `model`: this model on this channel. */
  readonly scope: 'account' | 'model';
  /** Opens the circuit at the first failure, because an early retry cannot succeed. */
  readonly opensAtOnce: boolean;
  readonly initialOpenMs: number;
  readonly maxOpenMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const OVERLOAD_POLICY: FailurePolicy = {
  scope: 'model',
  opensAtOnce: false,
  initialOpenMs: 5 * SECOND,
  maxOpenMs: 5 * MINUTE,
};
const REFUSED_ACCOUNT_POLICY: FailurePolicy = {
  scope: 'account',
  opensAtOnce: true,
  initialOpenMs: MINUTE,
  maxOpenMs: 60 * MINUTE,
};

const FAILURE_POLICIES: Partial<Record<CallOutcome['outcome'], FailurePolicy>> = {
  rate: OVERLOAD_POLICY,
  capacity: OVERLOAD_POLICY,
  unreachable: { ...OVERLOAD_POLICY, scope: 'account' },
  auth: REFUSED_ACCOUNT_POLICY,
  billing: REFUSED_ACCOUNT_POLICY,
  model: { ...REFUSED_ACCOUNT_POLICY, scope: 'model' },
};

/** Failures weigh half after this long. */
const HALF_LIFE_MS = MINUTE;
/** Recent calls needed before a failure rate means anything: one error never opens a circuit. */
const MIN_CALLS = 5;
const FAILURE_RATE_THRESHOLD = 0.5;
/** The same for channels with little traffic, whose counts decay before they reach the minimum. */
const CONSECUTIVE_FAILURE_THRESHOLD = 5;
/** How long a trial call may take before the next one is let through. */
export const TRIAL_TIMEOUT_MS = 30 * SECOND;

const NONE: readonly string[] = [];

/** `closed`: calls go through. `open`: none is sent. `halfOpen`: one trial call at a time decides. */
export type CircuitState = 'closed' | 'open' | 'halfOpen';

export interface HealthView {
  /** Empty: the whole account. */
  readonly model: string;
  readonly state: CircuitState;
  readonly reason: string;
  /** Share of failures lately, 0 to 1. */
  readonly failureRate: number;
  /** Unix milliseconds; 0 unless open. */
  readonly openUntil: number;
}

/** The worst of several circuits: what holds for a call that needs all of them. */
export const worstOf = (states: readonly CircuitState[]): CircuitState =>
  states.includes('open') ? 'open' : states.includes('halfOpen') ? 'halfOpen' : 'closed';

/** A circuit that is open or half open, as all processes know it. */
export interface StoredCircuit {
  /** Empty: the whole account. */
  readonly model: string;
  readonly timesOpened: number;
  /** Unix milliseconds, as the next. */
  readonly openUntil: number;
  readonly trialUntil: number;
  readonly reason: string;
}

interface BreakerState {
  calls: number;
  failures: number;
  consecutiveFailures: number;
  decayedAt: number;
  /** Times opened in a row without a success between. */
  timesOpened: number;
  openUntil: number;
  /** Until then a trial call is in progress. */
  trialUntil: number;
  reason: string;
}

/**
 * One circuit breaker per account (a channel with one of its credentials) and one per model on it, fed by the calls of this process
 * (`SharedCircuits` joins those of all): a decaying failure rate opens it, each further opening lasts twice as long, and trial calls close it
 * again.
 */
export class CircuitBreakers {
  readonly #breakers = new Map<string, Map<string, BreakerState>>();
  /** Whether the newest call to an account that says something about the account itself succeeded. */
  readonly #newest = new Map<string, boolean>();
  readonly #evidence = new Map<string, SingleCallerFailureDetector>();

  /** @returns the models whose circuits this call opened, or closed after they were open; empty text stands for the whole channel */
  record(call: CallOutcome, now: number): readonly string[] {
    const policy = FAILURE_POLICIES[call.outcome];
    if (call.outcome === 'ok') return this.#recordSuccess(call, now);
    if (policy === undefined) return NONE;
    // Polling too often says nothing about submitting.
    if (call.operation === 'poll' && call.outcome === 'rate') return NONE;
    const key = accountKey(call.channelId, call.credentialId);
    this.#newest.set(key, false);
    const scope = policy.scope === 'account' ? '' : (call.model ?? '');
    const breaker = this.#breaker(key, scope, now);
    breaker.calls++;
    breaker.failures++;
    breaker.consecutiveFailures++;
    const isOfOneCaller = call.userId !== undefined && this.#evidenceOf(key, scope).failed(call.userId, now);
    if (breaker.openUntil > now) return NONE;
    // Limits of a vendor are about the account, whatever was asked for.
    const mayBeOfRequest = call.outcome !== 'rate' && call.retryAfterMs === undefined;
    if (isOfOneCaller && mayBeOfRequest && breaker.timesOpened === 0) return NONE;
    const failing =
      (breaker.calls >= MIN_CALLS && breaker.failures / breaker.calls >= FAILURE_RATE_THRESHOLD) ||
      breaker.consecutiveFailures >= CONSECUTIVE_FAILURE_THRESHOLD;
    const failedTrial = breaker.timesOpened > 0;
    if (!policy.opensAtOnce && !failing && !failedTrial && call.retryAfterMs === undefined) return NONE;
    const openMs = Math.min(policy.initialOpenMs * 2 ** breaker.timesOpened, policy.maxOpenMs);
    breaker.openUntil = now + Math.min(Math.max(openMs, call.retryAfterMs ?? 0), policy.maxOpenMs);
    breaker.timesOpened++;
    breaker.trialUntil = 0;
    breaker.reason = call.outcome;
    return [scope];
  }

  availability({ id, credentialId }: ChannelAccount, model: string, now: number): CircuitState {
    const breakers = this.#breakers.get(accountKey(id, credentialId));
    if (breakers === undefined) return 'closed';
    const both = [availabilityOf(breakers.get(''), now), availabilityOf(breakers.get(model), now)];
    return worstOf(both);
  }

  /** Marks half-open circuits as being tried, so that no second call is sent meanwhile. @returns their models */
  beginTrial({ id, credentialId }: ChannelAccount, model: string, now: number): readonly string[] {
    const key = accountKey(id, credentialId);
    const breakers = this.#breakers.get(key);
    if (breakers === undefined) return NONE;
    const tried = ['', model].filter((scope) => availabilityOf(breakers.get(scope), now) === 'halfOpen');
    for (const scope of tried) this.#breaker(key, scope, now).trialUntil = now + TRIAL_TIMEOUT_MS;
    return tried;
  }

  /** What other processes should know of a circuit; undefined when it is closed. */
  stored({ id, credentialId }: ChannelAccount, model: string): StoredCircuit | undefined {
    const breaker = this.#breakers.get(accountKey(id, credentialId))?.get(model);
    if (breaker === undefined || breaker.timesOpened === 0) return undefined;
    const { timesOpened, openUntil, trialUntil, reason } = breaker;
    return { model, timesOpened, openUntil, trialUntil, reason };
  }

  /** Takes over all circuits of one channel, or of all, that are not closed; the others are. */
  restore(
    circuits: readonly (StoredCircuit & { readonly account: ChannelAccount })[],
    now: number,
    channelId?: number,
  ): void {
    const found = circuits.map(({ account, ...circuit }) => ({
      key: accountKey(account.id, account.credentialId),
      ...circuit,
    }));
    for (const [key, breakers] of this.#breakers)
      if (channelId === undefined || isOfChannel(key, channelId))
        for (const [model, breaker] of breakers)
          if (breaker.timesOpened > 0 && !found.some((each) => each.key === key && each.model === model))
            Object.assign(breaker, newBreakerState(now));
    for (const { key, model, timesOpened, openUntil, trialUntil, reason } of found) {
      const breaker = this.#breaker(key, model, now);
      // What was read may be older than a trial that this process has begun since.
      const ownTrial = breaker.openUntil === openUntil ? breaker.trialUntil : 0;
      Object.assign(breaker, { timesOpened, openUntil, trialUntil: Math.max(trialUntil, ownTrial), reason });
    }
  }

  /** Forgets everything about a channel: it was changed or removed. */
  forget(channelId: number): void {
    for (const known of [this.#breakers, this.#newest, this.#evidence])
      for (const key of known.keys()) if (isOfChannel(key, channelId)) known.delete(key);
  }

  /** The worst that is known of an account as a whole or of any of its models. */
  condition(account: ChannelAccount, now: number): ChannelCondition {
    const key = accountKey(account.id, account.credentialId);
    const states = this.view(account, now).map(({ state }) => state);
    if (states.includes('open')) return 'resting';
    if (states.includes('halfOpen')) return 'trying';
    const newest = this.#newest.get(key);
    if (newest === undefined) return 'untested';
    const breakers = [...(this.#breakers.get(key)?.values() ?? [])];
    return newest && breakers.every(({ consecutiveFailures }) => consecutiveFailures === 0) ? 'working' : 'failing';
  }

  /** The account as a whole first, then those of its models that have recorded outcomes. */
  view({ id, credentialId }: ChannelAccount, now: number): HealthView[] {
    const breakers = this.#breakers.get(accountKey(id, credentialId));
    const whole = breakers?.get('') ?? newBreakerState(now);
    const models = [...(breakers ?? [])].filter(([model]) => model !== '');
    return [toView('', whole, now), ...models.map(([model, gauge]) => toView(model, gauge, now))];
  }

  /** Any success shows that the account is reachable and accepted; only a submit shows that a model takes work. */
  #recordSuccess(call: CallOutcome, now: number): readonly string[] {
    const key = accountKey(call.channelId, call.credentialId);
    this.#newest.set(key, true);
    const scopes = call.operation === 'poll' || call.model === undefined ? [''] : ['', call.model];
    let recovered = NONE;
    for (const scope of scopes) {
      if (call.userId !== undefined) this.#evidenceOf(key, scope).succeeded(call.userId, now);
      const breaker = this.#breakers.get(key)?.get(scope);
      if (breaker === undefined) continue;
      decay(breaker, now);
      breaker.calls++;
      breaker.consecutiveFailures = 0;
      if (breaker.timesOpened === 0) continue;
      recovered = [...recovered, scope];
      Object.assign(breaker, newBreakerState(now));
    }
    return recovered;
  }

  #evidenceOf(key: string, scope: string): SingleCallerFailureDetector {
    const circuit = `${key}/${scope}`;
    let evidence = this.#evidence.get(circuit);
    if (evidence === undefined) {
      evidence = new SingleCallerFailureDetector();
      this.#evidence.set(circuit, evidence);
    }
    return evidence;
  }

  #breaker(key: string, scope: string, now: number): BreakerState {
    let breakers = this.#breakers.get(key);
    if (breakers === undefined) {
      breakers = new Map();
      this.#breakers.set(key, breakers);
    }
    let breaker = breakers.get(scope);
    if (breaker === undefined) {
      breaker = newBreakerState(now);
      breakers.set(scope, breaker);
    }
    decay(breaker, now);
    return breaker;
  }
}

const newBreakerState = (now: number): BreakerState => ({
  calls: 0,
  failures: 0,
  consecutiveFailures: 0,
  decayedAt: now,
  timesOpened: 0,
  openUntil: 0,
  trialUntil: 0,
  reason: '',
});

function decay(breaker: BreakerState, now: number): void {
  const factor = 0.5 ** (Math.max(0, now - breaker.decayedAt) / HALF_LIFE_MS);
  breaker.calls *= factor;
  breaker.failures *= factor;
  breaker.decayedAt = now;
}

function availabilityOf(breaker: BreakerState | undefined, now: number): CircuitState {
  if (breaker === undefined || breaker.timesOpened === 0) return 'closed';
  return breaker.openUntil > now || breaker.trialUntil > now ? 'open' : 'halfOpen';
}

function toView(model: string, breaker: BreakerState, now: number): HealthView {
  const isOpen = breaker.openUntil > now;
  return {
    model,
    state: isOpen ? 'open' : breaker.timesOpened > 0 ? 'halfOpen' : 'closed',
    reason: breaker.reason,
    failureRate: breaker.calls === 0 ? 0 : breaker.failures / breaker.calls,
    openUntil: isOpen ? breaker.openUntil : 0,
  };
}
