import { cutText } from '../platform/long-text.ts';
import type { Json } from '../vendors/adapter.ts';

/** Longest Base64 text kept of a request or of a vendor's response. */
const MAX_KEPT_LENGTH = 1024;
const BASE64 = /^[A-Za-z0-9+/=_-]+$/;

/**
 * A request or a vendor's response as it is stored and shown: Base64 texts longer than 1,024 characters are cut and marked. Works level
 * by level instead of recursively, since depth is the sender's choice.
 */
export function truncateBase64(value: Json): Json {
  const root: { value: unknown } = { value: truncateText(value) };
  const open: object[] = [];
  const enter = (holder: object, key: string, child: unknown): void => {
    if (typeof child !== 'object' || child === null) return;
    const copy: object = Array.isArray(child) ? [...child] : { ...child };
    (holder as Record<string, unknown>)[key] = copy;
    open.push(copy);
  };
  enter(root, 'value', root.value);
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    for (const [key, child] of Object.entries(holder)) {
      if (typeof child === 'string') (holder as Record<string, unknown>)[key] = truncateText(child);
      else enter(holder, key, child);
    }
  }
  return root.value as Json;
}

function truncateText(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_KEPT_LENGTH) return value;
  const start = value.startsWith('data:') ? value.indexOf(',') + 1 : 0;
  if (!BASE64.test(value.slice(start, start + MAX_KEPT_LENGTH))) return value;
  return cutText(value.slice(0, MAX_KEPT_LENGTH), value.length);
}
