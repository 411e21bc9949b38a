import { type OutboundOptions, openOutbound } from '../../src/server/platform/outbound/door.ts';
import type { Outbound, OutboundRequest } from '../../src/server/platform/outbound/outbound.ts';

/** Milliseconds; what a test can wait for. */
const BOUNDS = { connectTimeoutMs: 2_000, headersTimeoutMs: 2_000, idleTimeoutMs: 2_000 } as const;
const TOTAL_MS = 5_000;

const narrow = <R extends OutboundRequest>(request: R): R => ({ ...request, ...BOUNDS });

/** The real door out, which waits for nothing longer than a few seconds but a body that keeps coming. */
export function openImpatient(options: OutboundOptions = {}): Outbound {
  const door = openOutbound(options);
  return {
    configured: (request) => door.configured(narrow(request)),
    stranger: (request) => door.stranger(narrow(request)),
    json: (request) => door.json({ ...narrow(request), totalTimeoutMs: TOTAL_MS }),
    stream: (request, handler) => door.stream(narrow(request), handler),
    close: (graceMs) => door.close(graceMs),
  };
}

/** Names a test can give a configured host: one that does not exist, one whose name server never answers, and loopback. */
export const TEST_NAMES = { absent: 'absent.test', silent: 'silent.test' } as const;

export const resolveTestNames: NonNullable<OutboundOptions['resolveConfigured']> = async (name) => {
  if (name === TEST_NAMES.absent) throw new Error('no such name');
  if (name === TEST_NAMES.silent) return new Promise(() => {});
  return [{ address: '127.0.0.1', family: 4 }];
};
