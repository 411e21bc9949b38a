import type { Role } from '../../contract/account-fields.ts';
import { EVENT_TYPES, type EventType, SUBSCRIBABLE_TYPES } from '../../contract/events.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import { MAX_ENDPOINTS, type WebhookPreset } from '../../contract/webhooks.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { EventRow, EventStore } from '../event-log/event-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
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
  /** Called after the commit of something that is due now. */
  readonly onDue: () => void;
}

const MAX_REPLAY = 10_000;
/** Rows queued in one transaction: on SQLite it holds up every other writer, and this process. */
const REPLAY_PORTION = 200;
/** Each sends a request to any host of the account's choice. */
const TESTS_PER_ENDPOINT = { points: 10, durationSeconds: 60 } as const;
/** Over all endpoints, since removing and adding one starts its own count again. */
const TESTS_PER_ACCOUNT = { points: 10 * MAX_ENDPOINTS, durationSeconds: 60 } as const;
const REPLAYS_PER_ACCOUNT = { points: 5, durationSeconds: 3_600 } as const;
/** When to ask again while another replay of the account runs. */
const REPLAY_RETRY_MS = 5_000;
const MAX_COUNTED = 1_000;

/** What owners do with their webhook endpoints. */
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

  /** @throws not_exist */
  async get(userId: number, id: number) {
    return this.#withPending(await this.#find(userId, id));
  }

  /** @returns the id, and the secret in clear, which is not shown again @throws webhooks_full, invalid_request */
  create(
    actor: Actor,
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
      // Two additions at once would both find room.
      await access.lockEnabled(trx, actor.actorId);
      if ((await endpoints.count(trx, actor.actorId)) >= MAX_ENDPOINTS)
        throw new AppError('webhooks_full', { params: { most: MAX_ENDPOINTS } });
      const id = await endpoints.insert(trx, {
        ref,
        user_id: actor.actorId,
        url,
        events: JSON.stringify(events),
        description,
        preset,
        enabled: enabled ? 1 : 0,
        disabled_reason: '',
        failing_since: null,
        secret: vault.seal(secret, endpointSecretCell(ref)),
        previous_secret: null,
        previous_until: 0,
        created_at: clock.now(),
      });
      await this.#audit(trx, actor, 'webhook.create', id, { url, events });
      return { id, secret };
    });
  }

  /** @throws not_exist, invalid_request */
  async update(actor: Actor, role: Role, id: number, change: EndpointChange): Promise<void> {
    const { database, endpoints, deliveries, checkUrl } = this.#dependencies;
    const { url, events, description, enabled, preset } = change;
    if (url !== undefined) checkUrl(url, 'url');
    if (events !== undefined) assertAllowedTypes(events, role);
    const columns = defined({
      url,
      events: events === undefined ? undefined : JSON.stringify(events),
      description,
      preset,
      // Whoever enables it, or gives another address, begins anew.
      ...(enabled === undefined ? {} : ({ enabled: enabled ? 1 : 0, disabled_reason: '' } as const)),
      ...(enabled === true || url !== undefined ? { failing_since: null } : {}),
    });
    await database.transaction(async (trx) => {
      await this.#find(actor.actorId, id, trx);
      if (Object.keys(columns).length > 0) await endpoints.update(trx, actor.actorId, id, columns);
      if (enabled === false) await deliveries.failPending(trx, id, 'the endpoint was disabled');
      await this.#audit(trx, actor, 'webhook.update', id, change);
    });
  }

  /** @throws not_exist */
  async remove(actor: Actor, id: number): Promise<void> {
    const { database, endpoints, deliveries } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await endpoints.delete(trx, actor.actorId, id))) throw notExistError('webhook');
      await deliveries.deleteOfEndpoint(trx, id);
      await this.#audit(trx, actor, 'webhook.delete', id);
    });
  }

  /** @returns the new secret in clear, which is not shown again @throws not_exist */
  rotateSecret(actor: Actor, id: number): Promise<string> {
    const { database, endpoints, vault, clock } = this.#dependencies;
    const secret = newWebhookSecret();
    return database.transaction(async (trx) => {
      const row = await this.#find(actor.actorId, id, trx);
      const columns = rotate(vault, endpointSecretCell(row.ref), row, secret, clock.now());
      await endpoints.update(trx, actor.actorId, id, columns);
      await this.#audit(trx, actor, 'webhook.rotate-secret', id);
      return secret;
    });
  }

  /**
   * Queues a test event for one endpoint.
   * @returns the id of its delivery @throws not_exist, webhook_disabled, rate_limit_exceeded
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
      // Read by nobody: it is for this endpoint alone.
      const seq = await events.insert(trx, event, []);
      if (seq === undefined) throw new Error('a test event was not inserted');
      this.#wakeAfter(trx);
      return deliveries.insertOne(trx, { ...event, seq }, toTarget(endpoint), clock.now());
    });
  }

  /** Newest first, with whether there are more. @throws not_exist */
  async listDeliveries(filter: DeliveryFilter): Promise<{ rows: DeliveryRow[]; hasMore: boolean }> {
    await this.#find(filter.userId, filter.endpointId);
    return listPage(this.#dependencies.deliveries, filter);
  }

  /** @throws not_exist, webhook_disabled */
  async retry(userId: number, id: number, deliveryId: number): Promise<void> {
    const { database, deliveries, clock } = this.#dependencies;
    await database.transaction(async (trx) => {
      await this.#findEnabled(userId, id, trx);
      if (!(await deliveries.retry(trx, id, userId, deliveryId, clock.now()))) throw notExistError('delivery');
      this.#wakeAfter(trx);
    });
  }

  /**
   * Delivers the events of a time once more, one replay of an account at a time. @param range Unix milliseconds, both included
   * @returns how many @throws not_exist, webhook_disabled, rate_limit_exceeded
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
      // Events that happen during the replay are delivered by themselves.
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
      this.#wakeAfter(trx);
      // 0: events for administrators, whose types were left out above for everybody else.
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

  #wakeAfter(trx: Trx): void {
    afterCommit(trx, this.#dependencies.onDue);
  }

  #audit(trx: Trx, actor: Actor, action: string, id: number, after?: object): Promise<void> {
    return this.#dependencies.auditLog.record(trx, {
      ...actor,
      action,
      target: `webhook:${id}`,
      ...defined({ after }),
    });
  }
}

/** One page and whether there are more, for endpoints and callbacks alike. */
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

/** Queues events for every endpoint that wants them and for the callback_url of the request that caused them. */
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

/** The event types an endpoint wants; empty: all. */
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

/** The host of a lane of callbacks, with its port. */
export const parseCallbackLane = (lane: string): URL | null => URL.parse(lane.replace(/^callback:\d+:/, 'https://'));

/** Callbacks of one account to one host share a lane: a host that is dead delays no other. */
const toCallback = (userId: number, url: string): DeliveryTarget => ({
  endpointId: CALLBACK,
  userId,
  lane: `callback:${userId}:${URL.parse(url)?.host ?? ''}`,
  url,
});

interface WebhookUrlRules {
  readonly allowHttp: boolean;
  /** `host:port` pairs of the operator's own network that may receive webhooks. */
  readonly privateHosts: readonly string[];
}

/** Refuses an address nothing would be delivered to. Names are resolved, and their IPs checked, at each delivery. */
export type UrlCheck = (url: string, param: string) => void;

const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Whether the operator listed the host of a URL as one of his own network. */
export function isListedHost(url: URL, privateHosts: WebhookUrlRules['privateHosts']): boolean {
  return privateHosts.includes(`${url.hostname}:${url.port || DEFAULT_PORT[url.protocol]}`);
}

/** @returns a check that throws invalid_request */
export const createUrlCheck =
  ({ allowHttp, privateHosts }: WebhookUrlRules): UrlCheck =>
  (text, param) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw invalidRequest(`${param} is no URL.`, param);
    if (url.username !== '' || url.password !== '') throw invalidRequest(`${param} must not hold credentials.`, param);
    if (isListedHost(url, privateHosts)) return;
    if (url.protocol === 'http:' && !allowHttp) throw invalidRequest(`${param} must start with https://.`, param);
    const port = Number(url.port);
    if (port !== 0 && port < 1024 && port !== 80 && port !== 443)
      throw invalidRequest(`${param} names a port that is not allowed.`, param);
    assertPublicUrl(param, text);
  };
