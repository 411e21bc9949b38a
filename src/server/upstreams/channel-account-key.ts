/** An account of a vendor: a channel and one of its credentials. Its quota, key and rate limits are its own. */
export interface ChannelAccount {
  /** Of the channel. */
  readonly id: number;
  readonly credentialId: number;
}

/** Names an account in a text. */
export const accountKey = (channelId: number, credentialId: number): string => `${channelId}/${credentialId}`;
