import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { tryParse } from '../../platform/json.ts';
import { UsageTotals } from '../usage.ts';
import { CitationQueue, CitedTexts, CountedText, type GivenCitation } from './citations.ts';
import { DroppedFields } from './fields.ts';
import type { Citation, GeneratedMedia, ResponseEvent, Signature, StopReason, ToolOrigin } from './neutral-form.ts';

/** A call in progress. */
export interface DraftCall {
  /** The upstream's id; empty if it has not sent one, or never does. */
  id: string;
  name: string;
  /** Arguments so far, and how many characters of them have been passed on. */
  args: string;
  passed: number;
  /** Arguments sent with the name, used if no others follow. */
  initialArgs: string;
  /** The upstream marked the arguments as complete. */
  isComplete: boolean;
  /** Whether the upstream numbers the call. */
  hasIndex: boolean;
  /** Index in the events; -1: not announced. */
  index: number;
}

/** The members of a piece of a streamed call that identify the call. */
interface CallIdentity {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly args?: string;
}

type Waiting = DraftCall | ResponseEvent;

const isCall = (item: Waiting): item is DraftCall => 'passed' in item;
const EMPTY_OBJECT = /^\s*\{\s*\}\s*$/;
const NAME_OF_REASON = /^[\w .:-]{1,100}$/;

/**
 * Builds the neutral events of one response, whatever order and identities its upstream uses; the readers of all
 * dialects feed it. Unless the target allows interleaved blocks, events that arrive while a call's arguments are
 * incomplete wait for them.
 */
export class ResponseBuilder {
  /** Members of the response that no other dialect can express. */
  readonly dropped = new DroppedFields();
  readonly usage = new UsageTotals();
  /** All text of the response so far. */
  readonly said = new CountedText();
  /** A stop reason that is unknown, or that reports a failure. */
  failure: string | undefined;
  #out: ResponseEvent[] = [];
  #hasStarted = false;
  #hasEnded = false;
  readonly #calls: DraftCall[] = [];
  readonly #byIndex = new Map<string, DraftCall>();
  readonly #ids = new Set<string>();
  #announced = 0;
  /** The call whose arguments are being passed on. */
  #live: DraftCall | undefined;
  #waiting: Waiting[] = [];
  readonly #citations = new CitationQueue(this.dropped);
  readonly #interleaves: boolean;

  constructor(interleaves = false) {
    this.#interleaves = interleaves;
  }

  /**
   * Replaces these ids if the upstream uses them again: clients find the result of a call by its id in the whole
   * conversation.
   */
  avoidCallIds(ids: Iterable<string>): void {
    for (const id of ids) this.#ids.add(id);
  }

  /** Returns the events since the last call. */
  take(): ResponseEvent[] {
    const events = this.#out;
    this.#out = [];
    return events;
  }

  get callCount(): number {
    return this.#calls.length;
  }

