import { after } from 'node:test';
import type { Sandbox } from '../src/sandbox/kit.ts';
import { openOutbound } from '../src/server/platform/outbound/door.ts';
import type { OutboundAnswer } from '../src/server/platform/outbound/outbound.ts';
import { type VendorCall, VendorRefusal, type VideoRequest } from '../src/server/video/vendor.ts';

const outbound = openOutbound();
after(() => outbound.close());

export interface CallOptions extends Partial<Pick<VendorCall, 'options' | 'credentials' | 'loadImage'>> {
  /** Default 2 000. */
  readonly timeoutMs?: number;
}

/** What an adapter gets when it is asked for a channel to this simulator: the real door out, the sandbox's clock. */
export function vendorCall(sandbox: Sandbox, name: string, options: CallOptions = {}): VendorCall {
  const kept = new Map<string, { value: string; expiresAtMs: number }>();
  const now = () => sandbox.control.clock.now();
  const totalTimeoutMs = options.timeoutMs ?? 2_000;
  return {
    baseUrl: sandbox.url(name),
    credentials: options.credentials ?? sandbox.credentials(name),
    options: options.options ?? { private: true },
    now,
    json: (request) => outbound.json({ totalTimeoutMs, ...request, private: true }),
    loadImage:
      options.loadImage ?? (() => Promise.reject(new VendorRefusal('The picture could not be loaded.', 'image'))),
    async cached(key, make, rejected) {
      const found = kept.get(key);
      if (found && found.expiresAtMs > now() && found.value !== rejected) return found.value;
      const made = await make();
      kept.set(key, made);
      return made.value;
    },
    signal: new AbortController().signal,
  };
}

/** A call whose every exchange is answered with this, for recorded replies. */
export function answeringCall(answer: Partial<OutboundAnswer> & { readonly json?: unknown }, nowMs = 0): VendorCall {
  const text = answer.text ?? JSON.stringify(answer.json) ?? '';
  return {
    baseUrl: 'https://vendor.test',
    credentials: { api_key: 'key', access_key: 'access', secret_key: 'secret' },
    options: {},
    now: () => nowMs,
    json: async () => ({ status: 200, headers: {}, json: undefined, ...answer, text }),
    loadImage: () => Promise.reject(new VendorRefusal('no pictures here')),
    cached: async (_key, make) => (await make()).value,
    signal: new AbortController().signal,
  };
}

/** A request with nothing but what is given. */
export const videoRequest = (request: Partial<VideoRequest> & { readonly model: string }): VideoRequest => ({
  taskId: 'task_0123456789abcdefghijklmnopqrstuv',
  prompt: 'A paper boat drifting down a rainy street',
  images: [],
  metadata: {},
  extra: [],
  ...request,
});
