import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** How long a link plays, milliseconds. */
const LINK_TTL_MS = 10 * 60_000;
/** Links end on whole minutes, so that a page that loads twice within one gets the same URL and the browser keeps its copy. */
const ROUNDING_MS = 60_000;

/** What a link permits, and until when. */
export interface PlayLink {
  readonly taskId: string;
  /** Unix milliseconds. */
  readonly expires: number;
  /** Names the credential that asked for the link; see AccessWatch. */
  readonly credential: string;
}

/**
 * Short-lived links for playing a video in a browser, whose video element cannot send an Authorization header: an HMAC-SHA256
 * over task, expiry and credential, under a key derived from MASTER_KEY (RFC 5869). A link permits GET of this one task. That
 * the credential still works is checked where the link is used.
 */
export class PlayLinks {
  readonly #key: Buffer;
  constructor(masterKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, '', 'reelgate play link', 32));
  }

  /** @returns a path of this service */
  create(taskId: string, credential: string, nowMs: number): string {
    const expires = Math.ceil((nowMs + LINK_TTL_MS) / ROUNDING_MS) * ROUNDING_MS;
    const signature = this.#sign({ taskId, expires, credential });
    return `/play/${encodeURIComponent(taskId)}?${new URLSearchParams({ expires: String(expires), credential, signature })}`;
  }

  /** Whether the link was made by this service and has not expired. */
  verify(link: PlayLink, signature: string, nowMs: number): boolean {
    const expected = Buffer.from(this.#sign(link));
    const given = Buffer.from(signature);
    return (
      link.expires > nowMs &&
      link.expires <= nowMs + LINK_TTL_MS + ROUNDING_MS &&
      given.length === expected.length &&
      timingSafeEqual(given, expected)
    );
  }

  #sign({ taskId, expires, credential }: PlayLink): string {
    return createHmac('sha256', this.#key).update(`GET\n${taskId}\n${expires}\n${credential}`).digest('base64url');
  }
}
