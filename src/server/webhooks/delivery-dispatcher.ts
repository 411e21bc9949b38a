import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import type { AccountCallbackSecrets } from './account-callback-secrets.ts';
import { type DeliveryRow, type DeliveryStore, parseEndpointLane } from './delivery-store.ts';
import { callbackSecretCell, type EndpointRow, type EndpointStore, endpointSecretCell } from './endpoint-store.ts';
import type { FailingEndpointDisabler } from './failing-endpoint-disabler.ts';
import { parseCallbackLane } from './fan-out.ts';
import { ReceiverConcurrencyLimits } from './receiver-concurrency-limits.ts';
import { MAX_TRIES, nextTryAt } from './retry-schedule.ts';
import { openSecrets } from './signing-secrets.ts';
import { CALLBACK } from './tables.ts';
import { isListedHost } from './url-check.ts';
import type { Attempt, Destination, WebhookSender } from './webhook-sender.ts';

export interface DeliveryDispatcherDependencies {
  readonly database: Database<Tables>;
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly failures: FailingEndpointDisabler;
  readonly callbackSecrets: Pick<AccountCallbackSecrets, 'ensure'>;
  readonly sender: WebhookSender;
  readonly vault: Vault;
  /** `host:port` pairs of the operator's own network, which are not protected from his users' webhooks. */
  readonly privateHosts: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to 1; default Math.random. */
  readonly random?: () => number;
}

/** Longer than an attempt can take: what a process that died had claimed is due again after it. */
const LEASE_MS = 60_000;
/** Finds what is due again, and what other processes left. */
const POLL_MS = 500;
/** Longest wait of a shutdown for attempts in progress; they are made again by whoever comes after. */
const STOP_MS = 5_000;

/**
 * Makes the deliveries that are due, in all processes at once, each by one of them. The attempt is outside of any
 * transaction: a process that dies in between repeats it, with the same `webhook-id`.
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

  /** Looks for due deliveries soon; never throws. */
  wake(): void {
    if (this.#timer === undefined) return;
    this.#isAwaited = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined;
      // A call that came when the run was about to end.
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

  /** Undefined for the operator's own hosts. A name without its port: the ports of one machine share its limit. */
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
        const attempt = await sender.attempt(row, destination, this.#stopped.signal);
        isSuccess = attempt.error === '';
        if (attempt.pauseMs > 0) pausedUntil = clock.now() + attempt.pauseMs;
        // Ended by our own shutdown: it says nothing about the receiver, and the claim ends by itself.
        if (isSuccess || !this.#stopped.signal.aborted) await this.#finish(row, endpoint, attempt);
      }
    } catch (error) {
      log.error({ err: error, deliveryId: row.id }, 'a webhook could not be delivered');
    } finally {
      this.#lanes.end(row.lane, isSuccess, pausedUntil, host);
    }
  }

  /** Undefined where the endpoint was removed or disabled after the event was queued. */
  async #destinationOf(row: DeliveryRow, endpoint: EndpointRow | undefined): Promise<Destination | undefined> {
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
    const tries = row.tries + 1;
    const isSuccess = attempt.error === '';
    const next = isSuccess || attempt.isGone ? undefined : nextTryAt(tries, now, attempt.retryAfterMs, random());
    await database.transaction(async (trx) => {
      const isOurs = await deliveries.finish(trx, row, {
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
      if (!isOurs || endpoint === undefined) return;
      if (!isSuccess) await failures.record(trx, endpoint.id, attempt.isGone);
      else if (endpoint.failing_since !== null) await endpoints.markWorking(trx, endpoint.id);
    });
  }
}

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
