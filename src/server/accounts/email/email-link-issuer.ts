import { hashToken, randomToken } from '../../platform/tokens.ts';
import type { Executor } from '../../tables.ts';
import { CREDENTIAL_PREFIX } from '../credential-prefixes.ts';
import type { EmailToken, EmailTokenStore } from './email-token-store.ts';

/** The console's pages that links in e-mails open. */
const PAGES: Readonly<Record<EmailToken['purpose'], string>> = {
  confirm: '/confirm-email',
  reset: '/reset-password',
};

/** Makes the links of e-mails, when the mail is sent, and those that administrators pass on. No token is ever stored in clear. */
export class EmailLinkIssuer {
  readonly #tokens: EmailTokenStore;
  readonly #baseUrl: string;
  constructor(tokens: EmailTokenStore, baseUrl: string) {
    this.#tokens = tokens;
    this.#baseUrl = baseUrl;
  }

  /** Host of the service, as people know it. */
  get site(): string {
    return new URL(this.#baseUrl).host;
  }

  toPage(path: string): string {
    return this.#baseUrl + path;
  }

  /** The token stands behind `#`: browsers send no fragment, so no proxy's log keeps it. */
  async create(token: Omit<EmailToken, 'hash' | 'issued_by'> & Partial<EmailToken>, db?: Executor): Promise<string> {
    const secret = randomToken(CREDENTIAL_PREFIX.emailLink, 43);
    await this.#tokens.insert({ issued_by: null, ...token, hash: hashToken(secret) }, db);
    return `${this.#baseUrl}${PAGES[token.purpose]}#${secret}`;
  }
}
