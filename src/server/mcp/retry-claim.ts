import { hash } from 'node:crypto';
import { isObject } from '../../contract/objects.ts';
import type { IdempotencyClaim } from '../video/idempotency.ts';
import type { RpcId } from './message.ts';

/** Identifies a call, for repetitions of it. */
export interface CallIdentity {
  readonly id: RpcId;
  /** `Mcp-Session-Id`; undefined without a session. */
  readonly session: string | undefined;
}

/** Time in which a call without session and key counts as a repetition. */
const RETRY_MS = 10 * 60_000;

/**
 * The claim under which a call starts one video, however often it is repeated. By `idempotency_key`, if the caller gives
 * one. Otherwise by the JSON-RPC id together with the arguments: inside a session an id is used once. Without a session
 * every conversation counts from 0, so that id and arguments prove a repetition for a short time only.
 */
export function toRetryClaim(
  tokenId: number,
  tool: string,
  { idempotency_key: key, ...given }: { readonly idempotency_key?: string; readonly [name: string]: unknown },
  { id, session }: CallIdentity,
): IdempotencyClaim {
  const requestHash = hash('sha256', stringifySorted([tool, given]));
  // Keys of the HTTP header contain no spaces, so these never meet them.
  if (key !== undefined) return { scope: tokenId, key: `mcp key ${hash('sha256', key)}`, requestHash };
  const call = hash('sha256', JSON.stringify([session ?? null, id, requestHash]));
  const claim = { scope: tokenId, key: `mcp call ${call}`, requestHash };
  return session === undefined ? { ...claim, ttlMs: RETRY_MS } : claim;
}

/** JSON that does not depend on the order of members. */
const stringifySorted = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