  start(id: unknown): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#out.push({ type: 'start', id: typeof id === 'string' ? id : '' });
  }

  text(text: string): void {
    if (text === '') return;
    this.said.add(text);
    this.#push({ type: 'text', text });
  }

  /**
   * Cites a web page for a range of the text; the event follows when that text is complete. Anything else is named as
   * dropped.
   */
  cite(given: GivenCitation, path: string): void {
    this.#citations.add(given, path, false);
  }

  /** Cites a web page for the text as a whole, unless it is cited already. */
  citeSource(given: GivenCitation, path: string): void {
    this.#citations.add(given, path, true);
  }

  thinking(text: string): void {
    if (text === '') return;
    this.#passCitations(this.#citations.take(this.said.length));
    this.#push({ type: 'thinking', text });
  }

  signature(signature: Signature | undefined, isRedacted: boolean): void {
    if (signature === undefined) return;
    this.#passCitations(this.#citations.take(this.said.length));
    this.#push({ type: 'signature', signature, isRedacted });
  }

  media(media: GeneratedMedia): void {
    this.#passCitations(this.#citations.take(this.said.length));
    this.#push({ type: 'media', media });
  }

  /** Starts a new call, whatever came before. */
  beginCall({ id, name, index }: CallIdentity): DraftCall {
    this.#passCitations(this.#citations.take(this.said.length));
    const call: DraftCall = {
      id: textOf(id),
      name: textOf(name),
      args: '',
      passed: 0,
      initialArgs: '',
      isComplete: false,
      hasIndex: placeOf(index) !== undefined,
      index: -1,
    };
    this.#calls.push(call);
    const place = placeOf(index);
    if (place !== undefined) this.#byIndex.set(place, call);
    if (this.#isFree()) this.#announce(call);
    else this.#waiting.push(call);
    return call;
  }

  /**
   * Finds the call a piece belongs to: by its index, its id, or as the last one; a new id or name with a known index is
   * a new call.
   */
  callOf(identity: CallIdentity): DraftCall {
    const known = this.#find(identity);
    if (known === undefined) return this.beginCall(identity);
    const place = placeOf(identity.index);
    if (place !== undefined) {
      this.#byIndex.set(place, known);
      known.hasIndex = true;
    }
    if (known.id === '') known.id = textOf(identity.id);
    if (known.name === '' && textOf(identity.name) !== '') {
      known.name = textOf(identity.name);
      if (known === this.#live || this.#interleaves) this.#announce(known);
    }
    return known;
  }

  lastCall(): DraftCall | undefined {
    return this.#calls.at(-1);
  }

  args(call: DraftCall, text: string): void {
    if (text === '') return;
    const isPassedOn = call === this.#live || this.#interleaves;
    if (call.isComplete || (call.index !== -1 && !isPassedOn)) {
      // Some upstreams repeat the whole arguments when a call ends.
      if (text !== call.args) this.dropped.drop('response.arguments');
      return;
    }
    if (text.trimStart().startsWith('{') && isWhole(call)) {
      if (text !== call.args) this.dropped.drop('response.arguments');
      return;
    }
    // An empty object is a placeholder if arguments follow.
    if (call.passed === 0 && EMPTY_OBJECT.test(call.args)) call.args = '';
    call.args += text;
    if (!isPassedOn) return;
    this.#passArgs(call, false);
    if (this.#waiting.length > 0 && text.trimEnd().endsWith('}')) this.#drain();
  }

  /** Marks the arguments of a call as complete. */
  endCall(call: DraftCall): void {
    if (this.#interleaves && !call.isComplete) this.#settle(call);
    call.isComplete = true;
    if (call === this.#live) this.#drain();
  }

  /**
   * Ends the response.
   * @param reason as the upstream means it; calls alone decide whether a plain end is one with calls
   */
  end(reason: StopReason, stopSequence?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#passCitations(this.#citations.takeRest(this.said.length));
    for (const call of this.#calls)
      if (this.#interleaves) this.endCall(call);
      else call.isComplete = true;
    this.#drain();
    const isPlain = reason === 'end' || reason === 'calls';
    this.#emit({
      type: 'end',
      reason: isPlain ? (this.#announced > 0 ? 'calls' : 'end') : reason,
      stopSequence,
      usage: this.usage.usage,
    });
  }

  /** Records a stop reason that reports a failure. */
  fail(word: string): void {
    this.failure = NAME_OF_REASON.test(word) ? word : 'unnamed';
  }

  #find({ index, id, name, args = '' }: CallIdentity): DraftCall | undefined {
    const [place, givenId, givenName] = [placeOf(index), textOf(id), textOf(name)];
    const ofIndex = place === undefined ? undefined : this.#byIndex.get(place);
    const ofId = givenId === '' ? undefined : this.#calls.find((call) => call.id === givenId);
    const last = this.#calls.at(-1);
    if (ofId !== undefined) return isPiece(ofId, givenName, args) || args === ofId.args ? ofId : undefined;
    if (ofIndex !== undefined && givenId !== '' && ofIndex.id !== '')
      // Some upstreams invent a new id for every piece.
      return givenName === '' && !isWhole(ofIndex) ? ofIndex : undefined;
    if (ofIndex !== undefined) return isPiece(ofIndex, givenName, args) ? ofIndex : undefined;
    if (givenId !== '') return undefined;
    // Only the first piece has a name, so a piece without one continues the last call, whatever its number.
    const mayBeLast = givenName === '' || place === undefined || last?.hasIndex === false;
    return mayBeLast && isPiece(last, givenName, args) ? last : undefined;
  }

  /** Whether the next block may start. */
  #isFree(): boolean {
    if (this.#interleaves) return true;
    if (this.#waiting.length > 0) this.#drain();
    const live = this.#live;
    if (this.#waiting.length > 0) return false;
    if (live === undefined) return true;
    if (live.index === -1 || !isOver(live)) return false;
    this.#settle(live);
    return true;
  }

  /** Starts the response with its first content if the upstream omits its first event. */
  #emit(event: ResponseEvent): void {
    this.start('');
    this.#out.push(event);
  }

  #push(event: ResponseEvent): void {
    if (this.#isFree()) this.#emit(event);
    else this.#waiting.push(event);
  }

  #passCitations(citations: readonly Citation[]): void {
    for (const citation of citations) this.#push({ type: 'citation', citation });
  }

  #announce(call: DraftCall): void {
    this.#live = call;
    if (call.name === '') return;
    call.index = this.#announced++;
    const id = call.id === '' || this.#ids.has(call.id) ? newCallId() : call.id;
    this.#ids.add(id);
    this.#emit({ type: 'call', index: call.index, id, name: call.name });
    this.#passArgs(call, false);
  }

  /** Withholds an empty object until the call has ended, because arguments may follow it. */
  #passArgs(call: DraftCall, isOverNow: boolean): void {
    if (call.index === -1 || call.passed === call.args.length) return;
    if (!isOverNow && call.passed === 0 && (call.args.trim() === '' || EMPTY_OBJECT.test(call.args))) return;
    this.#emit({ type: 'args', index: call.index, text: call.args.slice(call.passed) });
    call.passed = call.args.length;
  }

  #settle(call: DraftCall): void {
    this.#live = undefined;
    call.isComplete = true;
    if (call.args.trim() === '') call.args = call.initialArgs;
    if (call.name === '') this.dropped.drop('response.tool_calls');
    this.#passArgs(call, true);
  }

  /** Releases events that waited for the open call, up to the next call with incomplete arguments. */
  #drain(): void {
    for (;;) {
      const live = this.#live;
      if (live !== undefined) {
        if (!isOver(live) || (live.index === -1 && !live.isComplete)) return;
        this.#settle(live);
      }
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (isCall(next)) this.#announce(next);
      else this.#emit(next);
    }
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const placeOf = (index: unknown): string | undefined =>
  typeof index === 'number' || (typeof index === 'string' && index !== '') ? String(index) : undefined;

const newCallId = (): string => `call_${crypto.randomUUID().replaceAll('-', '')}`;

/** Whether the arguments are the complete JSON of an object. */
const isWhole = ({ args }: DraftCall): boolean =>
  args.trimEnd().endsWith('}') && asObject(tryParse(args)) !== undefined && !EMPTY_OBJECT.test(args);

const isOver = (call: DraftCall): boolean => call.isComplete || EMPTY_OBJECT.test(call.args) || isWhole(call);

/** Whether a piece with this name and these arguments, and no id, continues a call. */
function isPiece(call: DraftCall | undefined, name: string, args: string): boolean {
  if (call === undefined) return false;
  if (name === '' || call.name === '') return true;
  return name === call.name && !(isWhole(call) && args.trimStart().startsWith('{'));
}

/** The arguments of a call in any form, as JSON text. */
export function toArgumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Data of a response in the caller's dialect that does not come from the upstream. */
export interface ResponseContext {
  /** Id of the request, without a prefix. */
  readonly id: string;
  /** The caller's name of the model. */
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** The caller requested the usage of a stream, where that is optional. */
  readonly wantsUsage: boolean;
  /** The request's body, whose members some dialects repeat. */
  readonly asked: UntrustedObject;
  /** The caller's names of functions by those sent to the upstream, where they differ. */
  readonly names?: ReadonlyMap<string, string>;
  /** The caller's tools that the functions of these names represent. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
  /** Ids of the calls in the conversation so far. */
  readonly callIds?: ReadonlySet<string>;
  /** Names what the caller's dialect cannot express of a response. */
  readonly dropped?: DroppedFields;
}

/**
 * Reads one response, complete or event by event, into neutral events. Every member an upstream sends is used, replaced
 * by one of ours, or named as dropped; `RESPONSE_MEMBERS` lists each.
 */
export interface ResponseReader {
  readonly builder: ResponseBuilder;
  readComplete(body: UntrustedObject): ResponseEvent[];
  readEvent(event: UntrustedObject): ResponseEvent[];
  /** The stream ended successfully; its figures may follow the stop reason. */
  finish(): ResponseEvent[];
}

/** Writes a stream without holding back any event's text. */
export interface StreamWriter {
  write(event: ResponseEvent): string;
}

/** A block of a complete response. */
export type Block =
  | {
      readonly type: 'text';
      readonly text: string;
      /** Their ranges count from the start of this text. */
      readonly citations: readonly Citation[];
    }
  | { readonly type: 'media'; readonly media: GeneratedMedia }
  | {
      readonly type: 'thinking';
      readonly text: string;
      readonly signature: Signature | undefined;
      readonly isRedacted: boolean;
    }
  | {
      readonly type: 'call';
      readonly id: string;
      readonly name: string;
      readonly args: string;
      readonly input: object;
    };

type End = Extract<ResponseEvent, { type: 'end' }>;

interface Draft {
  type: 'text' | 'thinking' | 'call' | 'media';
  media: GeneratedMedia | undefined;
  text: string;
  id: string;
  name: string;
  signature: Signature | undefined;
  isRedacted: boolean;
  citations: Citation[];
}

const draft = (type: Draft['type'], more: Partial<Draft> = {}): Draft => ({
  type,
  media: undefined,
  text: '',
  id: '',
  name: '',
  signature: undefined,
  isRedacted: false,
  citations: [],
  ...more,
});

/** Collects the blocks of a complete response from its events. */
export function collectResponse(events: readonly ResponseEvent[]): {
  readonly blocks: readonly Block[];
  readonly end: End;
} {
  const drafts: Draft[] = [];
  const calls: Draft[] = [];
  const texts = new CitedTexts<Draft | undefined>();
  let end: End = { type: 'end', reason: 'end', stopSequence: undefined, usage: undefined };
  for (const event of events) {
    const last = drafts.at(-1);
    if (event.type === 'text' || event.type === 'thinking') {
      if (last?.type === event.type && last.signature === undefined) last.text += event.text;
      else drafts.push(draft(event.type, { text: event.text }));
      if (event.type === 'text') texts.add(drafts.at(-1), event.text);
    } else if (event.type === 'citation') {
      const { place, range } = texts.locate(event.citation) ?? {};
      place?.citations.push({ ...event.citation, range });
    } else if (event.type === 'signature') {
      if (!event.isRedacted && last?.type === 'thinking' && last.signature === undefined)
        last.signature = event.signature;
      else drafts.push(draft('thinking', { signature: event.signature, isRedacted: event.isRedacted }));
    } else if (event.type === 'media') {
      drafts.push(draft('media', { media: event.media }));
    } else if (event.type === 'call') {
      const call = draft('call', { id: event.id, name: event.name });
      drafts.push(call);
      calls[event.index] = call;
    } else if (event.type === 'args') {
      const call = calls[event.index];
      if (call !== undefined) call.text += event.text;
    } else if (event.type === 'end') end = event;
  }
  return { blocks: drafts.map(toBlock), end };
}

function toBlock({ type, text, id, name, signature, isRedacted, media, citations }: Draft): Block {
  if (media !== undefined) return { type: 'media', media };
  if (type === 'text' || type === 'media') return { type: 'text', text, citations };
  if (type === 'thinking') return { type, text, signature, isRedacted };
  return { type, id, name, args: text === '' ? '{}' : text, input: toInput(text) };
}

/**
 * Parses arguments as an object, also if they were encoded twice. Anything else, such as truncated arguments, is stored
 * in the member Anthropic uses for such text.
 */
export function toInput(args: string): object {
  if (args.trim() === '') return {};
  const value = tryParse(args);
  return asObject(value) ?? asObject(typeof value === 'string' ? tryParse(value) : undefined) ?? { INVALID_JSON: args };
}

const DEFAULT_MEDIA_TYPE = 'image/png';
const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/** Media at a URL, or inside a data URL. */
function mediaOf(url: string, mediaType: string): GeneratedMedia {
  const [head, type = '', parameters = ''] = DATA_URL.exec(url) ?? [];
  if (head === undefined) return { mediaType, url };
  const content = url.slice(head.length);
  const isBase64 = /;\s*base64$/i.test(parameters);
  return {
    mediaType: type || mediaType,
    data: isBase64 ? content : Buffer.from(decodeLoosely(content)).toString('base64'),
  };
}

/** Members that hold an image, or an object that does. */
const IMAGE_PLACES = ['image_url', 'image', 'url', 'source', 'inlineData', 'inline_data'];

/**
 * Media in any form that upstreams use, whatever their dialect: a URL, a data URL, or Base64 with its type, in members
 * of any of their names; undefined if there is none.
 */
export function findMedia(value: unknown): GeneratedMedia | undefined {
  if (typeof value === 'string') return value === '' ? undefined : mediaOf(value, DEFAULT_MEDIA_TYPE);
  const holder = asObject(value);
  if (holder === undefined) return undefined;
  const data = textOf(holder.b64_json) || textOf(holder.data);
  const mediaType =
    textOf(holder.media_type) || textOf(holder.mimeType) || textOf(holder.mime_type) || DEFAULT_MEDIA_TYPE;
  if (data !== '') return data.startsWith('data:') ? mediaOf(data, mediaType) : { mediaType, data };
  const uri = textOf(holder.fileUri) || textOf(holder.file_uri);
  if (uri !== '') return { mediaType, url: uri };
  for (const place of IMAGE_PLACES) {
    const found = findMedia(holder[place]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function decodeLoosely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The URL of generated media; a data URL for inline data. */
export const toUrl = ({ mediaType, data, url }: GeneratedMedia): string =>
  url ?? `data:${mediaType};base64,${data ?? ''}`;

export const isImage = ({ mediaType }: GeneratedMedia): boolean => mediaType.startsWith('image/');

/** Media in dialects that can only hold them in text. */
export const toMarkdown = (media: GeneratedMedia): string =>
  `${isImage(media) ? '!' : ''}[${media.mediaType.split('/')[0]}](${toUrl(media)})`;
