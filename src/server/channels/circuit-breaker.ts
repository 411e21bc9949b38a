import { sql } from 'kysely';
import type { ChannelCondition } from '../../contract/channels.ts';
import { getOrCreateEntry } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { accountKey, type ChannelAccount } from '../upstreams/upstream.ts';
import type { CallOutcome } from './directory.ts';

/** Weight of an outcome kind. Kinds without a row say nothing about the channel, such as the caller's own errors. */
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

/** Half-life of a failure's weight. */
const HALF_LIFE_MS = MINUTE;
/** Recent calls required before a failure rate is meaningful: a single error never opens a circuit. */
const MIN_CALLS = 5;
const FAILURE_RATE_THRESHOLD = 0.5;
/** Threshold for channels with little traffic, whose counts decay before they reach the minimum. */
const CONSECUTIVE_FAILURE_THRESHOLD = 5;
/** How long a trial call may take before the next one is let through. */
const TRIAL_TIMEOUT_MS = 30 * SECOND;

const NONE: readonly string[] = [];

/** `closed`: calls go through. `open`: no calls are sent. `halfOpen`: one trial call at a time decides. */
export type CircuitState = 'closed' | 'open' | 'halfOpen';

/** The health of an account, or of one model on it. */
export interface HealthView {
  /** Empty: the whole account. */
  readonly model: string;
  readonly state: CircuitState;
  readonly reason: string;
  /** Decaying share of failures, 0 to 1. */
  readonly failureRate: number;
  /** Unix milliseconds; 0 unless open. */
  readonly openUntil: number;
}

/** The worst of several circuits, which applies to a call that needs all of them. */
export const worstOf = (states: readonly CircuitState[]): CircuitState =>
  states.includes('open') ? 'open' : states.includes('halfOpen') ? 'halfOpen' : 'closed';

/** An open or half-open circuit, as shared by all processes. */
interface StoredCircuit {
  /** Empty: the whole account. */
  readonly model: string;
  readonly timesOpened: number;
  /** Unix milliseconds, as is the next. */
  readonly openUntil: number;
  readonly trialUntil: number;
  readonly reason: string;
}

interface BreakerState {
  calls: number;
  failures: number;
  consecutiveFailures: number;
  decayedAt: number;
  /** Times opened in a row without a success in between. */
  timesOpened: number;
  openUntil: number;
  /** End of the trial call in progress, of any process as far as is known. */
  trialUntil: number;
  /** End of the trial call of this process. */
  ownTrialUntil: number;
  reason: string;
}

/** Circuits of an account, in this process. */
interface AccountCircuits {
  /** By model; the empty string stands for the account as a whole. */
  readonly breakers: Map<string, BreakerState>;
  readonly evidence: Map<string, SingleCallerFailureDetector>;
  /** Whether the latest call that says something about the account itself succeeded. */
  newestSucceeded: boolean | undefined;
}

/** Values by account. */
class AccountMap<V> {
  readonly #entries = new Map<string, readonly [ChannelAccount, V]>();

  get({ id, credentialId }: ChannelAccount): V | undefined {
    return this.#entries.get(accountKey(id, credentialId))?.[1];
  }

