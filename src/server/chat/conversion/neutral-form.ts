import { createHash } from 'node:crypto';
import { CHAT_VENDORS, type ChatVendor } from '../../../contract/channels.ts';
import { tryParse } from '../../platform/json.ts';
import type { Usage } from '../usage.ts';

/**
 * The neutral form every conversion passes through: the content that the dialects
 * have in common. Each dialect has one reader and one writer for requests, responses
 * and streams, so that four dialects need eight of each and not twelve converters.
 */
export interface Conversation {
  readonly system: readonly TextPart[];
  /** Paths of the system prompt and the turns in the caller's request. */
  readonly paths: { readonly system: string; readonly turns: string };
  readonly messages: readonly Message[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: Setting<boolean> | undefined;
  readonly format: OutputFormat | undefined;
  readonly reasoning: Reasoning | undefined;
  /** Numbers and lists that control sampling, by their neutral name. */
  readonly settings: Settings;
}

/** A member of the request and its path in the caller's request. */
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

/** One turn of a conversation. */
export interface Message {
  /** `system` only within a conversation. */
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
  readonly path: string;
}

/** Marks the end of a prompt prefix that may be cached. */
export interface CacheMarker {
  readonly ttl: '5m' | '1h' | undefined;
  readonly path: string;
}

/** A text of a message. */
export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly cache?: CacheMarker;
}

/** An image or other media of a message. */
export interface MediaPart {
  readonly type: 'image' | 'document' | 'audio';
  /** Base64 with its media type, or a URL. */
  readonly source: { readonly mediaType: string; readonly data: string } | { readonly url: string };
  readonly name?: string;
  /** The level of detail of an image, if the caller sets one. */
  readonly detail?: Setting<string>;
  readonly cache?: CacheMarker;
  readonly path: string;
}

/** A function call by the model. */
export interface CallPart {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  /** JSON text of an object. */
  readonly args: string;
  readonly cache?: CacheMarker;
  readonly path: string;
}

/** The result of a function call. */
export interface ResultPart {
  readonly type: 'result';
  /** Id of the call. */
  readonly id: string;
  readonly parts: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
  readonly cache?: CacheMarker;
  readonly path: string;
}

/** Reasoning of a model. Its vendor accepts it back only with the signature it returned. */
export interface ThinkingPart {
  readonly type: 'thinking';
  readonly text: string;
  readonly signature: Signature | undefined;
  /** Whether there is no text and only the signature holds content. */
  readonly isRedacted: boolean;
  readonly path: string;
}

/** The signature of reasoning, which only upstreams of one vendor can read. */
export interface Signature {
  readonly vendor: ChatVendor;
  readonly value: string;
}

/** A part of a message. */
export type Part = TextPart | MediaPart | CallPart | ResultPart | ThinkingPart;

/**
 * Merges each reasoning into one part: clients send back the deltas of a stream as they arrived, with the signature in
 * the last one.
 */
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

/**
 * Gives each call an id of its own, and its result the same one. Some upstreams number the calls of every response from
 * 0, so ids recur in later turns; Anthropic refuses that, and names of results would be looked up wrongly. The new ids
 * depend only on what precedes them, so that a longer conversation keeps its cached prefix.
 */
export function withUniqueCallIds(messages: readonly Message[]): readonly Message[] {
  const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? [part.id] : [])));
  if (new Set(ids).size === ids.length && !ids.includes('')) return messages;
  const used = new Set<string>();
  /** Ids given to the calls of the newest turn that have no result yet, by their ids in the request. */
  const open = new Map<string, string[]>();
  const newest = new Map<string, string>();
  const begin = (id: string): string => {
    const base = id === '' ? 'call' : id;
    let given = base;
    for (let count = 2; used.has(given); count++) given = `${base}_${count}`;
    used.add(given);
    open.set(id, [...(open.get(id) ?? []), given]);
    newest.set(id, given);
    return given;
  };
  return messages.map((message) => {
    if (message.role === 'assistant') open.clear();
    const parts = message.parts.map((part) => {
      if (part.type === 'call') return { ...part, id: begin(part.id) };
      if (part.type === 'result') return { ...part, id: open.get(part.id)?.shift() ?? newest.get(part.id) ?? part.id };
      return part;
    });
    return { ...message, parts };
  });
}

/** An id of a call with at most this many characters; OpenAI limits them, and some gateways put signatures into theirs. */
export const toShortId = (id: string, most: number): string =>
  id.length <= most ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;

/** Maximum characters of a function's name that all vendors accept. */
const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 8;
/** Names that all vendors accept; Google's own may also contain dots and colons. */
const ACCEPTED_NAME = /^[a-zA-Z_][\w-]{0,63}$/;

