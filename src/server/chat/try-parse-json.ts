import { parseJson } from '../platform/parse-untrusted-json.ts';

/** Undefined for what is not JSON, or is too deep. */
export function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
