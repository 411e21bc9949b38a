import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import type { BufferedResponse, OutboundClient } from '../../src/server/platform/outbound/outbound.ts';
import type { AdapterContext } from '../../src/server/upstreams/upstream.ts';
import type { VideoRequest } from '../../src/server/vendors/adapter.ts';

let outbound: OutboundClient | undefined;

/** The client of all tests of a process; its connections end with the simulators. */
function sharedOutbound(): OutboundClient {
  outbound ??= openOutbound();
  return outbound;
}

/** Overrides of an adapter context; `timeoutMs` limits each request. */
export interface ContextOptions extends Partial<Pick<AdapterContext, 'options' | 'credentials'>> {
  /** Default: 2,000. */
  readonly timeoutMs?: number;
}

/** An adapter context for a channel to this simulator, with the real outbound client and the sandbox's clock. */
export function sandboxContext(sandbox: Sandbox, name: string, options: ContextOptions = {}): AdapterContext {
  const kept = new Map<string, { value: string; expiresAtMs: number }>();
  const now = () => sandbox.control.clock.now();
  const totalTimeoutMs = options.timeoutMs ?? 2_000;
  return {
    baseUrl: sandbox.url(name),
    credentials: options.credentials ?? sandbox.credentials(name),
    options: options.options ?? { private: true },
    now,
    sendJson: (request) => sharedOutbound().requestJson({ totalTimeoutMs, ...request, private: true }),
    async cachedSecret(key, make, rejected) {
      const found = kept.get(key);
      if (found && found.expiresAtMs > now() && found.value !== rejected) return found.value;
      const made = await make();
      kept.set(key, made);
      return made.value;
    },
    signal: new AbortController().signal,
  };
}

/** A context in which every request returns this response, for recorded responses. */
export function fixedResponseContext(
  answer: Partial<BufferedResponse> & { readonly json?: unknown },
  nowMs = 0,
): AdapterContext {
  const text = answer.text ?? JSON.stringify(answer.json) ?? '';
  return {
    baseUrl: 'https://vendor.test',
    credentials: { api_key: 'key', access_key: 'access', secret_key: 'secret' },
    options: {},
    now: () => nowMs,
    sendJson: async () => ({ status: 200, headers: {}, json: undefined, ...answer, text }),
    cachedSecret: async (_key, make) => (await make()).value,
    signal: new AbortController().signal,
  };
}

/** A request with only the given fields. */
export const videoRequest = (request: Partial<VideoRequest> & { readonly model: string }): VideoRequest => ({
  taskId: 'task_0123456789abcdefghijklmnopqrstuv',
  prompt: 'A paper boat drifting down a rainy street',
  images: [],
  metadata: {},
  extraFields: [],
  ...request,
});
