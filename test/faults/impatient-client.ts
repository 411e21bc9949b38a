import { type OutboundOptions, openOutbound } from '../../src/server/platform/outbound/client.ts';
import type { OutboundClient, OutboundRequest } from '../../src/server/platform/outbound/outbound.ts';

/** Timeouts in milliseconds that are short enough for a test. */
const BOUNDS = { connectTimeoutMs: 2_000, headersTimeoutMs: 2_000, idleTimeoutMs: 2_000 } as const;
const TOTAL_MS = 5_000;

const withShortTimeouts = <R extends OutboundRequest>(request: R): R => ({ ...request, ...BOUNDS });

/**
 * The real outbound client, with timeouts of a few seconds for everything except a body that keeps arriving.
 *
 * @param isPatient JSON calls that keep the real timeouts: on a slow machine, a call without a fault must not time out
 */
export function openWithShortTimeouts(
  options: OutboundOptions = {},
  isPatient: (request: OutboundRequest) => boolean = () => false,
): OutboundClient {
  const client = openOutbound(options);
  return {
    request: (request) => client.request(withShortTimeouts(request)),
    requestUntrusted: (request) => client.requestUntrusted(withShortTimeouts(request)),
    postUntrusted: (request) => client.postUntrusted(request),
    requestJson: (request) =>
      client.requestJson(isPatient(request) ? request : { ...withShortTimeouts(request), totalTimeoutMs: TOTAL_MS }),
    stream: (request, handler) => client.stream(withShortTimeouts(request), handler),
    close: (graceMs) => client.close(graceMs),
  };
}

/**
 * Short timeouts for files only. Calls keep theirs: on a machine that stalls, a submit whose response is lost would
 * wait many minutes for its vendor.
 */
export function openWithFileTimeouts(): OutboundClient {
  const client = openOutbound();
  return {
    request: (request) => client.request(withShortTimeouts(request)),
    requestUntrusted: (request) => client.requestUntrusted(withShortTimeouts(request)),
    postUntrusted: (request) => client.postUntrusted(request),
    requestJson: (request) => client.requestJson(request),
    stream: (request, handler) => client.stream(request, handler),
    close: (graceMs) => client.close(graceMs),
  };
}

/** Host names for tests: one that does not exist, one whose name server never responds. Others resolve to loopback. */
export const TEST_NAMES = { absent: 'absent.test', silent: 'silent.test' } as const;

/** Resolves {@link TEST_NAMES} in place of DNS. */
export const resolveTestNames: NonNullable<OutboundOptions['resolveConfigured']> = async (name) => {
  if (name === TEST_NAMES.absent) throw new Error('no such name');
  if (name === TEST_NAMES.silent) return new Promise(() => {});
  return [{ address: '127.0.0.1', family: 4 }];
};
