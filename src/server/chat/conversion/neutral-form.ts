import { CHAT_VENDORS, type ChatVendor } from '../../../contract/channels.ts';
import { tryParse } from '../sse.ts';
import type { Usage } from '../usage.ts';

/**
 * The neutral form every conversion passes through: what the dialects can say in common. Each dialect has one reader and one
 * writer of requests, of responses and of streams, so that four dialects need eight pairs of these and not twelve converters.
 */
export interface Conversation {
  readonly system: readonly TextPart[];
  /** Where the caller wrote the system's words and the turns. */
  readonly paths: { readonly system: string; readonly turns: string };
  readonly messages: readonly Message[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: Setting<boolean> | undefined;
  readonly format: OutputFormat | undefined;
  readonly reasoning: Reasoning | undefined;
  /** Numbers and lists that steer sampling, by their neutral name. */
  readonly settings: Settings;
}

/** A member of the request and where its caller wrote it. */
export interface Setting<Value> {
  readonly value: Value;
  readonly path: string;
}

interface Settings {
  readonly temperature?: Setting<number>;
  readonly topP?: Setting<number>;
  readonly topK?: Setting<number>;
  readonly seed?: Setting<number>;
  readonly presencePenalty?: Setting<number>;
  readonly frequencyPenalty?: Setting<number>;
  readonly stop?: Setting<readonly string[]>;
}

export interface Message {
  /** `system` only in the middle of a conversation. */
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
  readonly path: string;
}

/** Until here a prompt may be cached. */
export interface CacheMarker {
  readonly ttl: '5m' | '1h' | undefined;
  readonly path: string;
}

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly cache?: CacheMarker;
}

export interface MediaPart {
  readonly type: 'image' | 'document' | 'audio';
  /** Base64 with its media type, or a URL. */
  readonly source: { readonly mediaType: string; readonly data: string } | { readonly url: string };
  readonly name?: string;
  /** The detail a picture is read in, where its caller says so. */
  readonly detail?: Setting<string>;
  readonly cache?: CacheMarker;
  readonly path: string;
}

export interface CallPart {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  /** JSON text of an object. */
  readonly args: string;
  readonly cache?: CacheMarker;
  readonly path: string;
}

export interface ResultPart {
  readonly type: 'result';
  /** Of the call. */
  readonly id: string;
  readonly parts: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
  readonly cache?: CacheMarker;
  readonly path: string;
}

/** What a model thought. Its maker takes it back only with the signature it gave. */
export interface ThinkingPart {
  readonly type: 'thinking';
  readonly text: string;
  readonly signature: Signature | undefined;
  /** There is no text, only what the signature holds. */
  readonly isRedacted: boolean;
  readonly path: string;
}

/** The signature of a thought, which only upstreams of one vendor can read. */
export interface Signature {
  readonly vendor: ChatVendor;
  readonly value: string;
}

export type Part = TextPart | MediaPart | CallPart | ResultPart | ThinkingPart;

/** Parts with each thought in one piece: clients send back the deltas of a stream as they came, the signature in the last one. */
export function mergeThoughts(parts: readonly Part[]): Part[] {
  const merged: Part[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (part.type === 'thinking' && last?.type === 'thinking' && last.signature === undefined && last.text !== '')
      merged[merged.length - 1] = { ...part, text: last.text + part.text, isRedacted: false, path: last.path };
    else merged.push(part);
  }
  return merged;
}

export interface FunctionTool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema of an object. */
  readonly parameters: object;
  /** Arguments keep to the schema to the letter. */
  readonly strict: Setting<boolean> | undefined;
  readonly cache?: CacheMarker;
  /** Of a tool that its caller's dialect does not know as a plain function. */
  readonly origin?: ToolOrigin;
}

/** What a function is to the caller, whose calls of it are written so. */
export interface ToolOrigin {
  /** It takes one text in place of arguments. */
  readonly isFreeform: boolean;
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required';
  /** The one function to call. */
  readonly name?: string;
  readonly path: string;
}

export interface OutputFormat {
  readonly type: 'json' | 'schema';
  readonly schema?: unknown;
  readonly name?: string;
  readonly strict?: boolean;
  readonly path: string;
}

