import type { UpstreamAccount } from './adapter-context.ts';

/** Who was called, as reports of calls name it. */
export const toChannelAndCredentialIds = ({ id, credentialId }: Pick<UpstreamAccount, 'id' | 'credentialId'>) => ({
  channelId: id,
  credentialId,
});
