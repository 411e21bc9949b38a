import type { TSchema } from 'typebox';
import type { ModelKind } from '../../contract/models.ts';
import type { VendorName } from '../../contract/states.ts';
import type { ErrorReason } from '../video/vendor.ts';

/** Upstreams a channel can be of: the video vendors, and anything that speaks OpenAI's chat protocol. */
export type ChannelVendor = VendorName | 'openai';

/** One configured upstream account, its credentials in clear: lives in memory only, never in an answer or a log. */
export interface Channel {
  readonly id: number;
  readonly name: string;
  readonly vendor: ChannelVendor;
  /** Without a path and trailing slash. */
  readonly baseUrl: string;
  readonly credentials: { readonly [key: string]: unknown };
  readonly options: { readonly [key: string]: unknown };
  /** `options.private`: its own base_url and artifacts may be private addresses. */
  readonly private: boolean;
  /** Public model ids it serves. */
  readonly models: readonly string[];
  readonly priority: number;
  readonly weight: number;
}

/** Price of a video or image model, whole quota; multipliers by factor and value, e.g. `{mode: {pro: 2}}`. */
export interface VideoPrice {
  readonly per_call: number;
  readonly per_second: number;
  readonly multipliers?: { readonly [factor: string]: { readonly [value: string]: number } };
}

/** Price of a chat model: whole quota per million tokens. */
export interface ChatPrice {
  readonly input_per_million: number;
  readonly output_per_million: number;
}

/** A model as callers name it, its alias followed (one step only). */
export interface ResolvedModel {
  /** The name the caller used, shown back to him and written to the books. */
  readonly id: string;
  /** The row that serves it: the alias target, or `id` itself. */
  readonly target: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: VideoPrice | ChatPrice;
  /** The media schema, a JSON Schema of the body. */
  readonly inputSchema?: TSchema;
}

/** What a call taught about a channel. `ok` heals it; `auth`, `billing`, `rate`, `capacity` and `unreachable` wear it down. */
export interface ChannelNews {
  readonly channelId: number;
  readonly model?: string;
  readonly outcome: 'ok' | ErrorReason | 'unreachable';
  readonly message?: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  /** `look`: the call asked about work under way, which tells less about new work. Default `submit`. */
  readonly during?: 'submit' | 'look';
}

/**
 * Upstream accounts and models: who can serve what, in which order, and who is resting. Rows are kept in memory and
 * re-read when their version in the database has moved, so that a change holds on every replica at the next request.
 */
export interface Channels {
  /** Undefined when the model does not exist or is disabled. */
  model(id: string): Promise<ResolvedModel | undefined>;
  /** Enabled public model ids that an enabled channel serves, for GET /v1/models. */
  listModels(): Promise<
    readonly {
      readonly id: string;
      readonly vendor: ChannelVendor;
      readonly kind: ResolvedModel['kind'];
      readonly createdAt: number;
    }[]
  >;
  /** Channels that serve a model just asked for with `model()`: highest priority first, by weight at random within one; resting ones are left out, unless all rest. */
  candidates(model: ResolvedModel): Promise<readonly Channel[]>;
  /** The channel a task is pinned to, enabled or not; undefined once deleted. */
  byId(id: number): Promise<Channel | undefined>;
  /** Remembers what a call taught; never throws and is not waited for. */
  report(news: ChannelNews): void;
}
