import type { Role } from '../../contract/account-fields.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import {
  EVENT_TYPES,
  type EventType,
  MAX_ENDPOINTS,
  SUBSCRIBABLE_TYPES,
  type WebhookPreset,
} from '../../contract/webhooks.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditEntry, AuditLog } from '../accounts/audit-log.ts';
import type { EventRow, EventStore } from '../event-log/event-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { OwnerActor } from '../platform/http/route-registry.ts';
import type { ConcurrencySlots } from '../platform/limits/counters.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';
import { assertPublicUrl } from '../platform/outbound/guard.ts';
import { randomText } from '../platform/tokens.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables, Trx } from '../tables.ts';
import {
  type DeliveryFilter,
  type DeliveryRow,
  type DeliveryStore,
  type DeliveryTarget,
  endpointLane,
} from './delivery-store.ts';
import {
  type EndpointRow,
  type EndpointStore,
  endpointSecretCell,
  newWebhookSecret,
  rotate,
} from './endpoint-store.ts';
import { CALLBACK } from './tables.ts';

interface EndpointChange {
  readonly url?: string;
  /** Empty: all. */
  readonly events?: readonly EventType[];
  readonly description?: string;
  readonly enabled?: boolean;
  readonly preset?: WebhookPreset;
}

interface EndpointServiceDependencies {
  readonly database: Database<Tables>;
  readonly access: Pick<AccountAccess, 'lockEnabled'>;
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly events: EventStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly checkUrl: UrlCheck;
  readonly rateLimits: RateLimits;
  /** Called after the commit of a change that the deliveries of an endpoint must not wait for. */
  readonly onDue: (endpointId: number) => void;
}

const MAX_REPLAY = 10_000;
/** Rows queued in one transaction: on SQLite the transaction blocks every other writer, and this process. */
const REPLAY_PORTION = 200;
/** Each test sends a request to a host of the account's choice. */
const TESTS_PER_ENDPOINT = { points: 10, durationSeconds: 60 } as const;
/** Across all endpoints, because removing and adding an endpoint resets its own count. */
const TESTS_PER_ACCOUNT = { points: 10 * MAX_ENDPOINTS, durationSeconds: 60 } as const;
const REPLAYS_PER_ACCOUNT = { points: 5, durationSeconds: 3_600 } as const;
/** Delay before a retry while another replay of the account is running. */
const REPLAY_RETRY_MS = 5_000;
const MAX_COUNTED = 1_000;

/** Management of webhook endpoints by their owners. */
export class EndpointService {
  readonly #dependencies: EndpointServiceDependencies;
  readonly #testsByEndpoint: RateLimiter;
  readonly #testsByAccount: RateLimiter;
  readonly #replaysByAccount: RateLimiter;
  readonly #runningReplays: ConcurrencySlots;

  constructor(dependencies: EndpointServiceDependencies) {
    this.#dependencies = dependencies;
    const { rateLimits } = dependencies;
    this.#testsByEndpoint = rateLimits.define({ name: 'webhook-tests', ...TESTS_PER_ENDPOINT });
    this.#testsByAccount = rateLimits.define({ name: 'webhook-tests-account', ...TESTS_PER_ACCOUNT });
    this.#replaysByAccount = rateLimits.define({ name: 'webhook-replays', ...REPLAYS_PER_ACCOUNT });
    this.#runningReplays = rateLimits.defineSlots('webhook-replays');
  }