  /** Returns the value, creating it if there is none. */
  getOrMake({ id, credentialId }: ChannelAccount, make: () => V): V {
    const key = accountKey(id, credentialId);
    return getOrCreateEntry(this.#entries, key, () => [{ id, credentialId }, make()] as const)[1];
  }

  /** @returns whether there was a value */
  delete({ id, credentialId }: ChannelAccount): boolean {
    return this.#entries.delete(accountKey(id, credentialId));
  }

  /** Drops the values of all credentials of a channel. */
  deleteChannel(channelId: number): void {
    for (const [{ id, credentialId }] of this.entries(channelId)) this.#entries.delete(accountKey(id, credentialId));
  }

  /** Accounts of one channel, or of all. */
  entries(channelId?: number): readonly (readonly [ChannelAccount, V])[] {
    return [...this.#entries.values()].filter(([{ id }]) => channelId === undefined || channelId === id);
  }
}

/**
 * One circuit breaker per account (a channel with one of its credentials) and one per model on it, fed by the calls of
 * this process (`ReplicatedCircuitBreakers` joins those of all processes). A decaying failure rate opens a circuit,
 * each further opening lasts twice as long, and trial calls close it again.
 */
export class CircuitBreakers {
  readonly #accounts = new AccountMap<AccountCircuits>();
  /** Accounts with an open circuit when their channel was changed: the next success is news. */
  readonly #changedWhileOpen = new AccountMap<true>();

  /**
   * @returns the models whose circuits this call opened, or closed after they were open; the empty string stands for
   *   the whole account
   */
  record(call: CallOutcome, now: number): readonly string[] {
    const policy = FAILURE_POLICIES[call.outcome];
    if (call.outcome === 'ok') return this.#recordSuccess(call, now);
    if (policy === undefined) return NONE;
    // A vendor that is too busy to answer a poll may still accept submits; submits detect overload themselves.
    if (isWeakEvidence(call) && (call.outcome === 'rate' || call.outcome === 'capacity')) return NONE;
    const circuits = this.#circuitsOf(call);
    circuits.newestSucceeded = false;
    const scope = policy.scope === 'account' ? '' : (call.model ?? '');
    const breaker = breakerOf(circuits, scope, now);
    breaker.calls++;
    breaker.failures++;
    breaker.consecutiveFailures++;
    const caller = callerOf(call);
    const isOfOneCaller = caller !== undefined && evidenceOf(circuits, scope).failed(caller, now);
    if (breaker.openUntil > now) return NONE;
    // A vendor's rate limits concern the account, whatever the request was.
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
    breaker.ownTrialUntil = 0;
    breaker.reason = call.outcome;
    return [scope];
  }

  availability(account: ChannelAccount, model: string, now: number): CircuitState {
    const breakers = this.#accounts.get(account)?.breakers;
    if (breakers === undefined || breakers.size === 0) return 'closed';
    return worstOf([availabilityOf(breakers.get(''), now), availabilityOf(breakers.get(model), now)]);
  }

  /**
   * Marks half-open circuits as being tried, so that no second call is sent meanwhile.
   * @returns their models
   */
  beginTrial(account: ChannelAccount, model: string, now: number): readonly string[] {
    const circuits = this.#accounts.get(account);
    if (circuits === undefined || circuits.breakers.size === 0) return NONE;
    const tried = ['', model].filter((scope) => availabilityOf(circuits.breakers.get(scope), now) === 'halfOpen');
    for (const scope of tried) breakerOf(circuits, scope, now).ownTrialUntil = now + TRIAL_TIMEOUT_MS;
    return tried;
  }

  /** Takes trials for those of another process, about which the stored circuits say more. */
  yieldTrial(account: ChannelAccount, models: readonly string[]): void {
    const breakers = this.#accounts.get(account)?.breakers;
    for (const model of models) {
      const breaker = breakers?.get(model);
      if (breaker !== undefined) Object.assign(breaker, { trialUntil: breaker.ownTrialUntil, ownTrialUntil: 0 });
    }
  }

  /**
   * Ends trials without a result, so that the next call may be one.
   * @returns the models whose trials ended
   */
  endTrial(account: ChannelAccount, model: string, now: number): readonly string[] {
    const breakers = this.#accounts.get(account)?.breakers;
    const tried = ['', model].flatMap((scope) => {
      const breaker = breakers?.get(scope);
      return breaker === undefined || !isOnTrial(breaker, now) ? [] : [{ scope, breaker }];
    });
    for (const { breaker } of tried) Object.assign(breaker, { trialUntil: 0, ownTrialUntil: 0 });
    return tried.map(({ scope }) => scope);
  }

  /** The state of a circuit to share with other processes; undefined if it is closed. */
  stored(account: ChannelAccount, model: string): StoredCircuit | undefined {
    const breaker = this.#accounts.get(account)?.breakers.get(model);
    if (breaker === undefined || breaker.timesOpened === 0) return undefined;
    const { timesOpened, openUntil, trialUntil, reason } = breaker;
    return { model, timesOpened, openUntil, trialUntil, reason };
  }

  /** Replaces the circuits of one channel, or of all: those passed are restored, the others are closed. */
  restore(
    circuits: readonly (StoredCircuit & { readonly account: ChannelAccount })[],
    now: number,
    channelId?: number,
  ): void {
    const isRestored = ({ id, credentialId }: ChannelAccount, model: string): boolean =>
      circuits.some(
        ({ account, model: of }) => account.id === id && account.credentialId === credentialId && of === model,
      );
    for (const [account, { breakers }] of this.#accounts.entries(channelId))
      for (const [model, breaker] of breakers)
        if (breaker.timesOpened > 0 && !isRestored(account, model)) Object.assign(breaker, newBreakerState(now));
    for (const { account, model, timesOpened, openUntil, trialUntil, reason } of circuits) {
      const breaker = breakerOf(this.#accounts.getOrMake(account, newCircuits), model, now);
      // The stored state may be older than a trial that this process has started since.
      const ownTrialUntil = breaker.openUntil === openUntil ? breaker.ownTrialUntil : 0;
      Object.assign(breaker, { timesOpened, openUntil, trialUntil, ownTrialUntil, reason });
    }
  }

  /** Discards everything known about a channel after it was changed or removed. */
  forget(channelId: number): void {
    for (const [account, { breakers }] of this.#accounts.entries(channelId))
      if ([...breakers.values()].some(({ timesOpened }) => timesOpened > 0))
        this.#changedWhileOpen.getOrMake(account, () => true);
    this.#accounts.deleteChannel(channelId);
  }

  /** The worst condition of an account as a whole and of its models. */
  condition(account: ChannelAccount, now: number): ChannelCondition {
    const states = this.view(account, now).map(({ state }) => state);
    if (states.includes('open')) return 'resting';
    if (states.includes('halfOpen')) return 'trying';
    const circuits = this.#accounts.get(account);
    if (circuits?.newestSucceeded === undefined) return 'untested';
    const isClean = [...circuits.breakers.values()].every(({ consecutiveFailures }) => consecutiveFailures === 0);
    return circuits.newestSucceeded && isClean ? 'working' : 'failing';
  }

  /** The account as a whole first, then those of its models with recorded outcomes. */
  view(account: ChannelAccount, now: number): HealthView[] {
    const breakers = this.#accounts.get(account)?.breakers;
    const whole = breakers?.get('') ?? newBreakerState(now);
    const models = [...(breakers ?? [])].filter(([model]) => model !== '');
    return [toView('', whole, now), ...models.map(([model, gauge]) => toView(model, gauge, now))];
  }

  /**
   * Any success proves that the account is reachable and accepted. Only a submit proves that a model accepts work, and
   * that there is a balance, because polls and counts of tokens cost nothing.
   */
  #recordSuccess(call: CallOutcome, now: number): readonly string[] {
    const circuits = this.#circuitsOf(call);
    circuits.newestSucceeded = true;
    const { model, channelId: id, credentialId } = call;
    const caller = callerOf(call);
    const isWeak = isWeakEvidence(call);
    if (isWeak && circuits.breakers.get('')?.reason === 'billing') return NONE;
    const isAfterChange = !isWeak && this.#changedWhileOpen.delete({ id, credentialId });
    const ofAccount = succeedIn(circuits, '', caller, now) || isAfterChange;
    const ofModel = !isWeak && model !== undefined && succeedIn(circuits, model, caller, now);
    if (!ofAccount && !ofModel) return NONE;
    return [...(ofAccount ? [''] : []), ...(ofModel ? [model] : [])];
  }

  #circuitsOf({ channelId: id, credentialId }: CallOutcome): AccountCircuits {
    return this.#accounts.getOrMake({ id, credentialId }, newCircuits);
  }
}

/** Whether a call asks for no new work, so that its outcome says little about calls that do. */
const isWeakEvidence = ({ operation }: CallOutcome): boolean => operation === 'poll' || operation === 'count';

/** The caller of a call: the account of a submit, or the task of a poll, whose number never equals an account's. */
const callerOf = ({ userId, taskSeq }: CallOutcome): number | undefined =>
  userId ?? (taskSeq === undefined ? undefined : -taskSeq);

const newDetector = (): SingleCallerFailureDetector => new SingleCallerFailureDetector();
const newCircuits = (): AccountCircuits => ({ breakers: new Map(), evidence: new Map(), newestSucceeded: undefined });

function evidenceOf({ evidence }: AccountCircuits, scope: string): SingleCallerFailureDetector {
  return getOrCreateEntry(evidence, scope, newDetector);
}

function breakerOf({ breakers }: AccountCircuits, scope: string, now: number): BreakerState {
  const breaker = getOrCreateEntry(breakers, scope, () => newBreakerState(now));
  decay(breaker, now);
  return breaker;
}

/** @returns whether the circuit was open and is now closed */
function succeedIn(circuits: AccountCircuits, scope: string, caller: number | undefined, now: number): boolean {
  if (caller !== undefined) evidenceOf(circuits, scope).succeeded(caller, now);
  const breaker = circuits.breakers.get(scope);
  if (breaker === undefined) return false;
  decay(breaker, now);
  breaker.calls++;
  breaker.consecutiveFailures = 0;
  if (breaker.timesOpened === 0) return false;
  Object.assign(breaker, newBreakerState(now));
  return true;
}

const newBreakerState = (now: number): BreakerState => ({
  calls: 0,
  failures: 0,
  consecutiveFailures: 0,
  decayedAt: now,
  timesOpened: 0,
  openUntil: 0,
  trialUntil: 0,
  ownTrialUntil: 0,
  reason: '',
});

const isOnTrial = ({ trialUntil, ownTrialUntil }: BreakerState, now: number): boolean =>
  trialUntil > now || ownTrialUntil > now;

function decay(breaker: BreakerState, now: number): void {
  const factor = 0.5 ** (Math.max(0, now - breaker.decayedAt) / HALF_LIFE_MS);
  breaker.calls *= factor;
  breaker.failures *= factor;
  breaker.decayedAt = now;
}

function availabilityOf(breaker: BreakerState | undefined, now: number): CircuitState {
  if (breaker === undefined || breaker.timesOpened === 0) return 'closed';
  return breaker.openUntil > now || isOnTrial(breaker, now) ? 'open' : 'halfOpen';
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

interface ReplicatedCircuitBreakersDependencies {
  readonly store: CircuitStore;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SIGNAL_CHANNEL = 'channel_circuits';

/**
 * The circuits of all processes on one database. Each process counts its own calls in memory. A circuit that a process
 * opens or closes is stored, and the others are notified to read it. An open circuit is therefore open on every
 * process, even after a restart, and one process at a time tries it.
 */
export class ReplicatedCircuitBreakers {
  readonly breakers = new CircuitBreakers();
  readonly #dependencies: ReplicatedCircuitBreakersDependencies;
  #isLoaded = false;
  #writes: Promise<void> = Promise.resolve();
  #unwritten = 0;
  /** Channels whose circuits another process may have changed and that are read next; undefined stands for all. */
  readonly #stale = new Set<number | undefined>();
  #reading: Promise<void> | undefined;

  constructor(dependencies: ReplicatedCircuitBreakersDependencies) {
    this.#dependencies = dependencies;
    dependencies.pubSub.subscribe(
      SIGNAL_CHANNEL,
      (payload) => void this.#readAgain(Number(payload)),
      () => void this.#readAgain(),
    );
  }

  /** Loads the circuits stored by earlier and other processes, before the first use; undefined once loaded. */
  load(): Promise<void> | undefined {
    return this.#isLoaded ? undefined : this.#readAgain();
  }

  /** @returns whether this call opened a circuit, or closed one that was open */
  record(call: CallOutcome, now: number): boolean {
    const account = { id: call.channelId, credentialId: call.credentialId };
    // An error of the caller's own says nothing about the channel, so it is no result of a trial.
    if (call.outcome !== 'ok' && FAILURE_POLICIES[call.outcome] === undefined && call.model !== undefined)
      this.endTrial(account, call.model);
    const changed = this.breakers.record(call, now);
    if (changed.length === 0) return false;
    this.#enqueueWrite(account, () => this.#write(account, changed));
    return true;
  }

  /** Ends a trial without a result: its call was not sent, or failed for a reason of its caller's own. */
  endTrial(account: ChannelAccount, model: string): void {
    const models = this.breakers.endTrial(account, model, this.#dependencies.clock.now());
    if (models.length > 0) this.#enqueueWrite(account, () => this.#dependencies.store.endTrial(account, models));
  }

  #enqueueWrite({ id }: ChannelAccount, write: () => Promise<void>): void {
    this.#unwritten += 1;
    this.#writes = this.#writes
      .then(write)
      .catch((error: unknown) => this.#warn(error))
      .finally(() => {
        this.#unwritten -= 1;
        this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, String(id));
      });
  }

  /**
   * Must be called before a channel is called: if one of its circuits is half open, the call becomes its only trial.
   *
   * @returns false if another process is trying it; the local state is then up to date
   */
  beginTrial(account: ChannelAccount, model: string, now: number): true | Promise<boolean> {
    const models = this.breakers.beginTrial(account, model, now);
    return models.length === 0 || this.#claimTrial(account, models, now);
  }

  /** Resolves when all state so far has been written. Never rejects. */
  flush(): Promise<void> {
    return this.#writes;
  }

  async #claimTrial(account: ChannelAccount, models: readonly string[], now: number): Promise<boolean> {
    try {
      await this.#writes;
      if (await this.#dependencies.store.beginTrial(account, models, now, now + TRIAL_TIMEOUT_MS)) return true;
      this.breakers.yieldTrial(account, models);
      await this.#readAgain(account.id);
      return false;
    } catch (error) {
      this.#warn(error);
      return true;
    }
  }

  async #write(account: ChannelAccount, models: readonly string[]): Promise<void> {
    const { store } = this.#dependencies;
    for (const model of models) {
      const circuit = this.breakers.stored(account, model);
      if (circuit === undefined) await store.close(account, model);
      else await store.open(account, circuit);
    }
  }

  /** Reads one channel after another, or all: many simultaneous signals must not use up all connections. */
  #readAgain(channelId?: number): Promise<void> {
    this.#stale.add(channelId);
    this.#reading ??= this.#readStale();
    return this.#reading;
  }

  async #readStale(): Promise<void> {
    for (const channelId of this.#stale) {
      this.#stale.delete(channelId);
      await this.#read(channelId);
    }
    this.#reading = undefined;
  }

  async #read(channelId: number | undefined): Promise<void> {
    const { store, clock } = this.#dependencies;
    try {
      const circuits = await store.find(channelId);
      // This process's own changes are newer; it is notified again once they are written.
      if (this.#unwritten > 0) return;
      this.breakers.restore(circuits, clock.now(), channelId);
      if (channelId === undefined) this.#isLoaded = true;
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    this.#dependencies.log.warn({ err: error }, 'the circuits of channels are not shared with other processes now');
  }
}

/** SQL of circuits that are open, or that were opened and not yet closed by a success. */
export class CircuitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Finds the circuits of one channel, or of all. */
  async find(channelId?: number): Promise<(StoredCircuit & { readonly account: ChannelAccount })[]> {
    let query = this.#database.kysely.selectFrom('channel_circuits').selectAll();
    if (channelId !== undefined) query = query.where('channel_id', '=', channelId);
    return (await query.execute()).map((row) => ({
      account: { id: row.channel_id, credentialId: row.credential_id },
      model: row.model,
      timesOpened: row.times_opened,
      openUntil: row.open_until,
      trialUntil: row.trial_until,
      reason: row.reason,
    }));
  }

  /** If two processes open it at once, the later end wins. */
  async open(account: ChannelAccount, { model, timesOpened, openUntil, reason }: StoredCircuit): Promise<void> {
    await this.#database.kysely
      .insertInto('channel_circuits')
      .values({
        channel_id: account.id,
        credential_id: account.credentialId,
        model,
        times_opened: timesOpened,
        open_until: openUntil,
        trial_until: 0,
        reason,
      })
      .onConflict((conflict) =>
        conflict.columns(['channel_id', 'credential_id', 'model']).doUpdateSet((eb) => ({
          times_opened: eb.ref('excluded.times_opened'),
          open_until: sql<number>`case when excluded.open_until > channel_circuits.open_until then excluded.open_until else channel_circuits.open_until end`,
          trial_until: 0,
          reason: eb.ref('excluded.reason'),
        })),
      )
      .execute();
  }

  async close({ id, credentialId }: ChannelAccount, model: string): Promise<void> {
    await this.#database.kysely
      .deleteFrom('channel_circuits')
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('model', '=', model)
      .execute();
  }

  /**
   * Starts a trial of circuits whose rest is over.
   * @returns false if another process is trying them, or they are closed
   */
  async beginTrial(
    { id, credentialId }: ChannelAccount,
    models: readonly string[],
    now: number,
    until: number,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('channel_circuits')
      .set({ trial_until: until })
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('model', 'in', models)
      .where('open_until', '<=', now)
      .where('trial_until', '<=', now)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async endTrial({ id, credentialId }: ChannelAccount, models: readonly string[]): Promise<void> {
    await this.#database.kysely
      .updateTable('channel_circuits')
      .set({ trial_until: 0 })
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('model', 'in', models)
      .execute();
  }
}

/** Milliseconds for which a success of another account proves that a channel works. */
const VALID_MS = 60_000;

/**
 * Tracks which accounts succeed and fail over one circuit. While other accounts succeed, failures of a single account
 * are caused by its requests: a firewall in front of a vendor answers 403 to a prompt with markup in it, and some
 * bodies break a vendor's server every time. Such failures must not disable the channel for all other accounts.
 */
class SingleCallerFailureDetector {
  /** The accounts of the two latest successes, of different accounts; times are Unix milliseconds. */
  #newest: number | undefined;
  #newestAt = 0;
  #other: number | undefined;
  #otherAt = 0;
  /** The accounts whose calls have failed since the latest success. */
  #failing: number | 'several' | undefined;

  succeeded(userId: number, now: number): void {
    if (this.#newest !== userId) {
      this.#other = this.#newest;
      this.#otherAt = this.#newestAt;
      this.#newest = userId;
    }
    this.#newestAt = now;
    this.#failing = undefined;
  }

  /** @returns whether only this account's calls fail while another account succeeded within the last minute */
  failed(userId: number, now: number): boolean {
    this.#failing = this.#failing === undefined || this.#failing === userId ? userId : 'several';
    if (this.#failing === 'several') return false;
    const isNewest = this.#newest === userId;
    const other = isNewest ? this.#other : this.#newest;
    return other !== undefined && now - (isNewest ? this.#otherAt : this.#newestAt) < VALID_MS;
  }
}
