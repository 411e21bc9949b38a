import { parseJson } from '../platform/json.ts';

/** Undefined for what is not JSON, or is too deep. */
export function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
