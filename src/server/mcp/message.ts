import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type UntrustedObject } from '../../contract/objects.ts';

/** Versions that begin with an `initialize` handshake, newest first. */
export const HANDSHAKE_VERSIONS = ['2025-11-25', '2025-06-18'] as const;
/** Versions in which every request states version and capabilities in its envelope, newest first. */
export const ENVELOPE_VERSIONS = ['2026-07-28'] as const;

/** JSON-RPC 2.0 section 5.1, and the codes of MCP 2026-07-28 (basic, "Error Codes"). */
const RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

export type RpcId = string | number;

/** A failure of the protocol, with the HTTP status it is sent with. */
export class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: object | undefined;
  /** Of the request, where it could be read. */
  readonly id: RpcId | undefined;
  constructor(
    kind: keyof typeof RPC_ERRORS,
    message: string,
    { status = 400, data, id }: { readonly status?: number; readonly data?: object; readonly id?: RpcId } = {},
  ) {
    super(message);
    this.code = RPC_ERRORS[kind];
    this.status = status;
    this.data = data;
    this.id = id;
  }
}

/** The client's part of a request of 2026-07-28. */
interface Envelope {
  readonly capabilities: UntrustedObject;
  /** `name version` of the client. */
  readonly client: string | undefined;
}

export interface RpcRequest {
  readonly kind: 'request';
  readonly id: RpcId;
  readonly method: string;
  readonly params: UntrustedObject;
  /** Undefined in the versions with a handshake. */
  readonly envelope: Envelope | undefined;
}

/** A message without an answer: a notification, or a response to a request that this server never sends. */
interface RpcNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: UntrustedObject;
}

type Headers = Pick<IncomingHttpHeaders, string>;

/**
 * Parses one JSON-RPC message and finds its version: by the envelope in its body, which the headers must repeat,
 * otherwise by the header alone.
 * @throws RpcError
 */
export function parseMessage(body: unknown, headers: Headers): RpcRequest | RpcNotification {
  if (body === undefined) throw new RpcError('parse', 'The body is empty.');
  if (Array.isArray(body)) throw new RpcError('invalidRequest', 'Batches are not supported: send one message.');
  if (!isObject(body)) throw new RpcError('invalidRequest', 'The body is not a JSON-RPC message.');
  const { jsonrpc, method } = body;
  // Some clients write null for no parameters.
  const params = body.params ?? {};
  const id = isId(body.id) ? body.id : undefined;
  if (jsonrpc !== '2.0') throw new RpcError('invalidRequest', 'jsonrpc must be "2.0".', { id });
  if (method === undefined && ('result' in body || 'error' in body))
    return { kind: 'notification', method: '', params: {} };
  if (typeof method !== 'string') throw new RpcError('invalidRequest', 'method must be a string.', { id });
  if ('id' in body && id === undefined) throw new RpcError('invalidRequest', 'id must be a string or an integer.');
  if (!isObject(params)) throw new RpcError('invalidRequest', 'params must be an object.', { id });
  if (id === undefined) {
    assertNotificationHeaders({ method, params }, headers);
    return { kind: 'notification', method, params };
  }
  return { kind: 'request', id, method, params, envelope: readEnvelope({ id, method, params }, headers) };
}

const isId = (value: unknown): value is RpcId => typeof value === 'string' || Number.isSafeInteger(value);

const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';

const versionOf = (headers: Headers): string | undefined => headers['mcp-protocol-version'] as string | undefined;
const hasEnvelopes = (version: string | undefined): boolean =>
  version !== undefined && /^\d{4}-\d\d-\d\d$/.test(version) && version >= ENVELOPE_VERSIONS[0];

/** The envelope of a request, checked; undefined for the versions with a handshake. */
function readEnvelope(
  { id, method, params }: Pick<RpcRequest, 'id' | 'method' | 'params'>,
  headers: Headers,
): Envelope | undefined {
  const version = versionOf(headers);
  const meta = isObject(params._meta) ? params._meta : {};
  if (PROTOCOL_VERSION in meta) {
    const envelope = parseEnvelope(meta, id);
    assertHeaders({ id, method, params }, meta[PROTOCOL_VERSION] as string, headers);
    return envelope;
  }
  if (method === 'initialize') {
    if (hasEnvelopes(version)) throw mismatch(`${version} has no initialize`, id);
    return undefined;
  }
  if (hasEnvelopes(version)) {
    const missing = [PROTOCOL_VERSION, CLIENT_CAPABILITIES].filter((key) => !(key in meta));
    throw new RpcError('invalidParams', `The _meta of a request of ${version} lacks ${missing.join(' and ')}.`, {
      id,
      data: { envelope: { missing } },
    });
  }
  assertHandshakeVersion(version, id);
  return undefined;
}

