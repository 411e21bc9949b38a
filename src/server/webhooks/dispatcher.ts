import { DAY_MS } from '../../contract/time-units.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import { UnsealError, type Vault } from '../platform/vault.ts';
import type { Tables, Trx } from '../tables.ts';
import { type DeliveryRow, type DeliveryStore, endpointLane, parseEndpointLane } from './delivery-store.ts';
import {
  type AccountCallbackSecrets,
  callbackSecretCell,
  type EndpointRow,
  type EndpointStore,
  endpointSecretCell,
  openSecrets,
} from './endpoint-store.ts';
import { isListedHost, parseCallbackLane } from './endpoints.ts';
import { type Attempt, type Destination, MAX_TRIES, nextTryAt, type WebhookSender } from './sender.ts';
import { CALLBACK } from './tables.ts';

interface DeliveryDispatcherDependencies {
  readonly database: Database<Tables>;
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly failures: FailingEndpointDisabler;
  readonly callbackSecrets: Pick<AccountCallbackSecrets, 'ensure'>;
  readonly sender: WebhookSender;
  readonly vault: Vault;
  /**
   * `host:port` pairs in the operator's own network, exempt from the limits that protect hosts from users' webhooks.
   */
  readonly privateHosts: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to 1; default Math.random. */
  readonly random?: () => number;
}

/** Longer than an attempt can take: deliveries claimed by a process that died are due again afterwards. */
const LEASE_MS = 60_000;
/** Finds retries that are due, and deliveries left by other processes. */
const POLL_MS = 500;
/** Longest time a shutdown waits for attempts in flight; another process repeats those that are aborted. */
const STOP_MS = 5_000;

/**
 * Sends the due deliveries, in all processes concurrently, each delivery in one of them. The attempt is made outside
 * any transaction: if a process dies during it, the delivery is repeated with the same `webhook-id`.
 */
export class DeliveryDispatcher {
  readonly #dependencies: DeliveryDispatcherDependencies;
  readonly #lanes = new ReceiverConcurrencyLimits();
  readonly #inProgress = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #isAwaited = false;

