import type { UpstreamAccount } from './call.ts';

/** Who was called, as reports of calls name it. */
export const calledAccountIds = ({ id, credentialId }: Pick<UpstreamAccount, 'id' | 'credentialId'>) => ({
  channelId: id,
  credentialId,
});