/** A name that all vendors accept in place of one that some refuse; it depends on that name alone. */
function toAcceptedName(name: string): string {
  if (ACCEPTED_NAME.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  const readable = name.replace(/[^\w-]/g, '_').replace(/^(?=[\d-])/, '_');
  return `${readable.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/**
 * Renames functions whose names some vendors refuse, such as long ones of MCP servers, and with them the whole request.
 *
 * @returns the callers' names by those sent to the upstream
 */
export function withAcceptedNames(conversation: Conversation): {
  readonly renamed: Conversation;
  readonly names: ReadonlyMap<string, string>;
} {
  const names = new Map<string, string>();
  const rename = <Named extends { readonly name?: string }>(given: Named): Named => {
    const { name } = given;
    if (name === undefined || ACCEPTED_NAME.test(name)) return given;
    const accepted = toAcceptedName(name);
    names.set(accepted, name);
    return { ...given, name: accepted };
  };
  const renamed = {
    ...conversation,
    tools: conversation.tools.map(rename),
    toolChoice: conversation.toolChoice && rename(conversation.toolChoice),
    messages: conversation.messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) => (part.type === 'call' ? rename(part) : part)),
    })),
  };
  return names.size === 0 ? { renamed: conversation, names } : { renamed, names };
}

/** A function the model may call. */
export interface FunctionTool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema of an object. */
  readonly parameters: object;
  /** Whether arguments must follow the schema exactly. */
  readonly strict: Setting<boolean> | undefined;
  readonly cache?: CacheMarker;
  /** Set for a tool that is not a plain function in the caller's dialect. */
  readonly origin?: ToolOrigin;
}

/** The caller's tool that a function represents; calls are written in its form. */
export interface ToolOrigin {
  /** Whether the tool takes one text instead of arguments. */
  readonly isFreeform: boolean;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Of tools with one name, which Anthropic and Google refuse, the latest counts. */
export const uniqueTools = (tools: readonly FunctionTool[]): readonly FunctionTool[] => [
  ...new Map(tools.map((tool) => [tool.name, tool])).values(),
];

/** Whether, and which, function the model must call. */
export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required';
  /** The only function the model may call. */
  readonly name?: string;
  /** The only functions that are offered, if not all are. */
  readonly allowed?: readonly string[];
  readonly path: string;
}

/** The required format of the response. */
export interface OutputFormat {
  readonly type: 'json' | 'schema';
  readonly schema?: unknown;
  readonly name?: string;
  readonly strict?: boolean;
  readonly path: string;
}

/** Reasoning settings of a request. */
export interface Reasoning {
  /** `auto`: the model decides. */
  readonly mode: 'on' | 'off' | 'auto';
  readonly effort?: string;
  /** Budget in tokens. */
  readonly budget?: number;
  readonly path: string;
}

/** `failed`: the upstream aborted, or sent an unknown reason. */
export type StopReason = 'end' | 'length' | 'calls' | 'stop_sequence' | 'refused' | 'failed';

/** Media a model generated: Base64, or a URL to fetch them from. */
export interface GeneratedMedia {
  readonly mediaType: string;
  readonly data?: string;
  readonly url?: string;
}

/** A part of a text, from one offset up to another, as JavaScript counts. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A web page that a text cites. */
export interface Citation {
  readonly url: string;
  readonly title: string | undefined;
  /** The words of the page. */
  readonly citedText: string | undefined;
  /** The text that cites it, in the joined texts of the response; undefined if the upstream does not say. */
  readonly range: TextRange | undefined;
}

/**
 * One event of a response; a complete response is a list of them. The first is `start` and the last is `end`. No other
 * event comes between a call and its last `args`, each call has its own id and a name, and calls are numbered from 0. A
 * citation follows its text.
 */
export type ResponseEvent =
  | { readonly type: 'start'; readonly id: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'citation'; readonly citation: Citation }
  | { readonly type: 'thinking'; readonly text: string }
  /** Ends reasoning; `isRedacted`: the whole of a reasoning without text. */
  | { readonly type: 'signature'; readonly signature: Signature; readonly isRedacted: boolean }
  /** Starts a function call; `args` of the same index follow. */
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'args'; readonly index: number; readonly text: string }
  | { readonly type: 'media'; readonly media: GeneratedMedia }
  | {
      readonly type: 'end';
      readonly reason: StopReason;
      readonly stopSequence: string | undefined;
      readonly usage: Usage | undefined;
    };

/** Written where a dialect's reasoning must be marked as ours, but its upstream did not sign it. */
export const UNSIGNED = 'reelgate-none:';
const TAG = new RegExp(`^reelgate-(${CHAT_VENDORS.join('|')}|none):`);

/**
 * Tags a signature for the dialect of another vendor with the vendor that created it, because it is sent back with the
 * next turn, which may go to another model.
 */
export const tagSignature = ({ vendor, value }: Signature): string => `reelgate-${vendor}:${value}`;

/** Whether a value is a signature that our conversion wrote. */
export const isTagged = (text: unknown): boolean => typeof text === 'string' && TAG.test(text);

/** @param own the vendor of signatures without a tag; undefined: no vendor */
export function readSignature(text: unknown, own: ChatVendor | undefined): Signature | undefined {
  if (typeof text !== 'string' || text === '' || text === UNSIGNED) return undefined;
  const vendor = TAG.exec(text)?.[1] as ChatVendor | undefined;
  if (vendor !== undefined) return { vendor, value: text.slice(`reelgate-${vendor}:`.length) };
  return own === undefined ? undefined : { vendor: own, value: text };
}

/**
 * Kinds of values that upstreams in OpenAI's dialect return instead of a signature: `reasoning_details` (OpenRouter),
 * further members of a message, or of a call. They require them back unchanged, so the signature contains their JSON.
 */
type OpaqueKind = 'reasoning_details' | 'message_extras' | 'call_extras';

/** Packs such a value into a signature. */
export const packOpaque = (kind: OpaqueKind, value: unknown): Signature => ({
  vendor: 'openai',
  value: `${kind}:${Buffer.from(JSON.stringify(value)).toString('base64url')}`,
});

const OPAQUE = /^(reasoning_details|message_extras|call_extras):([\w-]+)$/;

/** Unpacks such a value; undefined for all other signatures. */
export function unpackOpaque(
  signature: Signature | undefined,
): { readonly kind: OpaqueKind; readonly value: unknown } | undefined {
  const [, kind, packed] = (signature?.vendor === 'openai' && OPAQUE.exec(signature.value)) || [];
  const value = packed === undefined ? undefined : tryParse(Buffer.from(packed, 'base64url').toString('utf8'));
  return value === undefined ? undefined : { kind: kind as OpaqueKind, value };
}

/** Splits messages into the system prompt before the first turn, and the turns. */
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

/** Parameters of a request that the upstream determines, not the caller. */
export interface UpstreamRequestParameters {
  /** Name of the model at the upstream. */
  readonly model: string;
  /** Token limit of the response; always sent, because this amount was reserved. */
  readonly maxTokens: number;
  /** The member that holds the limit, where upstreams of one dialect differ in it. */
  readonly maxTokensKey: string;
  readonly stream: boolean;
}

/**
 * Meaning of the stop reasons of all dialects. Compared in lower case without separators, because gateways pass on
 * reasons of one dialect in another.
 */
const REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  end: 'end',
  endturn: 'end',
  eos: 'end',
  eostoken: 'end',
  completed: 'end',
  complete: 'end',
  finished: 'end',
  done: 'end',
  normal: 'end',
  finish: 'end',
  final: 'end',
  natural: 'end',
  ok: 'end',
  success: 'end',
  succeeded: 'end',
  endofturn: 'end',
  endofsequence: 'end',
  eostokenid: 'end',
  stopstr: 'end',
  stoptoken: 'end',
  pauseturn: 'end',
  // Anthropic: the response pauses after the context was summarized.
  compaction: 'end',
  stopsequence: 'stop_sequence',
  length: 'length',
  maxtokens: 'length',
  maxoutputtokens: 'length',
  maxlength: 'length',
  // Cohere
  errorlimit: 'length',
  modelcontextwindowexceeded: 'length',
  incomplete: 'length',
  toolcalls: 'calls',
  toolcall: 'calls',
  tooluse: 'calls',
  functioncall: 'calls',
  contentfilter: 'refused',
  errortoxic: 'refused',
  hate: 'refused',
  hatespeech: 'refused',
  // DashScope
  datainspectionfailed: 'refused',
  refusal: 'refused',
  safety: 'refused',
  recitation: 'refused',
  blocklist: 'refused',
  prohibitedcontent: 'refused',
  spii: 'refused',
  // Google: the model aborted, or could not express its answer.
  other: 'failed',
  language: 'failed',
  finishreasonunspecified: 'failed',
  malformedfunctioncall: 'failed',
  unexpectedtoolcall: 'failed',
  toomanytoolcalls: 'failed',
  noimage: 'failed',
};

/** Patterns for names that are in no table; the first match counts. */
const FAMILIES: readonly (readonly [RegExp, StopReason])[] = [
  [
    /error|fail|ratelimit|toomanyrequests|quota|resource|abort|cancel|malformed|timeout|unavailable|interrupt|overload/,
    'failed',
  ],
  [/length|limit|maxtoken|maxoutput|token|truncat|context|window/, 'length'],
  [
    /filter|safe|refus|block|prohibit|polic|moderat|censor|sensitiv|recitation|guard|armor|harm|violat|violen|inappropriate|inspect|toxic|sexual|jailbreak/,
    'refused',
  ],
];

/** Undefined for an unknown reason. */
export function readStopReason(word: unknown): StopReason | undefined {
  if (typeof word !== 'string') return undefined;
  const key = word.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (key === '' || key === 'null' || key === 'none') return undefined;
  if (Object.hasOwn(REASONS, key)) return REASONS[key];
  return FAMILIES.find(([pattern]) => pattern.test(key))?.[1] ?? 'failed';
}
