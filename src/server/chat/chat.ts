import type { Channels } from '../channels/channels.ts';
import type { SeedModel } from '../channels/first-start.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Authenticator } from '../platform/http/caller.ts';
import type { Http } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { Books } from './books.ts';
import { type PictureParts, PictureRelay } from './picture-relay.ts';
import type { PriceOf } from './pricing.ts';
import { Relay } from './relay.ts';
import { addChatRoutes } from './routes.ts';
import { PICTURE_MODELS } from './upstreams/jimeng-image.ts';

export interface ChatParts {
  readonly database: Database<Tables>;
  readonly quota: Quota;
  readonly channels: Channels;
  readonly outbound: Outbound;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
  readonly calls: PictureParts['calls'];
  readonly priceOf: PriceOf;
  readonly config: {
    readonly chatFirstByteSeconds: number;
    readonly chatIdleSeconds: number;
    readonly chatTotalSeconds: number;
    readonly chatKeepAliveSeconds: number;
  };
  readonly stopping: AbortSignal;
}

export interface Chat {
  /** No call is under way for longer: what is still set aside for one then belongs to a process that died. */
  readonly longestCallMs: number;
  /** Waits until every call is in the books. */
  close(): Promise<void>;
}

const PICTURE_POLL_MS = 1_000;
const PICTURE_TOTAL_MS = 10 * 60_000;
/** Ends are written again for a while when the database is away. */
const SLACK_MS = 10 * 60_000;

/** Builds the model calls and hangs their routes. */
export function makeChat(http: Http, parts: ChatParts): Chat {
  const { chatFirstByteSeconds, chatIdleSeconds, chatTotalSeconds, chatKeepAliveSeconds } = parts.config;
  const keepAliveMs = chatKeepAliveSeconds * 1_000;
  const times = {
    firstByteMs: chatFirstByteSeconds * 1_000,
    idleMs: chatIdleSeconds * 1_000,
    totalMs: chatTotalSeconds * 1_000,
  };
  const books = new Books(parts);
  const pictures = new PictureRelay({
    ...parts,
    books,
    keepAliveMs,
    pollMs: PICTURE_POLL_MS,
    totalMs: PICTURE_TOTAL_MS,
  });
  const relay = new Relay({ ...parts, books, pictures, times, keepAliveMs });
  addChatRoutes(http, relay, parts.authenticator, parts.stopping);
  return {
    longestCallMs: Math.max(3 * times.totalMs, PICTURE_TOTAL_MS) + SLACK_MS,
    async close() {
      relay.close();
      await books.idle();
    },
  };
}

/** Rows of models to make at first start. */
export const CHAT_SEEDS: readonly SeedModel[] = PICTURE_MODELS.map(({ id, perCall }) => ({
  id,
  vendor: 'jimeng',
  kind: 'image',
  price: { per_call: perCall, per_second: 0 },
}));
