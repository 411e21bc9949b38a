import type { VendorProfile } from '../adapter-types.ts';
import { ApiKey, checkChatUpstreamKey } from '../chat-upstream-key-check.ts';

/** Anthropic, and any service with its Messages protocol. Its models are rows the administrator creates. */
export const anthropic: VendorProfile = {
  name: 'anthropic',
  title: 'Anthropic Messages protocol',
  defaultBaseUrl: 'https://api.anthropic.com',
  credentials: ApiKey,

  /** docs.claude.com/en/api/models-list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'anthropic', path: '/v1/models?limit=200', listKey: 'data', idKey: 'id' }),
};
