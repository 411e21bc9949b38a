import { defined } from '../../../contract/objects.ts';
import type { ChatEvent } from '../../../sdk/chat.ts';
import type { ToolCall, Turn } from './conversations.ts';

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
