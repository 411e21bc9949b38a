import type { UpstreamAccount } from './upstream-calls.ts';

/** Who was called, as reports of calls name it. */
export const calledAccountIds = ({ id, credentialId }: Pick<UpstreamAccount, 'id' | 'credentialId'>) => ({
  channelId: id,
  credentialId,
});
