/** An account of a vendor: a channel and one of its credentials. Its quota, key and rate limits are its own. */
export interface ChannelAccount {
  /** Of the channel. */
  readonly id: number;
  readonly credentialId: number;
}

/** Names an account where things are kept by account. */
export const accountKey = (channelId: number, credentialId: number): string => `${channelId}/${credentialId}`;

export const isOfChannel = (key: string, channelId: number): boolean => key.startsWith(`${channelId}/`);
