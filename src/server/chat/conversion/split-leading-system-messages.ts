import type { Message, TextPart } from './neutral-form.ts';

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
