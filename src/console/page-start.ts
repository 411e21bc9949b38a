import type { EndpointPart } from '../contract/endpoint.ts';
import type { getStatus } from '../contract/service.ts';

/** Nonce of this response's content security policy; style elements created at run time must carry it. */
export const cspNonce: string = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

// Read by the scroll lock under dialogs (get-nonce), which creates its own style element.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = cspNonce;

/** Keeps values until the page is left. */
class MemoryStorage {
  [key: string]: unknown;
  getItem(key: string): unknown {
    return this[key] ?? null;
  }
  setItem(key: string, value: string): void {
    this[key] = value;
  }
  removeItem(key: string): void {
    delete this[key];
  }
}

// Where a browser blocks stored data, reading the property throws, which would leave every page blank.
try {
  localStorage.getItem('');
} catch {
  Object.defineProperty(globalThis, 'localStorage', { value: new MemoryStorage() });
}

/** The server's public settings, without the volatile `ready`. */
export type PublicStatus = Omit<EndpointPart<typeof getStatus, 'response'>['data'], 'ready'>;

/**
 * Public settings the server wrote into the page. They contain the user-id header required by every request, so
 * fetching them first would delay all others. Undefined if the development server sent the page.
 */
export const embeddedStatus = readEmbeddedStatus();

function readEmbeddedStatus(): PublicStatus | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name=status]')?.content ?? '';
  return content.startsWith('{') ? (JSON.parse(content) as PublicStatus) : undefined;
}

/** Whether the visit starts at the studio, whose data and code are then preloaded. */
export const startsAtStudio = (): boolean => /^\/(studio\/?)?$/.test(location.pathname);

/** Number of newest videos the studio lists. */
export const NEWEST_VIDEOS_COUNT = 24;
