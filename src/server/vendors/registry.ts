import { LRUCache } from 'lru-cache';
import type { VendorId } from '../../contract/model-kinds.ts';
import {
  type CredentialField,
  listCredentialForms,
  type ModelCapability,
  type ModelLifecycle,
  type VendorAdapter,
  type VendorProfile,
} from './adapter.ts';
import { anthropic, gemini, openai } from './chat-vendors.ts';
import { hailuo } from './hailuo/adapter.ts';
import { jimeng } from './jimeng/adapter.ts';
import { kling } from './kling/adapter.ts';
import { lifecyclesOf } from './model-lifecycles.ts';
import { runway } from './runway/adapter.ts';
import { seedance } from './seedance/adapter.ts';
import { sora } from './sora/adapter.ts';
import { estimatePrice, isUncallable } from './suggested-prices.ts';
import { veo } from './veo/adapter.ts';
import { vidu } from './vidu/adapter.ts';
import { wan } from './wan/adapter.ts';
import { xai } from './xai/adapter.ts';

/** Every supported video vendor, in the order in which they are displayed. A new vendor is added here. */
export const VENDOR_ADAPTERS: readonly VendorAdapter[] = [
  kling,
  jimeng,
  hailuo,
  seedance,
  wan,
  veo,
  vidu,
  sora,
  runway,
  xai,
];

/** Vendors whose accounts only serve chat. */
const CHAT_PROFILES: readonly VendorProfile[] = [openai, anthropic, gemini];

interface InitialModel {
  readonly id: string;
  readonly vendor: VendorId;
  readonly kind: 'video' | 'image';
  readonly price: ModelCapability['price'];
}

const MAX_KNOWN_LIFECYCLES = 2_000;

/** Finds vendors by name. */
export class VendorRegistry {
  readonly #adapters: ReadonlyMap<string, VendorAdapter>;
  readonly #profiles: ReadonlyMap<string, VendorProfile>;
  /** Cached by vendor and model, because every model call reads them; administrators create a few hundred. */
  readonly #lifecycles = new LRUCache<string, readonly ModelLifecycle[]>({ max: MAX_KNOWN_LIFECYCLES });

  constructor(adapters: readonly VendorAdapter[] = VENDOR_ADAPTERS, chat: readonly VendorProfile[] = CHAT_PROFILES) {
    this.#adapters = new Map(adapters.map((adapter) => [adapter.name, adapter]));
    this.#profiles = new Map([...adapters, ...chat].map((profile) => [profile.name, profile]));
  }

  /** @throws Error for a name without a video adapter. */
  get(name: string): VendorAdapter {
    const vendor = this.#adapters.get(name);
    if (vendor === undefined) throw new Error(`no adapter for vendor ${name}`);
    return vendor;
  }

  /** The video adapter of that name, if it is one. */
  find(name: string): VendorAdapter | undefined {
    return this.#adapters.get(name);
  }

  /**
   * Any vendor, of videos or of chat.
   * @throws Error for an unknown name.
   */
  profile(name: string): VendorProfile {
    const profile = this.#profiles.get(name);
    if (profile === undefined) throw new Error(`no vendor ${name}`);
    return profile;
  }

  get profiles(): readonly VendorProfile[] {
    return [...this.#profiles.values()];
  }

  /** Known lifecycles of a model, by route. */
  lifecycles(vendor: string, model: string): readonly ModelLifecycle[] {
    const key = `${vendor} ${model}`;
    const known = this.#lifecycles.get(key) ?? lifecyclesOf(vendor, model);
    this.#lifecycles.set(key, known);
    return known;
  }

  /** The host of a channel's calls. */
  hostOf(channel: Parameters<NonNullable<VendorAdapter['hostOf']>>[0] & { readonly vendor: string }): string {
    return this.find(channel.vendor)?.hostOf?.(channel) ?? new URL(channel.baseUrl).host;
  }

  /** Capabilities of a video model; undefined for models the adapter does not list, and for chat. */
  capability(vendor: string, model: string): ModelCapability | undefined {
    return this.find(vendor)?.models.find(({ id }) => id === model);
  }

  /** Model rows to insert at first start, at the adapters' own prices. */
  get initialModels(): readonly InitialModel[] {
    return [...this.#adapters.values()].flatMap(({ name: vendor, models, images }) => [
      ...models.map(({ id, price }) => ({ id, price, vendor, kind: 'video' }) as const),
      ...(images?.models ?? []).map(
        ({ id, perCall }) => ({ id, price: { per_call: perCall, per_second: 0 }, vendor, kind: 'image' }) as const,
      ),
    ]);
  }

  /** Known prices of models, and estimates by name for all others, as suggestions to administrators. */
  get knownPrices() {
    return { shipped: this.initialModels, estimate: estimatePrice, isUncallable } as const;
  }

  /** Whether the vendor's accounts use one of the chat protocols. */
  isChat(name: string): boolean {
    return this.#profiles.has(name) && !this.#adapters.has(name);
  }

  /** The fields of a form: one list for each valid set of credentials. */
  credentialForms(name: string): readonly (readonly CredentialField[])[] {
    return listCredentialForms(this.profile(name).credentials);
  }

  has(name: string): name is VendorId {
    return this.#adapters.has(name);
  }
}