  async list(userId: number, page: Page) {
    const { rows, total } = await this.#dependencies.endpoints.list(userId, page);
    return { rows: await Promise.all(rows.map((row) => this.#withPending(row))), total };
  }

  /** @throws AppError `not_exist` */
  async get(userId: number, id: number) {
    return this.#withPending(await this.#find(userId, id));
  }

  /**
   * @returns the id, and the secret in plain text, which is not shown again
   * @throws AppError `webhooks_full`, `invalid_request`
   */
  create(
    actor: OwnerActor,
    role: Role,
    {
      url,
      events = [],
      description = '',
      enabled = true,
      preset = 'standard',
    }: EndpointChange & { readonly url: string },
  ): Promise<{ readonly id: number; readonly secret: string }> {
    const { database, access, endpoints, vault, clock, checkUrl } = this.#dependencies;
    checkUrl(url, 'url');
    assertAllowedTypes(events, role);
    const ref = randomText(20);
    const secret = newWebhookSecret();
    return database.transaction(async (trx) => {
      // Without the lock, two concurrent additions could both pass the limit.
      await access.lockEnabled(trx, actor.ownerId);
      if ((await endpoints.count(trx, actor.ownerId)) >= MAX_ENDPOINTS)
        throw new AppError('webhooks_full', { params: { most: MAX_ENDPOINTS } });
      const id = await endpoints.insert(trx, {
        ref,
        user_id: actor.ownerId,
        url,
        events: JSON.stringify(events),
        description,
        preset,
        enabled: enabled ? 1 : 0,
        disabled_reason: '',
        failing_since: null,
        failed_at: null,
        secret: vault.seal(secret, endpointSecretCell(ref)),
        previous_secret: null,
        previous_until: 0,
        created_at: clock.now(),
      });
      await this.#audit(trx, actor, 'webhook.create', id, { after: { url, events, description } });
      return { id, secret };
    });
  }

  /** @throws AppError `not_exist`, `invalid_request` */
  async update(actor: OwnerActor, role: Role, id: number, change: EndpointChange): Promise<void> {
    const { database, endpoints, deliveries, checkUrl } = this.#dependencies;
    const { url, events, description, enabled, preset } = change;
    if (url !== undefined) checkUrl(url, 'url');
    if (events !== undefined) assertAllowedTypes(events, role);
    const state = enabled === undefined ? undefined : ({ enabled: enabled ? 1 : 0, disabled_reason: '' } as const);
    const columns = defined({
      url,
      events: events === undefined ? undefined : JSON.stringify(events),
      description,
      preset,
      ...state,
      // Enabling the endpoint or changing its URL resets its failures.
      failing_since: enabled === true || url !== undefined ? null : undefined,
    });
    await database.transaction(async (trx) => {
      await this.#find(actor.ownerId, id, trx);
      if (Object.keys(columns).length > 0) await endpoints.update(trx, actor.ownerId, id, columns);
      if (enabled === false) await deliveries.failPending(trx, id, 'the endpoint was disabled');
      if (enabled === true || url !== undefined) this.#wakeAfter(trx, id);
      await this.#audit(trx, actor, 'webhook.update', id, { after: change });
    });
  }

  /** @throws AppError `not_exist` */
  async remove(actor: OwnerActor, id: number): Promise<void> {
    const { database, endpoints, deliveries } = this.#dependencies;
    await database.transaction(async (trx) => {
      const { url, description } = await this.#find(actor.ownerId, id, trx);
      if (!(await endpoints.delete(trx, actor.ownerId, id))) throw notExistError('webhook');
      await deliveries.deleteOfEndpoint(trx, id);
      await this.#audit(trx, actor, 'webhook.delete', id, { before: { url, description } });
    });
  }

  /**
   * @returns the new secret in plain text, which is not shown again
   * @throws AppError `not_exist`
   */
  rotateSecret(actor: OwnerActor, id: number): Promise<string> {
    const { database, endpoints, vault, clock } = this.#dependencies;
    const secret = newWebhookSecret();
    return database.transaction(async (trx) => {
      const row = await this.#find(actor.ownerId, id, trx);
      const columns = rotate(vault, endpointSecretCell(row.ref), row, secret, clock.now());
      await endpoints.update(trx, actor.ownerId, id, columns);
      await this.#audit(trx, actor, 'webhook.rotate-secret', id);
      return secret;
    });
  }

  /**
   * Queues a test event for one endpoint.
   * @returns the id of its delivery
   * @throws AppError `not_exist`, `webhook_disabled`, `rate_limit_exceeded`
   */
  async test(userId: number, id: number): Promise<number> {
    const { database, deliveries, events, clock } = this.#dependencies;
    await this.#find(userId, id);
    assertWithinLimit(await this.#testsByEndpoint.consume(String(id)));
    assertWithinLimit(await this.#testsByAccount.consume(String(userId)));
    return database.transaction(async (trx) => {
      const endpoint = await this.#findEnabled(userId, id, trx);
      const event = {
        id: `evt_${randomText(24)}`,
        type: 'webhook.test' as const satisfies EventType,
        user_id: userId,
        subject: `webhook:${id}:${randomText(8)}`,
        data: JSON.stringify({ webhook: id, message: 'This is a test.' }),
        callback_url: null,
        deduplication_key: null,
        created_at: clock.now(),
      };
      // Has no readers: the event is for this endpoint alone.
      const seq = await events.insert(trx, event, []);
      if (seq === undefined) throw new Error('a test event was not inserted');
      this.#wakeAfter(trx, id);
      return deliveries.insertOne(trx, { ...event, seq }, toTarget(endpoint), clock.now());
    });
  }

  /**
   * Returns a page, newest first, and whether there are more.
   * @throws AppError `not_exist`
   */
  async listDeliveries(filter: DeliveryFilter): Promise<{ rows: DeliveryRow[]; hasMore: boolean }> {
    await this.#find(filter.userId, filter.endpointId);
    return listPage(this.#dependencies.deliveries, filter);
  }

  /** @throws AppError `not_exist`, `webhook_disabled` */
  async retry(userId: number, id: number, deliveryId: number): Promise<void> {
    const { database, deliveries, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      await this.#findEnabled(userId, id, trx);
      if (!(await deliveries.retry(trx, id, userId, deliveryId, clock.now()))) throw notExistError('delivery');
      this.#wakeAfter(trx, id);
    });
  }

  /**
   * Delivers the events of a period again. Only one replay per account runs at a time.
   * @param range Unix milliseconds, both inclusive
   * @returns the number of events
   * @throws AppError `not_exist`, `webhook_disabled`, `rate_limit_exceeded`
   */
  async replay(
    userId: number,
    role: Role,
    id: number,
    range: { readonly since: number; readonly until: number | undefined },
  ): Promise<number> {
    await this.#find(userId, id);
    const release = await this.#runningReplays.acquire(String(userId), 1);
    assertWithinLimit({ allowed: release !== undefined, retryAfterMs: REPLAY_RETRY_MS });
    try {
      assertWithinLimit(await this.#replaysByAccount.consume(String(userId)));
      // Events that happen during the replay are delivered as usual.
      const bounds = { since: range.since, until: range.until ?? this.#dependencies.clock.now() };
      let queued = 0;
      for (let after = 0; queued < MAX_REPLAY; ) {
        const seqs = await this.#replayPortion(userId, role, id, { ...bounds, after });
        queued += seqs.length;
        if (seqs.length < REPLAY_PORTION) break;
        after = seqs.at(-1) ?? after;
      }
      return queued;
    } finally {
      await release?.();
    }
  }

  #replayPortion(
    userId: number,
    role: Role,
    id: number,
    bounds: { readonly since: number; readonly until: number; readonly after: number },
  ): Promise<number[]> {
    const { database, deliveries, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const endpoint = await this.#findEnabled(userId, id, trx);
      const wanted = parseTypes(endpoint);
      const types = (wanted.length === 0 ? SUBSCRIBABLE_TYPES : wanted).filter((type) => mayReceive(type, role));
      this.#wakeAfter(trx, id);
      // 0: events for administrators; for everyone else their types were excluded above.
      const range = { ...bounds, types, limit: REPLAY_PORTION };
      return deliveries.replay(trx, toTarget(endpoint), range, [userId, 0], clock.now());
    });
  }

  async #find(userId: number, id: number, trx?: Trx): Promise<EndpointRow> {
    const row = await this.#dependencies.endpoints.find(userId, id, trx);
    if (row === undefined) throw notExistError('webhook');
    return row;
  }

  async #findEnabled(userId: number, id: number, trx: Trx): Promise<EndpointRow> {
    const row = await this.#find(userId, id, trx);
    if (row.enabled === 0) throw new AppError('webhook_disabled');
    return row;
  }

  async #withPending(row: EndpointRow) {
    const pending = await this.#dependencies.deliveries.countPending(MAX_COUNTED, { lane: toTarget(row).lane });
    return { ...row, pending };
  }

  #wakeAfter(trx: Trx, id: number): void {
    afterCommit(trx, () => this.#dependencies.onDue(id));
  }

  #audit(
    trx: Trx,
    actor: OwnerActor,
    action: AuditAction,
    id: number,
    change: Pick<AuditEntry, 'before' | 'after'> = {},
  ): Promise<void> {
    return this.#dependencies.auditLog.record(trx, { ...actor, action, target: `webhook:${id}`, ...change });
  }
}

/** Returns one page and whether there are more, for endpoints and callbacks alike. */
export async function listPage(
  deliveries: DeliveryStore,
  filter: DeliveryFilter,
): Promise<{ rows: DeliveryRow[]; hasMore: boolean }> {
  const rows = await deliveries.list({ ...filter, limit: filter.limit + 1 });
  return { rows: rows.slice(0, filter.limit), hasMore: rows.length > filter.limit };
}

const mayReceive = (type: EventType, role: Role): boolean => EVENT_TYPES[type] !== 'administrators' || role !== 'user';

function assertAllowedTypes(types: readonly EventType[], role: Role): void {
  const refused = types.find((type) => !mayReceive(type, role));
  if (refused !== undefined) throw invalidRequest(`events: ${refused} is for administrators.`, 'events');
}

interface FanOutDependencies {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly clock: Clock;
}

/** Queues events for every endpoint subscribed to them, and for the callback_url of the request that caused them. */
export async function fanOut(
  { endpoints, deliveries, clock }: FanOutDependencies,
  trx: Trx,
  events: readonly EventRow[],
): Promise<void> {
  const userIds = [...new Set(events.map((event) => event.user_id))];
  const receiving = await endpoints.listReceiving(trx, userIds, userIds.includes(0));
  const wanted = events.flatMap((event) => [
    ...receiving
      .filter((endpoint) => isFor(event, endpoint) && includesType(endpoint, event.type))
      .map((endpoint) => ({ event, target: toTarget(endpoint) })),
    ...(event.callback_url === null ? [] : [{ event, target: toCallback(event.user_id, event.callback_url) }]),
  ]);
  await deliveries.insert(trx, wanted, clock.now());
}

const isFor = (event: EventRow, endpoint: EndpointRow & { readonly role: string }): boolean =>
  EVENT_TYPES[event.type as EventType] === 'administrators'
    ? endpoint.role !== 'user'
    : endpoint.user_id === event.user_id;

/** The event types an endpoint is subscribed to; empty: all. */
export const parseTypes = ({ events }: Pick<EndpointRow, 'events'>): EventType[] => JSON.parse(events) as EventType[];

function includesType(endpoint: EndpointRow, type: string): boolean {
  const types: readonly string[] = parseTypes(endpoint);
  return types.length === 0 || types.includes(type);
}

const toTarget = ({ id, user_id }: Pick<EndpointRow, 'id' | 'user_id'>): DeliveryTarget => ({
  endpointId: id,
  userId: user_id,
  lane: endpointLane(id),
  url: '',
});

/** The host, with its port, of a lane of callbacks. */
export const parseCallbackLane = (lane: string): URL | null => URL.parse(lane.replace(/^callback:\d+:/, 'https://'));

/** Callbacks of one account to one host share a lane, so that a dead host delays no other. */
const toCallback = (userId: number, url: string): DeliveryTarget => ({
  endpointId: CALLBACK,
  userId,
  lane: `callback:${userId}:${URL.parse(url)?.host ?? ''}`,
  url,
});

interface WebhookUrlRules {
  readonly allowHttp: boolean;
  /** `host:port` pairs in the operator's own network that may receive webhooks. */
  readonly privateHosts: readonly string[];
}

/** Rejects a URL to which nothing would be delivered. Names are resolved, and their IPs checked, at each delivery. */
export type UrlCheck = (url: string, param: string) => void;

const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Whether the operator listed the URL's host as one of the operator's own network. */
export function isListedHost(url: URL, privateHosts: WebhookUrlRules['privateHosts']): boolean {
  return privateHosts.includes(`${url.hostname}:${url.port || DEFAULT_PORT[url.protocol]}`);
}

/** @returns a check that throws AppError `invalid_request` */
export const createUrlCheck =
  ({ allowHttp, privateHosts }: WebhookUrlRules): UrlCheck =>
  (text, param) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw invalidRequest(`${param} is not a URL.`, param);
    if (url.username !== '' || url.password !== '') throw invalidRequest(`${param} must not hold credentials.`, param);
    if (isListedHost(url, privateHosts)) return;
    if (url.protocol === 'http:' && !allowHttp) throw invalidRequest(`${param} must start with https://.`, param);
    const port = Number(url.port);
    if (port !== 0 && port < 1024 && port !== 80 && port !== 443)
      throw invalidRequest(`${param} names a port that is not allowed.`, param);
    assertPublicUrl(param, text);
  };
