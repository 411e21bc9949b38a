/** A caller of /mcp that writes its messages itself. */
export interface RawReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: RpcBody;
}

interface RpcBody {
  readonly id?: unknown;
  readonly result?: { readonly [name: string]: never } & ToolResult;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[];
  readonly structuredContent?: { readonly [name: string]: unknown };
  readonly isError?: boolean;
  readonly _meta?: { readonly error?: { readonly code: string; readonly param?: string } };
}

const VERSION = '2026-07-28';

/** Sends a body as it is, to `/mcp` of a service. */
export async function postMcp(
  baseUrl: string,
  key: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<RawReply> {
  const response = await fetch(`${baseUrl}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

/** The envelope of 2026-07-28. */
export const envelopeOf = (capabilities: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
});

/** Headers of a request of 2026-07-28. */
export const headersOf = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': VERSION,
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

/** A call of a tool in the versions with a handshake. */
export const toolCall = (name: string, given: object, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
});
