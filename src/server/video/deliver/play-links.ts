import { createSigner, type Signer } from '../../platform/tokens.ts';

/** How long a link plays, milliseconds. */
const LINK_TTL_MS = 10 * 60_000;
/** Links end on whole minutes, so that a page that loads twice within one gets the same URL and the browser keeps its copy. */
const ROUNDING_MS = 60_000;

/** What a link permits, and until when. */
export interface PlayLink {
  readonly taskId: string;
  /** Unix milliseconds. */
  readonly expires: number;
  /** Names the credential that asked for the link; see CredentialRevocationWatch. */
  readonly credential: string;
}

/**
 * Short-lived links for playing a video in a browser, whose video element cannot send an Authorization header: an HMAC-SHA256
 * over task, expiry and credential, under a key derived from MASTER_KEY (RFC 5869). A link permits GET of this one task. That
 * the credential still works is checked where the link is used.
 */
export class PlayLinks {
  readonly #signer: Signer;
  constructor(masterKey: Buffer) {
    this.#signer = createSigner(masterKey, 'play link');
  }

  /** @returns a path of this service */
  create(taskId: string, credential: string, nowMs: number): string {
    const expires = Math.ceil((nowMs + LINK_TTL_MS) / ROUNDING_MS) * ROUNDING_MS;
    const signature = this.#signer.sign(textOf({ taskId, expires, credential }));
    return `/play/${encodeURIComponent(taskId)}?${new URLSearchParams({ expires: String(expires), credential, signature })}`;
  }

  /** Whether the link was made by this service and has not expired. */
  verify(link: PlayLink, signature: string, nowMs: number): boolean {
    return (
      link.expires > nowMs &&
      link.expires <= nowMs + LINK_TTL_MS + ROUNDING_MS &&
      this.#signer.verify(textOf(link), signature)
    );
  }
}

const textOf = ({ taskId, expires, credential }: PlayLink): string => `GET\n${taskId}\n${expires}\n${credential}`;
