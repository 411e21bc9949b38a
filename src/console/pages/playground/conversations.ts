import { defined } from '../../../contract/objects.ts';
import type { ChatMessage, ChatRequest } from '../../../sdk/chat.ts';
import { DRAFT_KEY_PREFIX } from '../../data/browser-storage.ts';
import { readNumberInput } from '../../data/field-values.ts';

export interface ToolCall {
  readonly name: string;
  readonly arguments: string;
}

/** One message; the figures are those of an answer. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** `data:` addresses. */
  readonly images?: readonly string[];
  readonly thinking?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly firstTokenMs?: number;
  readonly durationMs?: number;
  /** Names its receipt. */
  readonly requestId?: string;
  /** Why it is not complete. */
  readonly error?: string;
}

export interface ChatSettings {
  readonly model: string;
  readonly system: string;
  readonly temperature: number | string;
  readonly maxTokens: number | string;
  /** JSON list of tools in OpenAI's form; empty: none. */
  readonly tools: string;
}

export interface Conversation {
  readonly id: string;
  readonly savedAt: number;
  readonly settings: ChatSettings;
  readonly turns: readonly Turn[];
}

export const NO_SETTINGS: ChatSettings = { model: '', system: '', temperature: '', maxTokens: '', tools: '' };

/** Conversations are kept in this browser only; signing out deletes them, as all drafts. */
const KEY = `${DRAFT_KEY_PREFIX}.playground`;
const MAX_KEPT = 30;

/** Newest first. */
export function readConversations(): readonly Conversation[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? (kept as Conversation[]) : [];
  } catch {
    return [];
  }
}

/** Keeps a conversation; pictures are left out where they do not fit. */
export function storeConversation(conversation: Conversation): readonly Conversation[] {
  const others = readConversations().filter(({ id }) => id !== conversation.id);
  const all = [conversation, ...others].slice(0, MAX_KEPT);
  const small = all.map((each) => ({ ...each, turns: each.turns.map(({ images: _, ...turn }) => turn) }));
  for (const candidate of [all, small, small.slice(0, 1)])
    try {
      localStorage.setItem(KEY, JSON.stringify(candidate));
      return candidate;
    } catch {
      // The browser's space is used up: less is tried next.
    }
  return others;
}

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

/** The tools a person wrote; undefined where there are none. @throws SyntaxError for what is no JSON list */
export function parseTools(text: string): readonly unknown[] | undefined {
  if (text.trim() === '') return undefined;
  const tools: unknown = JSON.parse(text);
  if (!Array.isArray(tools)) throw new SyntaxError('not a list');
  return tools;
}

/** The request of a conversation, as it is sent and shown as code. @throws SyntaxError for tools that cannot be read */
export function toChatRequest(settings: ChatSettings, turns: readonly Turn[]): ChatRequest {
  const tools = parseTools(settings.tools);
  // An answer without a text (a tool call, an error) would be refused when it is sent back.
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