  constructor(dependencies: DeliveryDispatcherDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), POLL_MS);
    this.wake();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#claiming;
    const abort = setTimeout(() => this.#stopped.abort(), STOP_MS);
    await Promise.all(this.#inProgress);
    clearTimeout(abort);
  }

  /** Ends the pause that an endpoint's receiver requested, in this process, because its owner asks for deliveries. */
  resume(endpointId: number): void {
    this.#lanes.resume(endpointLane(endpointId));
    this.wake();
  }

  /** Checks for due deliveries soon. Never throws. */
  wake(): void {
    if (this.#timer === undefined) return;
    this.#isAwaited = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined;
      // Handles a wake-up that arrived while the run was ending.
      if (this.#isAwaited) this.wake();
    });
  }

  async #claimAll(): Promise<void> {
    while (this.#isAwaited && this.#timer !== undefined) {
      this.#isAwaited = false;
      try {
        await this.#claim();
      } catch (error) {
        this.#dependencies.log.error({ err: error }, 'webhook deliveries could not be claimed');
        return;
      }
    }
  }

  async #claim(): Promise<void> {
    const { endpoints, deliveries, clock } = this.#dependencies;
    const now = clock.now();
    const lanes = await deliveries.listDueLanes(now);
    const ids = lanes.map(parseEndpointLane).filter((id) => id !== undefined);
    const byId = new Map((await endpoints.findMany(ids)).map((row) => [row.id, row]));
    const hosts = new Map(lanes.map((lane) => [lane, this.#limitedHostOf(lane, byId)]));
    const due = lanes.map((lane) => ({ lane, host: hosts.get(lane) }));
    const allotted = this.#lanes.allot(due, now);
    if (allotted.length === 0) return;
    const claimed = await deliveries.claim(allotted, now, now + LEASE_MS);
    for (const row of claimed) {
      const host = hosts.get(row.lane);
      this.#lanes.begin(row.lane, host);
      const work = this.#deliver(row, byId.get(row.endpoint_id), host).finally(() => {
        this.#inProgress.delete(work);
        this.wake();
      });
      this.#inProgress.add(work);
    }
  }

  /**
   * Undefined for the operator's own hosts. A host name without its port, because all ports of a machine share its
   * limit.
   */
  #limitedHostOf(lane: string, endpoints: ReadonlyMap<number, EndpointRow>): string | undefined {
    const id = parseEndpointLane(lane);
    const url = id === undefined ? parseCallbackLane(lane) : URL.parse(endpoints.get(id)?.url ?? '');
    return url === null || isListedHost(url, this.#dependencies.privateHosts) ? undefined : url.hostname;
  }

  /** Never throws. */
  async #deliver(row: DeliveryRow, endpoint: EndpointRow | undefined, host: string | undefined): Promise<void> {
    const { log, sender, clock } = this.#dependencies;
    let isSuccess = false;
    let pausedUntil = 0;
    try {
      const destination = await this.#destinationOf(row, endpoint);
      if (destination === undefined) await this.#abandon(row);
      else {
        const attempt =
          destination instanceof UnsealError
            ? unsignedAttempt(row, destination, clock.now())
            : await sender.attempt(row, destination, this.#stopped.signal);
        isSuccess = attempt.error === '';
        if (attempt.pauseMs > 0) pausedUntil = clock.now() + attempt.pauseMs;
        // Aborted by our own shutdown: this says nothing about the receiver, and the claim expires by itself.
        if (isSuccess || !this.#stopped.signal.aborted) await this.#finish(row, endpoint, attempt);
      }
    } catch (error) {
      log.error({ err: error, deliveryId: row.id }, 'a webhook could not be delivered');
    } finally {
      this.#lanes.end(row.lane, isSuccess, pausedUntil, host);
    }
  }

  /**
   * Undefined if the endpoint was removed or disabled after the event was queued; an error if its secret cannot be
   * decrypted, which counts as a failed attempt: otherwise the delivery would be repeated every minute for good.
   */
  async #destinationOf(
    row: DeliveryRow,
    endpoint: EndpointRow | undefined,
  ): Promise<Destination | UnsealError | undefined> {
    return this.#openDestination(row, endpoint).catch((error: unknown) => {
      if (error instanceof UnsealError) return error;
      throw error;
    });
  }

  async #openDestination(row: DeliveryRow, endpoint: EndpointRow | undefined): Promise<Destination | undefined> {
    const { vault, clock, callbackSecrets } = this.#dependencies;
    if (row.endpoint_id === CALLBACK) {
      const columns = await callbackSecrets.ensure(row.user_id);
      const secrets = openSecrets(vault, callbackSecretCell(row.user_id), columns, clock.now());
      return { url: row.url, preset: 'standard', secrets };
    }
    if (endpoint === undefined || endpoint.enabled === 0) return undefined;
    const secrets = openSecrets(vault, endpointSecretCell(endpoint.ref), endpoint, clock.now());
    return { url: endpoint.url, preset: endpoint.preset, secrets };
  }

  async #abandon(row: DeliveryRow): Promise<void> {
    const { database, deliveries } = this.#dependencies;
    const result = { ...row, status: 'failed' as const, next_try_at: null, last_error: 'the endpoint is disabled' };
    await database.transaction((trx) => deliveries.finish(trx, row, toResult(result)));
  }

  async #finish(row: DeliveryRow, endpoint: EndpointRow | undefined, attempt: Attempt): Promise<void> {
    const { database, deliveries, endpoints, failures, clock, random = Math.random } = this.#dependencies;
    const now = clock.now();
    const isSuccess = attempt.error === '';
    await database.transaction(async (trx) => {
      const before = await deliveries.lockClaimed(trx, row);
      if (before === undefined) return;
      const tries = before + 1;
      // If its owner has changed the URL since, a failure says nothing about the new one.
      const isMoved = !isSuccess && endpoint !== undefined && !(await endpoints.hasUrl(trx, endpoint.id, endpoint.url));
      const isOver = isSuccess || (attempt.isGone && !isMoved);
      const next = isOver ? undefined : nextTryAt(tries, now, attempt.retryAfterMs, random());
      await deliveries.finish(trx, row, {
        status: isSuccess ? 'delivered' : next === undefined ? 'failed' : 'pending',
        tries: Math.min(tries, MAX_TRIES),
        next_try_at: next ?? null,
        last_try_at: attempt.startedAt,
        last_url: attempt.url,
        last_request: attempt.body,
        last_status: attempt.status,
        last_response: attempt.response,
        last_error: attempt.error,
        last_duration_ms: attempt.durationMs,
      });
      if (endpoint === undefined || isMoved) return;
      if (!isSuccess) await failures.record(trx, endpoint.id, attempt.isGone);
      else if (endpoint.failing_since !== null) await endpoints.markWorking(trx, endpoint.id);
    });
  }
}

