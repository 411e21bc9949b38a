import { asObject } from '../../../contract/is-object.ts';
import { tryParse } from '../try-parse-json.ts';
import type { GeneratedMedia, ResponseEvent, Signature } from './neutral-form.ts';

export type Block =
  | { readonly type: 'text'; readonly text: string }
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
}

const draft = (type: Draft['type'], more: Partial<Draft> = {}): Draft => ({
  type,
  media: undefined,
  text: '',
  id: '',
  name: '',
  signature: undefined,
  isRedacted: false,
  ...more,
});

/** The blocks of a complete response, from its events. */
export function collectResponse(events: readonly ResponseEvent[]): {
  readonly blocks: readonly Block[];
  readonly end: End;
} {
  const drafts: Draft[] = [];
  const calls: Draft[] = [];
  let end: End = { type: 'end', reason: 'end', stopSequence: undefined, usage: undefined };
  for (const event of events) {
    const last = drafts.at(-1);
    if (event.type === 'text' || event.type === 'thinking') {
      if (last?.type === event.type && last.signature === undefined) last.text += event.text;
      else drafts.push(draft(event.type, { text: event.text }));
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

function toBlock({ type, text, id, name, signature, isRedacted, media }: Draft): Block {
  if (media !== undefined) return { type: 'media', media };
  if (type === 'text' || type === 'media') return { type: 'text', text };
  if (type === 'thinking') return { type, text, signature, isRedacted };
  return { type, id, name, args: text === '' ? '{}' : text, input: toInput(text) };
}

/** Arguments as an object. What is none, as of an answer that was cut off, is kept in a member of the name Anthropic gives to such text. */
export const toInput = (args: string): object =>
  args.trim() === '' ? {} : (asObject(tryParse(args)) ?? { INVALID_JSON: args });
