import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelDirectory } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Authenticator, ModelCaller } from '../platform/http/route-registry.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { parseRequestJson } from '../platform/json.ts';
import type { ApiKeyLimiter } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { RequestLog } from '../request-log/request-log.ts';
import type { Tables } from '../tables.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { ChargeBatcher } from './charge.ts';
import { findDialect } from './dialects.ts';
import { ImageTaskRelay, type ImageTaskRelayDependencies } from './image-tasks.ts';
import { recoverJournals } from './journal-recovery.ts';
import { Relay } from './relay.ts';
import { OutputProfiles, parseChatRequest } from './request.ts';
import { addChatRoutes, type SpendHeaders } from './routes.ts';
import { SettlementJournal } from './settlement-journal.ts';
import { TokenCounter } from './token-counter.ts';

interface ChatDependencies {
  readonly database: Database<Tables>;
  readonly quota: Ledger;
  readonly channels: ChannelDirectory;
  readonly vendors: Pick<VendorRegistry, 'find' | 'isChat'>;
  readonly outbound: OutboundClient;
  readonly authenticator: Authenticator;
  readonly claudeCodeUsage: SpendHeaders;
  readonly keyLimiter: ApiKeyLimiter;
  readonly findPlanTerms: FindPlanTerms;
  readonly requestLog: Pick<RequestLog, 'addRefused'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly adapterContexts: ImageTaskRelayDependencies['adapterContexts'];
  /** Replaces some of `CHAT_TIME_LIMITS`; used by tests. */
  readonly timeLimits?: Partial<ChatTimeLimits>;
  /** Aborted once the grace period of a shutdown has passed. */
  readonly stopping: AbortSignal;
  /** Directory of the settlement journal; undefined: no journal is written. */
  readonly journalDirectory: string | undefined;
  /** The first key encrypts; the others only decrypt. */
  readonly masterKeys: readonly [Buffer, ...Buffer[]];
}

/** The model-call capability as other capabilities see it. */
export interface Chat {
  /** Longest duration of a call; an older reservation belongs to a process that died. */
  readonly maxCallDurationMs: number;
  /** Number of streamed responses in flight. */
  readonly openStreams: number;
  /**
   * The most that a call can cost, in quota.
   * @param path of the dialect, such as `/v1/chat/completions`
   * @throws AppError for every reason a call is refused before it reserves
   */
  quote(caller: ModelCaller, path: string, body: Buffer): Promise<number>;
  /** Waits until every call is settled, or a few seconds without a database; unsettled calls stay in the journal. */
  close(): Promise<void>;
  /**
   * Settles what dead processes left in their journals.
   * @returns the number of settlements
   */
  recover(): Promise<number>;
}

/** Time limits of model calls, in milliseconds. */
export interface ChatTimeLimits {
  /** Longest wait for the first byte of a response; a response that is not streamed arrives as a whole. */
  readonly firstByteMs: number;
  /** Longest silence within a response. */
  readonly idleMs: number;
  /** Longest call. The reservation of an older one is refunded because its process has died. */
  readonly totalMs: number;
  /** Silence in a stream after which a comment is sent, so that proxies keep the connection open. */
  readonly keepAliveMs: number;
}

const CHAT_TIME_LIMITS: ChatTimeLimits = {
  // As long as the clients of OpenAI and Anthropic wait by default: a response cut off earlier is billed nevertheless.
  firstByteMs: 600_000,
  idleMs: 120_000,
  totalMs: 1_800_000,
  keepAliveMs: 15_000,
};

const MAX_STOP_MS = 10_000;
const IMAGE_POLL_MS = 1_000;
const IMAGE_TOTAL_MS = 10 * 60_000;
/** How long settlements are retried when the database is unavailable. */
const SETTLEMENT_RETRY_ALLOWANCE_MS = 10 * 60_000;

/** Creates the relay and registers its routes. */
export function makeChat(http: HttpServer, dependencies: ChatDependencies): Chat {
  const { keepAliveMs, ...timeouts } = { ...CHAT_TIME_LIMITS, ...dependencies.timeLimits };
  const { journalDirectory: directory, masterKeys, database, quota, log } = dependencies;
  const journal = new SettlementJournal(directory, masterKeys[0], log);
  const recovery = { directory, masterKeys, database, quota, log };
  const batcher = new ChargeBatcher({ ...dependencies, journal });
  const imageRelay = new ImageTaskRelay({
    ...dependencies,
    batcher,
    journal,
    keepAliveMs,
    pollMs: IMAGE_POLL_MS,
    totalMs: IMAGE_TOTAL_MS,
  });
  const relay = new Relay({
    rates: new OutputProfiles(),
    ...dependencies,
    journal,
    batcher,
    imageRelay,
    timeouts,
    keepAliveMs,
  });
  const counter = new TokenCounter({ ...dependencies, relay, timeouts });
  addChatRoutes(http, { relay, counter, ...dependencies });
  return {
    maxCallDurationMs: Math.max(3 * timeouts.totalMs, IMAGE_TOTAL_MS) + SETTLEMENT_RETRY_ALLOWANCE_MS,
    get openStreams() {
      return relay.openStreams;
    },
    async quote(caller, path, body) {
      const dialect = findDialect(path);
      if (dialect === undefined) throw new AppError('not_found');
      return relay.quote(caller, parseChatRequest(dialect, body, parseRequestJson(body)));
    },
    async close() {
      relay.close();
      await Promise.race([batcher.idle(), sleep(MAX_STOP_MS, undefined, { ref: false })]);
      journal.stop();
    },
    recover: () => recoverJournals(recovery),
  };
}
