import { defined } from '../../../contract/objects.ts';
import type { ChatEvent, ChatMessage, ChatRequest } from '../../../sdk/chat.ts';
import { DRAFT_KEY_PREFIX } from '../../data/browser-storage.ts';
import { readNumberInput } from '../../data/field-values.ts';

/** A tool call in an answer; `arguments` is JSON text. */
interface ToolCall {
  readonly name: string;
  readonly arguments: string;
}

/** One message; durations, tokens and cost are set for answers only. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** `data:` URLs. */
  readonly images?: readonly string[];
  readonly thinking?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly firstTokenMs?: number;
  readonly durationMs?: number;
  /** Identifies the receipt. */
  readonly requestId?: string;
  /** Why the answer is incomplete. */
  readonly error?: string;
}

/** Settings of a conversation; empty texts select the model's default. */
export interface ChatSettings {
  readonly model: string;
  readonly system: string;
  readonly temperature: number | string;
  readonly maxTokens: number | string;
  /** JSON array of tools in OpenAI's format; empty: none. */
  readonly tools: string;
}

/** A stored conversation. */
export interface Conversation {
  readonly id: string;
  readonly savedAt: number;
  readonly settings: ChatSettings;
  readonly turns: readonly Turn[];
}

/** Settings with every default. */
export const NO_SETTINGS: ChatSettings = { model: '', system: '', temperature: '', maxTokens: '', tools: '' };

/** Conversations are stored in this browser only; signing out deletes them, like all drafts. */
const KEY = `${DRAFT_KEY_PREFIX}.playground`;
const MAX_KEPT = 30;

/** Stored conversations, newest first. */
export function readConversations(): readonly Conversation[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? (kept as Conversation[]) : [];
  } catch {
    return [];
  }
}

/** Stores a conversation; drops images, then older conversations, if the browser's storage is full. */
export function storeConversation(conversation: Conversation): readonly Conversation[] {
  const others = readConversations().filter(({ id }) => id !== conversation.id);
  const all = [conversation, ...others].slice(0, MAX_KEPT);
  const small = all.map((each) => ({ ...each, turns: each.turns.map(({ images: _, ...turn }) => turn) }));
  for (const candidate of [all, small, small.slice(0, 1)])
    try {
      localStorage.setItem(KEY, JSON.stringify(candidate));
      return candidate;
    } catch {
      // Storage quota exceeded: try the next smaller version.
    }
  return others;
}

/** Deletes a conversation. @returns the remaining ones */
export function removeStoredConversation(id: string): readonly Conversation[] {
  const left = readConversations().filter((each) => each.id !== id);
  localStorage.setItem(KEY, JSON.stringify(left));
  return left;
}

const toMessage = ({ role, text, images = [] }: Turn): ChatMessage =>
  images.length === 0
    ? { role, content: text }
    : {
        role,
        content: [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }))],
      };

/** Parses the tools a user entered; undefined if empty. @throws SyntaxError if the text is not a JSON array */
export function parseTools(text: string): readonly unknown[] | undefined {
  if (text.trim() === '') return undefined;
  const tools: unknown = JSON.parse(text);
  if (!Array.isArray(tools)) throw new SyntaxError('not a list');
  return tools;
}

/**
 * Request of a conversation, both for sending and for code samples. @throws SyntaxError if the tools cannot be parsed
 */
export function toChatRequest(settings: ChatSettings, turns: readonly Turn[]): ChatRequest {
  const tools = parseTools(settings.tools);
  // An answer without text (a tool call, an error) would be refused in the next request.
  const told = turns.filter(({ role, text }) => role === 'user' || text !== '');
  return defined({
    model: settings.model,
    messages: [
      ...(settings.system.trim() === '' ? [] : [{ role: 'system' as const, content: settings.system }]),
      ...told.map(toMessage),
    ],
    temperature: readNumberInput(settings.temperature),
    max_tokens: readNumberInput(settings.maxTokens),
    tools,
  });
}

interface ToolDelta {
  readonly index?: number;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

/** Assembles the events of a stream into an answer; upstreams use two names for thinking. */
export class AnswerBuilder {
  readonly #model: string;
  readonly #startedAt = performance.now();
  readonly #tools: { name: string; arguments: string }[] = [];
  #text = '';
  #thinking = '';
  #firstTokenMs: number | undefined;
  #usage: ChatEvent['usage'];

  constructor(model: string) {
    this.#model = model;
  }

  add({ choices, usage }: ChatEvent): void {
    const delta = choices?.[0]?.delta ?? {};
    const thinking = delta.reasoning_content ?? delta.reasoning;
    this.#text += delta.content ?? '';
    if (typeof thinking === 'string') this.#thinking += thinking;
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as ToolDelta[]) this.#addTool(call);
    if (this.#firstTokenMs === undefined && this.#text + this.#thinking !== '')
      this.#firstTokenMs = performance.now() - this.#startedAt;
    this.#usage = usage ?? this.#usage;
  }

  /** The answer so far. @param end fields known only after the stream has ended */
  toTurn(end: { readonly requestId?: string; readonly error?: string } = {}): Turn {
    return defined({
      role: 'assistant' as const,
      text: this.#text,
      thinking: this.#thinking,
      toolCalls: this.#tools.map((call): ToolCall => ({ ...call })),
      model: this.#model,
      durationMs: performance.now() - this.#startedAt,
      firstTokenMs: this.#firstTokenMs,
      inputTokens: this.#usage?.prompt_tokens,
      outputTokens: this.#usage?.completion_tokens,
      ...end,
    });
  }

  #addTool({ index = 0, function: part }: ToolDelta): void {
    const known = this.#tools[index] ?? { name: '', arguments: '' };
    this.#tools[index] = {
      name: known.name + (part?.name ?? ''),
      arguments: known.arguments + (part?.arguments ?? ''),
    };
  }
}
