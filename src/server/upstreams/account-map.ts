import type { ChannelAccount } from './channel-account-key.ts';

/**
 * Values by account. Channels and credentials are looked up by their numbers one after the other: every call does it several times, and
 * a text made of both would have to be built and hashed each time.
 */
export class AccountMap<V> {
  readonly #byChannel = new Map<number, Map<number, V>>();

  get({ id, credentialId }: ChannelAccount): V | undefined {
    return this.#byChannel.get(id)?.get(credentialId);
  }

  set({ id, credentialId }: ChannelAccount, value: V): void {
    const known = this.#byChannel.get(id);
    if (known === undefined) this.#byChannel.set(id, new Map([[credentialId, value]]));
    else known.set(credentialId, value);
  }

  /** The value, made and kept where there is none. */
  getOrMake(account: ChannelAccount, make: () => V): V {
    const known = this.get(account);
    if (known !== undefined) return known;
    const made = make();
    this.set(account, made);
    return made;
  }

  /** Drops the values of all credentials of a channel. */
  deleteChannel(id: number): void {
    this.#byChannel.delete(id);
  }

  /** Accounts of one channel, or of all. */
  *entries(channelId?: number): Generator<readonly [ChannelAccount, V]> {
    for (const [id, byCredential] of this.#byChannel)
      if (channelId === undefined || channelId === id)
        for (const [credentialId, value] of byCredential) yield [{ id, credentialId }, value];
  }
}
