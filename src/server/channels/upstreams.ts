import Type, { type TSchema } from 'typebox';
import type { VendorCall, VendorError, VideoVendor } from '../video/vendor.ts';
import type { Vendors } from '../video/vendors.ts';
import type { ChannelVendor } from './channels.ts';

/** What the administration needs to know of a kind of upstream. */
export interface ChannelProfile {
  readonly title: string;
  readonly defaultBaseUrl: string;
  /** JSON Schema of the credentials. */
  readonly credentials: TSchema;
  probe(call: VendorCall): Promise<ProbeOutcome>;
}

export type ProbeOutcome =
  | { readonly ok: true; readonly models?: readonly string[] }
  | { readonly ok: false; readonly error: Pick<VendorError, 'reason' | 'code' | 'message'> };

/** Profiles by vendor: those of the video adapters, and OpenAI's protocol for chat. */
export class ChannelProfiles {
  readonly #vendors: Vendors;
  constructor(vendors: Vendors) {
    this.#vendors = vendors;
  }

  of(vendor: ChannelVendor): ChannelProfile {
    return vendor === 'openai' ? OPENAI : this.#vendors.get(vendor);
  }

  capability(vendor: ChannelVendor, model: string): VideoVendor['models'][number] | undefined {
    return vendor === 'openai' ? undefined : this.#vendors.get(vendor).models.find(({ id }) => id === model);
  }
}

const MAX_MODELS = 200;

const OPENAI: ChannelProfile = {
  title: 'OpenAI',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: Type.Object(
    { api_key: Type.String({ minLength: 1, maxLength: 4096 }) },
    { additionalProperties: false },
  ),
  /** The list of models needs the key and costs nothing (platform.openai.com/docs/api-reference/models/list). */
  async probe(call) {
    const { status, json } = await call.json({
      method: 'GET',
      url: `${call.baseUrl}/v1/models`,
      headers: { authorization: `Bearer ${String(call.credentials.api_key)}`, accept: 'application/json' },
    });
    if (status === 200) return { ok: true, models: modelsIn(json) };
    const error = (json as { error?: { message?: unknown; code?: unknown } } | null | undefined)?.error;
    return {
      ok: false,
      error: {
        reason: REASONS[status] ?? (status >= 500 ? 'capacity' : 'other'),
        code: typeof error?.code === 'string' ? error.code : '',
        message: typeof error?.message === 'string' ? error.message : `HTTP ${status}`,
      },
    };
  },
};

const REASONS: Readonly<Record<number, VendorError['reason']>> = {
  401: 'auth',
  403: 'auth',
  402: 'billing',
  429: 'rate',
};

function modelsIn(json: unknown): string[] {
  const { data } = (json ?? {}) as { readonly data?: unknown };
  if (!Array.isArray(data)) return [];
  return data
    .map((each: { readonly id?: unknown } | null) => each?.id)
    .filter((id) => typeof id === 'string')
    .slice(0, MAX_MODELS);
}
