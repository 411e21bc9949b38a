import type { AccountCaller } from '../../platform/http/request-context.ts';
import type { Executor } from '../../tables.ts';
import type { ManagementTokenStore } from '../tokens/management-token-store.ts';
import type { SessionStore } from './session-store.ts';

export interface CredentialRecheckDependencies {
  readonly sessions: SessionStore;
  readonly managementTokens: ManagementTokenStore;
}

/** Reads the credential of a request once more, after the request was authenticated by it. */
export class CredentialRecheck {
  readonly #dependencies: CredentialRecheckDependencies;

  constructor(dependencies: CredentialRecheckDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * When somebody last proved who they are to get this session or management token (Unix milliseconds).
   *
   * @returns undefined where it was ended in the meantime
   */
  async findCreatedAt(
    caller: Extract<AccountCaller, { kind: 'session' | 'user-token' }>,
    db?: Executor,
  ): Promise<number | undefined> {
    const { sessions, managementTokens } = this.#dependencies;
    const found =
      caller.kind === 'session'
        ? await sessions.findStart(caller.sessionId, db)
        : await managementTokens.findStart(caller.tokenHash, db);
    return found?.created_at;
  }
}
