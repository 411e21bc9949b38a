import { defined } from '../../../contract/objects.ts';
import type { ChatMessage, ChatRequest } from '../../../sdk/chat.ts';
import { readNumberInput } from '../../components/read-number-input.ts';
import type { ChatSettings, Turn } from './stored-conversations.ts';

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