export interface Reasoning {
  /** `auto`: the model decides. */
  readonly mode: 'on' | 'off' | 'auto';
  readonly effort?: string;
  /** Tokens. */
  readonly budget?: number;
  readonly path: string;
}

/** `failed`: the upstream gave up, or gave a reason that is not known. */
export type StopReason = 'end' | 'length' | 'calls' | 'stop_sequence' | 'refused' | 'failed';

/** Media a model generated: base64, or the URL they can be fetched from. */
export interface GeneratedMedia {
  readonly mediaType: string;
  readonly data?: string;
  readonly url?: string;
}

/**
 * One event of a response; a complete response is a list of them. One `start` comes first and one `end` last. Between a call and its last
 * `args` nothing else comes, each call has an id of its own and a name, and calls are numbered from 0.
 */
export type ResponseEvent =
  | { readonly type: 'start'; readonly id: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** Ends a thought; `isRedacted`: the whole of one without text. */
  | { readonly type: 'signature'; readonly signature: Signature; readonly isRedacted: boolean }
  /** Begins a call of a function; `args` of the same index follow. */
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'args'; readonly index: number; readonly text: string }
  | { readonly type: 'media'; readonly media: GeneratedMedia }
  | {
      readonly type: 'end';
      readonly reason: StopReason;
      readonly stopSequence: string | undefined;
      readonly usage: Usage | undefined;
    };

const TAG = new RegExp(`^reelgate-(${CHAT_VENDORS.join('|')}):`);

/**
 * A signature in a dialect of another vendor than the one that gave it. It says whose it is, since it comes back with the next turn, which
 * may go to another model.
 */
export const tagSignature = ({ vendor, value }: Signature): string => `reelgate-${vendor}:${value}`;

/** @param own the vendor of signatures without a tag; undefined: nobody's */
export function readSignature(text: unknown, own: ChatVendor | undefined): Signature | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const vendor = TAG.exec(text)?.[1] as ChatVendor | undefined;
  if (vendor !== undefined) return { vendor, value: text.slice(`reelgate-${vendor}:`.length) };
  return own === undefined ? undefined : { vendor: own, value: text };
}

/**
 * What upstreams in OpenAI's dialect give in place of a signature: `reasoning_details` (OpenRouter) or the `extra_content` of a call (Google). They
 * want it back as it was, so the signature holds its JSON.
 */
type OpaqueKind = 'reasoning_details' | 'extra_content';

export const packOpaque = (kind: OpaqueKind, value: unknown): Signature => ({
  vendor: 'openai',
  value: `${kind}:${Buffer.from(JSON.stringify(value)).toString('base64url')}`,
});

const OPAQUE = /^(reasoning_details|extra_content):([\w-]+)$/;

/** Undefined for all other signatures. */
export function unpackOpaque(
  signature: Signature | undefined,
): { readonly kind: OpaqueKind; readonly value: unknown } | undefined {
  const [, kind, packed] = (signature?.vendor === 'openai' && OPAQUE.exec(signature.value)) || [];
  const value = packed === undefined ? undefined : tryParse(Buffer.from(packed, 'base64url').toString('utf8'));
  return value === undefined ? undefined : { kind: kind as OpaqueKind, value };
}

/** The system's words before the first turn, and the turns. */
export function splitLeadingSystemMessages(all: readonly Message[]): {
  readonly system: readonly TextPart[];
  readonly messages: readonly Message[];
} {
  const begin = all.findIndex(({ role }) => role !== 'system');
  const leading = begin === -1 ? all : all.slice(0, begin);
  return {
    system: leading.flatMap(({ parts }) => parts.filter((part) => part.type === 'text')),
    messages: begin === -1 ? [] : all.slice(begin),
  };
}

/** What the upstream decides of a request, beside what its caller says. */
export interface UpstreamRequestParameters {
  /** Name of the model at the upstream. */
  readonly model: string;
  /** Tokens of the response; always sent, as so much was reserved. */
  readonly maxTokens: number;
  /** The member that holds them, where upstreams of one dialect differ in it. */
  readonly maxTokensKey: string;
  readonly stream: boolean;
}