const unsignedAttempt = (row: DeliveryRow, error: UnsealError, now: number): Attempt => ({
  startedAt: now,
  durationMs: 0,
  url: row.url,
  body: '',
  status: null,
  response: '',
  error: `the signing secret cannot be decrypted: ${error.message}`,
  isGone: false,
  retryAfterMs: undefined,
  pauseMs: 0,
});

const toResult = (row: DeliveryRow & { readonly last_error: string }) => ({
  status: row.status,
  tries: row.tries,
  next_try_at: null,
  last_try_at: row.last_try_at ?? row.created_at,
  last_url: row.last_url,
  last_request: row.last_request,
  last_status: row.last_status,
  last_response: row.last_response,
  last_error: row.last_error,
  last_duration_ms: row.last_duration_ms,
});

/** Limits on concurrent deliveries: in total, to one responding receiver, and to all failing receivers together. */
const MAX_IN_FLIGHT = 512;
const MAX_PER_LANE = 64;
const MAX_IN_FLIGHT_FAILING = 128;
/** Initial limit of a receiver without history. */
const FIRST_LIMIT = 2;

/** Limits per host, across all accounts: concurrent deliveries, burst after a pause, and sustained rate per second. */
const MAX_PER_HOST = 64;
const HOST_BURST = 100;
const HOST_RATE = 50;

const MAX_REMEMBERED = 10_000;

/** A lane with a due delivery and its host; undefined: a host without limits, or an unknown one. */
interface DueLane {
  readonly lane: string;
  readonly host: string | undefined;
}

interface Lane {
  inFlight: number;
  /** Doubles with each success; 1 after a failure. */
  limit: number;
  isFailing: boolean;
  /** End of a pause the receiver requested, Unix milliseconds. */
  pausedUntil: number;
}

/** The remaining capacity of one host, at which any number of accounts could otherwise aim together. */
interface Host {
  inFlight: number;
  tokens: number;
  refilledAt: number;
}

/**
 * Shares this process's deliveries between receivers, so that a slow or dead receiver delays no other: it holds few
 * slots, and all such receivers together hold a quarter.
 */
export class ReceiverConcurrencyLimits {
  readonly #lanes = new Map<string, Lane>();
  readonly #hosts = new Map<string, Host>();
  #inFlight = 0;
  #failing = 0;

  /** The number of deliveries that may start now in each lane, shared fairly; lanes without capacity are omitted. */
  allot(due: readonly DueLane[], now: number): { lane: string; count: number }[] {
    let free = MAX_IN_FLIGHT - this.#inFlight;
    let freeForFailing = MAX_IN_FLIGHT_FAILING - this.#failing;
    const allotted: { lane: string; count: number }[] = [];
    const allottedByHost = new Map<string, number>();
    // Starts at a random lane, so that no lane is always first.
    const offset = Math.floor(Math.random() * due.length);
    for (const { lane, host } of [...due.slice(offset), ...due.slice(0, offset)]) {
      const { inFlight, limit, isFailing, pausedUntil } = this.#lane(lane);
      if (pausedUntil > now) continue;
      const taken = (host && allottedByHost.get(host)) || 0;
      const freeAtHost = host === undefined ? free : this.#freeAt(host, now) - taken;
      const count = Math.min(limit - inFlight, free, freeAtHost, isFailing ? freeForFailing : free);
      if (count <= 0) continue;
      allotted.push({ lane, count });
      if (host !== undefined) allottedByHost.set(host, taken + count);
      free -= count;
      if (isFailing) freeForFailing -= count;
    }
    return allotted;
  }

  begin(name: string, hostname?: string): void {
    const lane = this.#lane(name);
    const host = hostname === undefined ? undefined : this.#hosts.get(hostname);
    if (host !== undefined) {
      host.inFlight += 1;
      host.tokens -= 1;
    }
    lane.inFlight += 1;
    this.#inFlight += 1;
    if (lane.isFailing) this.#failing += 1;
  }

