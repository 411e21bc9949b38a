import { getOrMakeEntry } from '../platform/cache.ts';
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
    this.#credentialsOf(id).set(credentialId, value);
  }

  /** The value, made and kept where there is none. */
  getOrMake({ id, credentialId }: ChannelAccount, make: () => V): V {
    return getOrMakeEntry(this.#credentialsOf(id), credentialId, make);
  }

  delete({ id, credentialId }: ChannelAccount): void {
    const byCredential = this.#byChannel.get(id);
    byCredential?.delete(credentialId);
    if (byCredential?.size === 0) this.#byChannel.delete(id);
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

  #credentialsOf(id: number): Map<number, V> {
    return getOrMakeEntry(this.#byChannel, id, newMap<V>);
  }
}

const newMap = <V>(): Map<number, V> => new Map();