function parseEnvelope(meta: UntrustedObject, id: RpcId): Envelope {
  const { [PROTOCOL_VERSION]: version, [CLIENT_CAPABILITIES]: capabilities, [CLIENT_INFO]: info } = meta;
  const fail = (key: string, problem: string): RpcError =>
    new RpcError('invalidParams', `${key} in _meta ${problem}.`, { id, data: { envelope: { key, problem } } });
  if (typeof version !== 'string') throw fail(PROTOCOL_VERSION, 'must be a string');
  if (!isObject(capabilities)) throw fail(CLIENT_CAPABILITIES, 'must be an object');
  if (info === undefined) return { capabilities, client: undefined };
  if (!isObject(info) || typeof info.name !== 'string' || typeof info.version !== 'string')
    throw fail(CLIENT_INFO, 'must be an object with name and version');
  return { capabilities, client: `${info.name} ${info.version}` };
}

/** Parameters that the header `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Proxies decide by the headers and the service by the body, so that the two must agree. */
function assertHeaders(
  { id, method, params }: Pick<RpcRequest, 'id' | 'method' | 'params'>,
  version: string,
  headers: Headers,
): void {
  const named = versionOf(headers);
  const { 'mcp-method': namedMethod, 'mcp-name': namedName } = headers;
  if (named !== undefined && named !== version)
    throw mismatch(`MCP-Protocol-Version is ${named}, the body has ${version}`, id);
  if (namedMethod !== undefined && namedMethod !== method)
    throw mismatch(`Mcp-Method is ${namedMethod}, the body has ${method}`, id);
  if (!(ENVELOPE_VERSIONS as readonly string[]).includes(version))
    throw unsupportedVersion(version, ENVELOPE_VERSIONS, id);
  if (named === undefined) throw mismatch('MCP-Protocol-Version is missing', id);
  if (namedMethod === undefined) throw mismatch('Mcp-Method is missing', id);
  const name = Object.hasOwn(NAMED_BY, method) ? params[NAMED_BY[method] ?? ''] : undefined;
  if (typeof name !== 'string') return;
  if (typeof namedName !== 'string') throw mismatch('Mcp-Name is missing', id);
  if (decodeName(namedName) !== name) throw mismatch('Mcp-Name differs from the body', id);
}

/** A name that a header cannot hold is sent as `=?base64?…?=`. */
const decodeName = (text: string): string => {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(text)?.[1];
  return encoded === undefined ? text : Buffer.from(encoded, 'base64').toString();
};

const mismatch = (what: string, id?: RpcId): RpcError =>
  new RpcError('headerMismatch', `Header and body must agree: ${what}.`, { id });

const unsupportedVersion = (requested: string, supported: readonly string[], id?: RpcId): RpcError =>
  new RpcError('unsupportedVersion', `The protocol version ${requested} is not supported.`, {
    id,
    data: { supported, requested },
  });

/** @param version of the header, which the first clients omit */
function assertHandshakeVersion(version: string | undefined, id?: RpcId): void {
  if (version !== undefined && !(HANDSHAKE_VERSIONS as readonly string[]).includes(version))
    throw unsupportedVersion(version, [...ENVELOPE_VERSIONS, ...HANDSHAKE_VERSIONS], id);
}

/** A notification may lack the headers; those it has must agree with the body. */
function assertNotificationHeaders({ method, params }: Pick<RpcRequest, 'method' | 'params'>, headers: Headers): void {
  const version = versionOf(headers);
  const { 'mcp-method': namedMethod } = headers;
  const claimed = isObject(params._meta) ? params._meta[PROTOCOL_VERSION] : undefined;
  if (claimed !== undefined && typeof claimed !== 'string')
    throw new RpcError('invalidParams', `${PROTOCOL_VERSION} in _meta must be a string.`);
  if (claimed !== undefined && version !== undefined && claimed !== version)
    throw mismatch(`MCP-Protocol-Version is ${version}, the body has ${claimed}`);
  if (namedMethod !== undefined && namedMethod !== method && hasEnvelopes(version ?? claimed))
    throw mismatch(`Mcp-Method is ${namedMethod}, the body has ${method}`);
  if (!hasEnvelopes(version)) assertHandshakeVersion(version);
}