  /** @param pausedUntil Unix milliseconds; 0: no pause */
  end(name: string, isSuccess: boolean, pausedUntil = 0, hostname?: string): void {
    const lane = this.#lane(name);
    const host = hostname === undefined ? undefined : this.#hosts.get(hostname);
    if (host !== undefined) host.inFlight -= 1;
    lane.inFlight -= 1;
    this.#inFlight -= 1;
    if (lane.isFailing) this.#failing -= 1;
    // The lane's other deliveries in flight are counted under its new state.
    if (lane.isFailing !== !isSuccess) this.#failing += isSuccess ? -lane.inFlight : lane.inFlight;
    lane.isFailing = !isSuccess;
    lane.limit = isSuccess ? Math.min(lane.limit * 2, MAX_PER_LANE) : 1;
    // Deliveries that were in flight when the receiver requested the pause do not end it.
    lane.pausedUntil = Math.max(lane.pausedUntil, pausedUntil);
    // Forgotten, and treated as unknown again, before there are too many lanes to remember.
    if (lane.inFlight === 0 && isSuccess && this.#lanes.size > MAX_REMEMBERED) this.#lanes.delete(name);
  }

  /** Ends a pause. */
  resume(name: string): void {
    this.#lane(name).pausedUntil = 0;
  }

  #freeAt(name: string, now: number): number {
    const host = this.#hosts.get(name) ?? { inFlight: 0, tokens: HOST_BURST, refilledAt: now };
    host.tokens = Math.min(HOST_BURST, host.tokens + ((now - host.refilledAt) * HOST_RATE) / 1_000);
    host.refilledAt = now;
    if (!this.#hosts.has(name)) this.#forgetIdleHosts();
    this.#hosts.set(name, host);
    return Math.min(MAX_PER_HOST - host.inFlight, Math.floor(host.tokens));
  }

  #forgetIdleHosts(): void {
    if (this.#hosts.size <= MAX_REMEMBERED) return;
    for (const [name, { inFlight }] of this.#hosts) if (inFlight === 0) this.#hosts.delete(name);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = { inFlight: 0, limit: FIRST_LIMIT, isFailing: false, pausedUntil: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }
}

interface FailingEndpointDisablerDependencies {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** An endpoint that has accepted no delivery for this long is disabled. */
const DISABLE_AFTER_MS = 5 * DAY_MS;
/**
 * After this long without an attempt, about twice the longest wait between two, the next failure counts as the first:
 * nothing was sent, or this service was down, and the receiver may have worked meanwhile.
 */
const MAX_GAP_MS = 2 * DAY_MS;

const REASONS = {
  gone: {
    en: 'It responded with 410 (Gone), which asks for no more deliveries.',
    'zh-CN': '接收方返回 410（Gone），表示不再接收推送。',
  },
  failing: {
    en: 'Every delivery failed for 5 days. Fix the receiver, enable the webhook again and replay what it missed.',
    'zh-CN': '连续 5 天推送全部失败。请修复接收方，重新启用 Webhook，并重放错过的事件。',
  },
} as const;

/** Disables endpoints that are gone or have failed for five days, and notifies their owners. */
export class FailingEndpointDisabler {
  readonly #dependencies: FailingEndpointDisablerDependencies;
  constructor(dependencies: FailingEndpointDisablerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Records a failed delivery in the transaction that stores it.
   * @param isGone the receiver answered 410
   */
  async record(trx: Trx, id: number, isGone: boolean): Promise<void> {
    const { endpoints, clock } = this.#dependencies;
    const now = clock.now();
    const since = await endpoints.markFailing(trx, id, now, now - MAX_GAP_MS);
    if (isGone) await this.#disable(trx, id, 'gone');
    else if (since !== undefined && since <= now - DISABLE_AFTER_MS) await this.#disable(trx, id, 'failing');
  }

  async #disable(trx: Trx, id: number, reason: keyof typeof REASONS): Promise<void> {
    const { endpoints, deliveries, notifier, clock } = this.#dependencies;
    const endpoint = await endpoints.disable(trx, id, reason);
    if (endpoint === undefined) return;
    await deliveries.failPending(trx, id, 'the endpoint was disabled');
    await notifier.notify(trx, toNotice(endpoint, reason, clock.now()));
  }
}

function toNotice({ id, user_id, url }: EndpointRow, reason: keyof typeof REASONS, now: number) {
  const host = URL.parse(url)?.host ?? '';
  return {
    userId: user_id,
    topic: 'webhook',
    type: 'system',
    title: { en: `The webhook to ${host} was disabled`, 'zh-CN': `发往 ${host} 的 Webhook 已停用` },
    content: REASONS[reason],
    targetUrl: `/account/webhooks/${id}`,
    relatedId: id,
    deduplicationKey: `webhook.disabled:${id}:${now}`,
  } as const;
}
