export type ParsedMediaSchema =
  | { readonly ok: true; readonly schema: Record<string, unknown> | null; readonly names: readonly string[] }
  | { readonly ok: false; readonly line: number | undefined; readonly what: string };

/** Parses a schema typed as JSON; empty text means no schema. `line`: the line of the syntax error, undefined for valid JSON that is not an object. */
export function parseMediaSchema(text: string): ParsedMediaSchema {
  if (text.trim() === '') return { ok: true, schema: null, names: [] };
  try {
    const schema: unknown = JSON.parse(text);
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      return { ok: false, line: undefined, what: '' };
    const { properties } = schema as { readonly properties?: unknown };
    const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
    return { ok: true, schema: schema as Record<string, unknown>, names };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { ok: false, line: findErrorLine(what, text), what };
  }
}

/** Characters of the text that V8 quotes on each side of a token it did not expect. */
const QUOTED_CHARACTERS = 10;

/** JavaScript engines report the location differently: a line, a position, an excerpt, or only an unexpected end. */
function findErrorLine(what: string, text: string): number {
  const line = /line (\d+)/.exec(what)?.[1];
  if (line !== undefined) return Number(line);
  const position = /position (\d+)/.exec(what)?.[1];
  const piece = /\.\.\."(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(what)?.[1];
  const end =
    position !== undefined
      ? Number(position)
      : piece !== undefined
        ? text.indexOf(piece) + QUOTED_CHARACTERS
        : text.length;
  return text.slice(0, end).split('\n').length;
}
